/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/result_bits.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENT_MOST = 8 };

/* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t number_next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* A float of either sign and of one of 20 magnitudes, with 20 bits: sums of a few round. */
static double float_of(uint64_t bits)
{
    return ((double)(bits >> 12 & 0xfffff) - 524288.0) / (double)(1 << (bits >> 40) % 20);
}

/* Integers are any bits, which all types hold in their first bytes; the byte order of a host shows
 * in the hash, as it does in its memory. */
static void element_write(unsigned char out[ELEMENT_MOST], ml_type type, uint64_t *state)
{
    uint64_t bits = number_next(state);
    double twice = float_of(bits);
    float single[2] = {(float)twice, (float)float_of(bits >> 3)};
    uint16_t half = (uint16_t)((bits & 0x83ff) | (8 + (bits >> 20) % 16) << 10); /* 2^-7 to 2^8 */
    uint32_t brain;

    memcpy(out, &bits, ELEMENT_MOST);
    switch ((int)type) {
    case ML_BOOL:
        out[0] &= 1;
        break;
    case ML_FLOAT16:
        memcpy(out, &half, sizeof(half));
        break;
    case ML_BFLOAT16:
        memcpy(&brain, single, sizeof(brain));
        half = (uint16_t)(brain >> 16);
        memcpy(out, &half, sizeof(half));
        break;
    case ML_FLOAT64:
        memcpy(out, &twice, sizeof(twice));
        break;
    case ML_FLOAT32:
    case ML_COMPLEX64:
        memcpy(out, single, sizeof(single));
        break;
    }
}

static void data_fill(const struct bench_case *c)
{
    size_t element = bench_options_type_size(c->options->type), all = c->bytes / element;
    uint64_t state = 88172645463325252U + (uint64_t)c->rank * 7919;
    unsigned char one[ELEMENT_MOST];

    for (size_t i = 0; i < all; i++) {
        element_write(one, c->options->type, &state);
        memcpy(c->in + i * element, one, element);
    }
}

int result_bits_take(struct bench_case *c, unsigned char *out, struct fault *why)
{
    bool is_written = c->options->kind != BENCH_REDUCE || c->rank == 0;
    size_t size = is_written ? c->share : 0;
    unsigned char mine[BENCH_BITS], *all = NULL;
    int rc;

    if (c->rank == 0 && !(all = malloc((size_t)c->ranks * BENCH_BITS)))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    data_fill(c);
    rc = bench_case_give(c, why);
    if (!rc)
        rc = bench_case_call(why, bench_case_run(c));
    if (!rc)
        rc = bench_case_take(c, why);
    if (!rc) {
        crypto_generichash(mine, BENCH_BITS, c->out, size, NULL, 0);
        rc = bench_case_call(why, ml_gather(c->world, mine, all, BENCH_BITS, 0));
    }
    if (!rc && c->rank == 0)
        crypto_generichash(out, BENCH_BITS, all, (size_t)c->ranks * BENCH_BITS, NULL, 0);
    free(all);
    return rc;
}
