/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/pattern.h"

#include <string.h>

enum {
    ELEMENT_MOST = 8,
    CANARY = 0xa5, /* fills `out` before the call */
};

/* --- reduced ---------------------------------------------------------------------------------- */

/* A whole number >= 0 as a 16-bit float of IEEE 754. */
static uint16_t half_of(unsigned value)
{
    unsigned exponent = 0;

    if (!value)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)(((exponent + 15) << 10) + ((value - (1U << exponent)) << 10 >> exponent));
}

/* The same as a bfloat16. */
static uint16_t brain_of(unsigned value)
{
    float f = (float)value;
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static void element_write(unsigned char out[ELEMENT_MOST], ml_type type, unsigned value)
{
    uint64_t whole = value; /* cut to each type's own size, so the byte order does not matter */
    uint16_t two_bytes = type == ML_FLOAT16 ? half_of(value) : brain_of(value);
    uint32_t four_bytes = value;
    float single[2] = {(float)value, 0};
    double twice = value;

    memset(out, 0, ELEMENT_MOST);
    switch (type) {
    case ML_BOOL:
    case ML_INT8:
    case ML_UINT8:
        out[0] = (unsigned char)value;
        break;
    case ML_INT16:
    case ML_UINT16:
        two_bytes = (uint16_t)value;
        memcpy(out, &two_bytes, sizeof(two_bytes));
        break;
    case ML_FLOAT16:
    case ML_BFLOAT16:
        memcpy(out, &two_bytes, sizeof(two_bytes));
        break;
    case ML_INT32:
    case ML_UINT32:
        memcpy(out, &four_bytes, sizeof(four_bytes));
        break;
    case ML_INT64:
    case ML_UINT64:
        memcpy(out, &whole, sizeof(whole));
        break;
    case ML_FLOAT32:
    case ML_COMPLEX64:
        memcpy(out, single, bench_options_type_size(type));
        break;
    case ML_FLOAT64:
        memcpy(out, &twice, sizeof(twice));
        break;
    }
}

/* For bools the "two" is true and the ones are false. */
static unsigned value_of(const struct bench_case *c, bool is_two)
{
    if (c->options->type == ML_BOOL)
        return is_two;
    return is_two ? 2 : 1;
}

/* True if one of the ranks sends a two at `place`. */
static bool has_two(size_t place)
{
    return place % 3 != 0;
}

static unsigned bool_reduced(const struct bench_case *c, bool with_two)
{
    switch (c->options->op) {
    case ML_PROD:
    case ML_MIN:
    case ML_AND:
        return with_two && c->ranks == 1;
    default:
        return with_two;
    }
}

/* The result for n ones, or for n - 1 ones and a two. */
static unsigned value_reduced(const struct bench_case *c, bool with_two)
{
    unsigned n = (unsigned)c->ranks, ones = with_two ? n - 1 : n;

    if (c->options->type == ML_BOOL)
        return bool_reduced(c, with_two);
    switch (c->options->op) {
    case ML_SUM:
        return n + with_two;
    case ML_PROD:
    case ML_MAX:
        return with_two ? 2 : 1;
    case ML_MIN:
        return ones ? 1 : 2;
    case ML_AND:
        return with_two ? (ones ? 0 : 2) : 1;
    case ML_OR:
        return with_two ? (ones ? 3 : 2) : 1;
    case ML_XOR:
        return (with_two ? 2U : 0U) ^ (ones & 1U);
    }
    return 0;
}

static void elements_fill(struct bench_case *c)
{
    size_t element = bench_options_type_size(c->options->type), n = c->bytes / element;
    unsigned char one[ELEMENT_MOST], two[ELEMENT_MOST];

    element_write(one, c->options->type, value_of(c, false));
    element_write(two, c->options->type, value_of(c, true));
    for (size_t i = 0; i < n; i++) {
        bool mine = has_two(i) && i % (size_t)c->ranks == (size_t)c->rank;

        memcpy(c->in + i * element, mine ? two : one, element);
    }
}

static uint64_t elements_wrong(const struct bench_case *c)
{
    size_t element = bench_options_type_size(c->options->type), first = 0;
    unsigned char plain[ELEMENT_MOST], with_two[ELEMENT_MOST];
    uint64_t errors = 0;

    if (c->options->kind == BENCH_REDUCE_SCATTER)
        first = c->count * (size_t)c->rank;
    element_write(plain, c->options->type, value_reduced(c, false));
    element_write(with_two, c->options->type, value_reduced(c, true));
    for (size_t i = 0; i < c->count; i++)
        errors += memcmp(c->out + i * element, has_two(first + i) ? with_two : plain, element) != 0;
    return errors;
}

/* --- moved ------------------------------------------------------------------------------------ */

/* Byte `i` of the data that `from` sends to `to` (-1: the same to all). */
static unsigned char byte_at(int from, int to, size_t i)
{
    return (unsigned char)((unsigned)from * 101U + (unsigned)(to + 1) * 37U + (unsigned)i * 7U +
                           (unsigned)(i >> 8) * 3U);
}

static uint64_t bytes_wrong(const unsigned char *bytes, size_t size, int from, int to)
{
    uint64_t errors = 0;

    for (size_t i = 0; i < size; i++)
        errors += bytes[i] != byte_at(from, to, i);
    return errors;
}

static void bytes_fill(struct bench_case *c)
{
    bool is_for_each = c->options->kind == BENCH_ALL_TO_ALL || c->options->kind == BENCH_SCATTER;
    size_t part = is_for_each ? c->share : c->bytes;

    for (size_t i = 0; part && i < c->bytes; i++)
        c->in[i] = byte_at(c->rank, is_for_each ? (int)(i / part) : -1, i % part);
}

static uint64_t shares_wrong(const struct bench_case *c)
{
    int to = c->options->kind == BENCH_ALL_TO_ALL ? c->rank : -1;
    uint64_t errors = 0;

    for (int from = 0; from < c->ranks; from++)
        errors += bytes_wrong(c->out + (size_t)from * c->share, c->share, from, to);
    return errors;
}

int pattern_fill(struct bench_case *c, struct fault *why)
{
    if (bench_options_kind_reduces(c->options->kind))
        elements_fill(c);
    else
        bytes_fill(c);
    memset(c->out, CANARY, c->bytes);
    if (c->options->kind == BENCH_GET)
        memcpy(c->part, c->in, c->bytes);
    else if (c->part)
        memset(c->part, c->options->kind == BENCH_PUT ? CANARY : 0, c->bytes);
    return bench_case_give(c, why);
}

/* The number before the last of the additions. */
static bool atomic_is_wrong(const struct bench_case *c)
{
    uint64_t old;

    memcpy(&old, c->out, sizeof(old));
    return old != (uint64_t)c->window - 1;
}

static uint64_t errors_count(const struct bench_case *c)
{
    int last = (c->rank + c->ranks - 1) % c->ranks;

    switch (c->options->kind) {
    case BENCH_ALL_REDUCE:
    case BENCH_REDUCE_SCATTER:
        return elements_wrong(c);
    case BENCH_REDUCE:
        return c->rank == 0 ? elements_wrong(c) : 0;
    case BENCH_GATHER:
        return c->rank == 0 ? shares_wrong(c) : 0;
    case BENCH_SCATTER:
        return bytes_wrong(c->out, c->share, 0, c->rank);
    case BENCH_ALL_GATHER:
    case BENCH_ALL_TO_ALL:
        return shares_wrong(c);
    case BENCH_BROADCAST:
        return c->rank == 0 ? 0 : bytes_wrong(c->out, c->bytes, 0, -1);
    case BENCH_SENDRECV:
        return bytes_wrong(c->out, c->bytes, last, -1);
    case BENCH_LAT:
        return c->rank > 1 ? 0 : bytes_wrong(c->out, c->bytes, 1 - c->rank, -1);
    case BENCH_BW:
        return c->rank != 1 ? 0 : bytes_wrong(c->out, c->bytes, 0, -1);
    case BENCH_PUT:
        return c->rank != 1 ? 0 : bytes_wrong(c->part, c->bytes, 0, -1);
    case BENCH_GET:
        return c->rank != 0 ? 0 : bytes_wrong(c->out, c->bytes, 1, -1);
    case BENCH_ATOMIC:
        return c->rank == 0 && atomic_is_wrong(c);
    case BENCH_BARRIER:
    case BENCH_TRANSFER:
    case BENCH_LINK:
        break;
    }
    return 0;
}

int pattern_check(struct bench_case *c, uint64_t *errors, struct fault *why)
{
    bool is_one_sided = bench_options_kind_is_one_sided(c->options->kind);
    int rc = pattern_fill(c, why);

    *errors = 0;
    if (rc)
        return rc;
    /* What the call changes, the other rank writes before and reads afterwards. */
    if (is_one_sided)
        rc = ml_barrier(c->world);
    if (!rc)
        rc = bench_case_run(c);
    if (!rc && is_one_sided)
        rc = ml_barrier(c->world);
    rc = bench_case_call(why, rc);
    if (!rc)
        rc = bench_case_take(c, why);
    if (!rc)
        *errors = errors_count(c);
    return rc;
}
