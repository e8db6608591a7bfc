/* SPDX-License-Identifier: MIT */
#include "tests/runtime/collective_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 32, MOST_RANKS = 64, TYPES = ML_COMPLEX64 + 1, OPS = ML_XOR + 1 };

static const struct {
    const char *name;
    size_t size;
} types[TYPES] = {
    {"bool", 1},     {"int8", 1},    {"int16", 2},   {"int32", 4},     {"int64", 8},
    {"uint8", 1},    {"uint16", 2},  {"uint32", 4},  {"uint64", 8},    {"float16", 2},
    {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8},
};
static const char *const ops[OPS] = {"sum", "prod", "min", "max", "and", "or", "xor"};
static const char *const calls[CASE_CALLS] = {
    "all_reduce", "reduce_scatter", "reduce",       "scan",         "exclusive_scan",
    "all_gather", "all_to_all",     "all_gather_v", "all_to_all_v", "broadcast",
    "gather",     "scatter",        "sendrecv",     "barrier",
};
static const char *const places[PLACES] = {"apart", "misaligned", "same", "mixed", "share"};

size_t case_type_size(ml_type type)
{
    return types[type].size;
}

bool case_is_valid(ml_type type, ml_op op)
{
    if (type == ML_COMPLEX64)
        return op <= ML_PROD;
    return type < ML_FLOAT16 || op <= ML_MAX;
}

/* ---- inputs ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static uint64_t draw(const struct collective_case *c, int rank, size_t i)
{
    return mix(i * 64 + (uint64_t)rank + 0x9e3779b97f4a7c15 * (c->seed + 1));
}

/* Byte i of rank's data. *word keeps the eight bytes that it is cut from, for the next call. */
static char draw_byte(const struct collective_case *c, int rank, size_t i, uint64_t *word)
{
    if (i % 8 == 0)
        *word = draw(c, rank, i / 8);
    return (char)(*word >> 8 * (i % 8));
}

/* A number that every float type can represent, as it can the sum or product of those of 64
 * ranks. */
static double small_number(const struct collective_case *c, int rank, size_t i)
{
    uint64_t r = draw(c, rank, i);

    switch (c->op) {
    case ML_SUM:
        return (double)(r % 4);
    case ML_PROD:
        return ((r & 1) ? -1.0 : 1.0) * (((size_t)rank + i) % 8 == 0 ? 2 : 1);
    default:
        return (double)(r % 101) - 50;
    }
}

static uint16_t float16_of(double v)
{
    int exponent;
    double m = frexp(fabs(v), &exponent); /* v = m * 2^exponent, 0.5 <= m < 1 */
    unsigned sign = signbit(v) ? 0x8000 : 0;

    if (v == 0)
        return (uint16_t)sign;
    return (uint16_t)(sign | ((unsigned)(exponent + 14) << 10) | ((unsigned)ldexp(m, 11) & 0x3ff));
}

static double of_float16(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    double v = exponent ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24);

    if (exponent == 31)
        v = mantissa ? NAN : INFINITY;
    return h & 0x8000 ? -v : v;
}

/* Component i of a float type's vector (complex64 has two an element). */
static void float_put(ml_type type, void *buf, size_t i, double v)
{
    float f = (float)v;
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &f, 4);
    switch (type) {
    case ML_FLOAT16:
        half = float16_of(v);
        memcpy((char *)buf + 2 * i, &half, 2);
        break;
    case ML_BFLOAT16:
        half = (uint16_t)(bits >> 16);
        memcpy((char *)buf + 2 * i, &half, 2);
        break;
    case ML_FLOAT64:
        memcpy((char *)buf + 8 * i, &v, 8);
        break;
    default:
        memcpy((char *)buf + 4 * i, &f, 4);
    }
}

static double float_get(ml_type type, const void *buf, size_t i)
{
    uint16_t half = 0;
    uint32_t bits;
    float f;
    double v;

    if (type == ML_FLOAT64) {
        memcpy(&v, (const char *)buf + 8 * i, 8);
        return v;
    }
    if (type == ML_FLOAT32 || type == ML_COMPLEX64) {
        memcpy(&f, (const char *)buf + 4 * i, 4);
        return f;
    }
    memcpy(&half, (const char *)buf + 2 * i, 2);
    if (type == ML_FLOAT16)
        return of_float16(half);
    bits = (uint32_t)half << 16;
    memcpy(&f, &bits, 4);
    return f;
}

static size_t components(const struct collective_case *c)
{
    return c->type == ML_COMPLEX64 ? 2 : 1;
}

static size_t element_size(const struct collective_case *c)
{
    return c->call > CASE_EXCLUSIVE_SCAN ? 1 : c->element ? c->element : types[c->type].size;
}

/* Bytes [first, first + size) of rank's data. */
static void fill_bytes(const struct collective_case *c, int rank, size_t first, size_t size,
                       char *buf)
{
    uint64_t word = draw(c, rank, first / 8);

    for (size_t i = 0; i < size; i++)
        buf[i] = draw_byte(c, rank, first + i, &word);
}

/* Elements [first, first + count) of rank's vector. */
static void fill(const struct collective_case *c, int rank, size_t first, size_t count, char *buf)
{
    size_t size = element_size(c);

    if (c->call > CASE_EXCLUSIVE_SCAN || c->element) {
        fill_bytes(c, rank, first * size, count * size, buf);
    } else if (c->type >= ML_FLOAT16) {
        for (size_t i = 0; i < count * components(c); i++)
            float_put(c->type, buf, i, small_number(c, rank, first * components(c) + i));
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t r = draw(c, rank, first + i);

            if (c->type == ML_BOOL)
                r = (const unsigned char[]){0, 1, 0, 2, 1, 255, 1, 128}[r % 8];
            memcpy(buf + i * size, &r, size);
        }
    }
}

/* ---- the reference ---- */

static double number_reference(ml_op op, double a, double b)
{
    switch (op) {
    case ML_SUM:
        return a + b;
    case ML_PROD:
        return a * b;
    case ML_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static uint64_t integer_reference(const struct collective_case *c, uint64_t a, uint64_t b)
{
    unsigned shift = (unsigned)(64 - 8 * types[c->type].size);
    bool is_less = c->type <= ML_INT64 ? (int64_t)(a << shift) < (int64_t)(b << shift)
                                       : a << shift < b << shift;

    switch (c->op) {
    case ML_SUM:
        return a + b;
    case ML_PROD:
        return a * b;
    case ML_MIN:
        return is_less ? a : b;
    case ML_MAX:
        return is_less ? b : a;
    case ML_AND:
        return a & b;
    case ML_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint64_t bool_reference(ml_op op, bool a, bool b)
{
    if (op == ML_XOR)
        return a != b;
    return op == ML_PROD || op == ML_MIN || op == ML_AND ? a && b : a || b;
}

/* How many ranks' elements are reduced. */
static int reduced_ranks(const struct subject *s, const struct collective_case *c)
{
    return c->call == CASE_SCAN ? s->rank + 1 : c->call == CASE_EXCLUSIVE_SCAN ? s->rank : s->size;
}

/* True if element `i` of the whole vector is `is` (one element). */
static bool reduced_ok(const struct subject *s, const struct collective_case *c, size_t i,
                       const char *is)
{
    size_t size = types[c->type].size, k = components(c);
    int ranks = reduced_ranks(s, c);
    char element[8];

    if (c->type >= ML_FLOAT16) {
        double sum[2] = {0, 0};

        for (int rank = 0; rank < ranks; rank++) {
            double v[2] = {0, 0};

            for (size_t j = 0; j < k; j++)
                v[j] = small_number(c, rank, i * k + j);
            if (rank == 0) {
                memcpy(sum, v, sizeof(sum));
            } else if (k == 2 && c->op == ML_PROD) {
                double re = sum[0] * v[0] - sum[1] * v[1];

                sum[1] = sum[0] * v[1] + sum[1] * v[0];
                sum[0] = re;
            } else {
                for (size_t j = 0; j < k; j++)
                    sum[j] = number_reference(c->op, sum[j], v[j]);
            }
        }
        for (size_t j = 0; j < k; j++)
            if (float_get(c->type, is, j) != sum[j])
                return false;
        return true;
    }
    uint64_t sum = 0;

    for (int rank = 0; rank < ranks; rank++) {
        uint64_t v = 0;

        fill(c, rank, i, 1, element);
        memcpy(&v, element, size);
        if (rank == 0)
            sum = v;
        else if (c->type == ML_BOOL)
            sum = bool_reference(c->op, sum != 0, v != 0);
        else
            sum = integer_reference(c, sum, v);
    }
    return memcmp(&sum, is, size) == 0;
}

/* ---- operators of the program ---- */

struct operation {
    bool is_commutative;
    size_t element, alignment; /* the buffers that the call was given */
    bool is_misused;
};

/* Adds the bytes up. Without commutativity, two bytes are the map x -> (a | 1) * x + b, and two of
 * those are applied one after the other; of a byte that is left over, the first rank's stays. */
static void operate(void *inout, const void *in, size_t count, void *context)
{
    struct operation *o = context;
    unsigned char *x = inout;
    const unsigned char *y = in;

    if (!count || (uintptr_t)x % o->alignment || (uintptr_t)y % o->alignment)
        o->is_misused = true;
    for (size_t n = 0; n < count; n++, x += o->element, y += o->element)
        for (size_t i = 0; i < o->element; i++)
            if (o->is_commutative) {
                x[i] = (unsigned char)(x[i] + y[i]);
            } else if (i % 2) {
                x[i] = (unsigned char)(x[i] * (y[i - 1] | 1) + y[i]);
                x[i - 1] = (unsigned char)((x[i - 1] | 1) * (y[i - 1] | 1));
            }
}

static struct operation operation_of(const struct collective_case *c)
{
    size_t lowest = c->element & -c->element, most = c->place == PLACE_MISALIGNED ? 1 : 16;

    return (struct operation){c->is_commutative, c->element, lowest < most ? lowest : most, false};
}

static void *must(void *p);

/* True if `is` holds the elements from `first` on. */
static bool operated_ok(const struct subject *s, const struct collective_case *c, size_t first,
                        const char *is)
{
    struct operation o = operation_of(c);
    size_t size = c->count * c->element;
    char *sum = must(malloc(size + 1)), *next = must(malloc(size + 1));
    bool is_same;

    fill(c, 0, first, c->count, sum);
    for (int rank = 1; rank < reduced_ranks(s, c); rank++) {
        fill(c, rank, first, c->count, next);
        operate(sum, next, c->count, &o);
    }
    is_same = memcmp(sum, is, size) == 0;
    free(sum);
    free(next);
    return is_same;
}

/* ---- one case ---- */

/* The blocks of one buffer of a call with shares of different sizes: one after the other or, in
 * every other case, in the reverse order with a byte between them. */
struct layout {
    size_t sizes[MOST_RANKS], offsets[MOST_RANKS], end;
    const size_t *offsets_given;
};

/* A block from rank `from` to rank `to`; every fifth one is empty. */
static size_t block_size(const struct collective_case *c, int from, int to)
{
    uint64_t r = mix(c->seed * 4096 + (unsigned)(from * MOST_RANKS + to));

    return r % 5 ? (size_t)(r / 5 % (2 * (uint64_t)c->count + 1)) : 0;
}

static void layout_place(const struct subject *s, const struct collective_case *c, struct layout *l)
{
    l->end = 0;
    l->offsets_given = c->seed % 2 ? l->offsets : NULL;
    for (int i = 0; i < s->size; i++) {
        int r = c->seed % 2 ? s->size - 1 - i : i;

        l->end += c->seed % 2;
        l->offsets[r] = l->end;
        l->end += l->sizes[r];
    }
}

/* What `rank` sends in an all_to_all_v. */
static void layout_in(const struct subject *s, const struct collective_case *c, int rank,
                      struct layout *l)
{
    for (int r = 0; r < s->size; r++)
        l->sizes[r] = block_size(c, rank, r);
    layout_place(s, c, l);
}

/* What this rank receives. */
static void layout_out(const struct subject *s, const struct collective_case *c, struct layout *l)
{
    for (int r = 0; r < s->size; r++)
        l->sizes[r] = block_size(c, r, c->call == CASE_ALL_GATHER_V ? 0 : s->rank);
    layout_place(s, c, l);
}

struct buffers {
    char *in, *out;           /* where the call works */
    size_t in_size, out_size; /* 0: this rank does not use it in its role */
    char *in_room, *out_room; /* owned */
    char *in_copy;            /* a copy of in, to check that it does not change */
    bool is_shared;           /* in lies in out */
};

/* Which buffers the call reads and writes on this rank. */
static void sizes_of(const struct subject *s, const struct collective_case *c, size_t *in,
                     size_t *out)
{
    size_t share = c->count * element_size(c);
    size_t all = share * (size_t)s->size;
    bool is_root = c->root == s->rank;
    struct layout l;

    *in = share;
    *out = share;
    switch (c->call) {
    case CASE_REDUCE_SCATTER:
        *in = all;
        break;
    case CASE_REDUCE:
        *out = is_root ? share : 0;
        break;
    case CASE_EXCLUSIVE_SCAN:
        *in = s->rank == s->size - 1 ? 0 : share;
        *out = s->rank ? share : 0;
        break;
    case CASE_ALL_GATHER:
        *out = all;
        break;
    case CASE_ALL_TO_ALL:
        *in = *out = all;
        break;
    case CASE_ALL_GATHER_V:
        layout_out(s, c, &l);
        *in = l.sizes[s->rank];
        *out = l.end;
        break;
    case CASE_ALL_TO_ALL_V:
        layout_in(s, c, s->rank, &l);
        *in = l.end;
        layout_out(s, c, &l);
        *out = l.end;
        break;
    case CASE_BROADCAST:
        *in = 0;
        break;
    case CASE_GATHER:
        *out = is_root ? all : 0;
        break;
    case CASE_SCATTER:
        *in = is_root ? all : 0;
        break;
    case CASE_BARRIER:
        *in = *out = 0;
        break;
    default:
        break;
    }
}

static bool is_in_place(const struct subject *s, const struct collective_case *c)
{
    return c->place == PLACE_SAME || (c->place == PLACE_MIXED && s->rank % 2);
}

static void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    return p;
}

static void *room_take(const struct subject *s, size_t size)
{
    void *room = NULL;

    if (!s->alloc)
        return must(malloc(size));
    return must(s->alloc(size, &room) == 0 ? room : NULL);
}

static void room_give(const struct subject *s, void *room)
{
    if (s->alloc)
        s->free(room);
    else
        free(room);
}

/* Where this rank's block begins in `out`. */
static size_t own_block(const struct subject *s, const struct collective_case *c, size_t in_size)
{
    struct layout l;

    if (c->call != CASE_ALL_GATHER_V)
        return (size_t)s->rank * in_size;
    layout_out(s, c, &l);
    return l.offsets[s->rank];
}

static void buffers_make(const struct subject *s, const struct collective_case *c,
                         struct buffers *b)
{
    size_t odd = c->place == PLACE_MISALIGNED ? 1 : 0, room;

    memset(b, 0, sizeof(*b));
    sizes_of(s, c, &b->in_size, &b->out_size);
    room = 2 * GUARD + 3 + (b->in_size > b->out_size ? b->in_size : b->out_size);
    b->in_room = room_take(s, room);
    b->out_room = room_take(s, room);
    b->in_copy = must(malloc(b->in_size + 1));
    memset(b->in_room, 0x5a, room);
    memset(b->out_room, 0x5a, room);
    b->out = b->out_room + GUARD + 3 * odd;
    b->in = b->in_room + GUARD + odd;
    if (is_in_place(s, c) && c->call != CASE_SENDRECV && b->out_size)
        b->in = b->out;
    if (c->place == PLACE_SHARE && b->out_size > b->in_size && c->call != CASE_SCATTER &&
        c->call != CASE_ALL_TO_ALL_V)
        b->in = b->out + own_block(s, c, b->in_size);
    b->is_shared = b->in >= b->out_room && b->in < b->out_room + room;
    fill(c, s->rank, 0, b->in_size / element_size(c), b->in);
    if (c->call == CASE_BROADCAST && s->rank == c->root)
        fill(c, s->rank, 0, b->out_size, b->out);
    memcpy(b->in_copy, b->in, b->in_size);
}

static void buffers_free(const struct subject *s, struct buffers *b)
{
    room_give(s, b->in_room);
    room_give(s, b->out_room);
    free(b->in_copy);
}

static int call_with(const struct subject *s, const struct collective_case *c, void *in, void *out)
{
    struct operation o = operation_of(c);
    ml_operator with = {operate, c->element, c->is_commutative, &o};
    int rc;

    if (c->call == CASE_REDUCE)
        rc = s->reduce_with(s->group, in, out, c->count, &with, c->root);
    else
        rc = (c->call == CASE_ALL_REDUCE       ? s->all_reduce_with
              : c->call == CASE_REDUCE_SCATTER ? s->reduce_scatter_with
              : c->call == CASE_SCAN           ? s->scan_with
                                     : s->exclusive_scan_with)(s->group, in, out, c->count, &with);
    if (o.is_misused)
        fprintf(stderr, "rank %d: no element, or one that is not aligned\n", s->rank);
    return o.is_misused ? -1 : rc;
}

static int call_make(const struct subject *s, const struct collective_case *c, struct buffers *b)
{
    void *in = b->in_size || b->is_shared ? b->in : NULL, *out = b->out_size ? b->out : NULL;
    int n = s->size;
    struct layout give, take;

    if (c->element)
        return call_with(s, c, in, out);
    switch (c->call) {
    case CASE_ALL_REDUCE:
        return s->all_reduce(s->group, in, out, c->count, c->type, c->op);
    case CASE_REDUCE_SCATTER:
        return s->reduce_scatter(s->group, in, out, c->count, c->type, c->op);
    case CASE_REDUCE:
        return s->reduce(s->group, in, out, c->count, c->type, c->op, c->root);
    case CASE_SCAN:
        return s->scan(s->group, in, out, c->count, c->type, c->op);
    case CASE_EXCLUSIVE_SCAN:
        return s->exclusive_scan(s->group, in, out, c->count, c->type, c->op);
    case CASE_ALL_GATHER:
        return s->all_gather(s->group, in, out, c->count);
    case CASE_ALL_TO_ALL:
        return s->all_to_all(s->group, in, out, c->count);
    case CASE_ALL_GATHER_V:
        layout_out(s, c, &take);
        return s->all_gather_v(s->group, in, out, take.sizes, take.offsets_given);
    case CASE_ALL_TO_ALL_V:
        layout_in(s, c, s->rank, &give);
        layout_out(s, c, &take);
        return s->all_to_all_v(s->group, in, give.sizes, give.offsets_given, out, take.sizes,
                               take.offsets_given);
    case CASE_BROADCAST:
        return s->broadcast(s->group, out, c->count, c->root);
    case CASE_GATHER:
        return s->gather(s->group, in, out, c->count, c->root);
    case CASE_SCATTER:
        return s->scatter(s->group, in, out, c->count, c->root);
    case CASE_SENDRECV: /* around a ring whose step is the root's number; 0: with itself */
        return s->sendrecv(s->group, in, c->count, (s->rank + c->root) % n, out, c->count,
                           (s->rank - c->root + n) % n);
    default:
        return s->barrier(s->group);
    }
}

/* True if out's bytes [at, at + count) are rank's from `first` on. */
static bool bytes_ok(const struct collective_case *c, const char *out, size_t at, int rank,
                     size_t first, size_t count)
{
    uint64_t word = draw(c, rank, first / 8);

    for (size_t i = 0; i < count; i++)
        if (out[at + i] != draw_byte(c, rank, first + i, &word))
            return false;
    return true;
}

static bool shares_ok(const struct subject *s, const struct collective_case *c, const char *out)
{
    struct layout take, give;

    layout_out(s, c, &take);
    for (int r = 0; r < s->size; r++) {
        size_t first = 0;

        if (c->call == CASE_ALL_TO_ALL_V) {
            layout_in(s, c, r, &give);
            first = give.offsets[s->rank];
        }
        if (!bytes_ok(c, out, take.offsets[r], r, first, take.sizes[r]))
            return false;
    }
    return true;
}

static bool moved_ok(const struct subject *s, const struct collective_case *c,
                     const struct buffers *b)
{
    size_t n = c->count;
    int ranks = s->size;

    switch (c->call) {
    case CASE_ALL_GATHER_V:
    case CASE_ALL_TO_ALL_V:
        return shares_ok(s, c, b->out);
    case CASE_BROADCAST:
        return bytes_ok(c, b->out, 0, c->root, 0, n);
    case CASE_SCATTER:
        return bytes_ok(c, b->out, 0, c->root, (size_t)s->rank * n, n);
    case CASE_SENDRECV:
        return bytes_ok(c, b->out, 0, (s->rank - c->root + ranks) % ranks, 0, n);
    default: /* ALL_GATHER, ALL_TO_ALL, GATHER */
        for (int r = 0; b->out_size && r < ranks; r++) {
            size_t first = c->call == CASE_ALL_TO_ALL ? (size_t)s->rank * n : 0;

            if (!bytes_ok(c, b->out, (size_t)r * n, r, first, n))
                return false;
        }
        return true;
    }
}

static bool result_ok(const struct subject *s, const struct collective_case *c,
                      const struct buffers *b, size_t *wrong)
{
    size_t first = c->call == CASE_REDUCE_SCATTER ? (size_t)s->rank * c->count : 0;

    *wrong = 0;
    if (c->call == CASE_BARRIER)
        return true;
    if (c->call > CASE_EXCLUSIVE_SCAN)
        return moved_ok(s, c, b);
    if (s->size == 1) /* nothing is reduced, so even a bool is copied as it is */
        return memcmp(b->out, b->in_copy, b->out_size) == 0;
    if (c->element)
        return !b->out_size || operated_ok(s, c, first, b->out);
    for (size_t i = 0; b->out_size && i < c->count; i++) {
        *wrong = i;
        if (!reduced_ok(s, c, first + i, b->out + i * types[c->type].size))
            return false;
    }
    return true;
}

static bool is_guard(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] != 0x5a)
            return false;
    return true;
}

static void complain(const struct subject *s, const struct collective_case *c, const char *what)
{
    bool reduces = c->call <= CASE_EXCLUSIVE_SCAN && !c->element;

    fprintf(stderr,
            "rank %d of %d: %s count %zu of %s %s (%zu bytes%s) root %d, buffers %s, seed %u: %s\n",
            s->rank, s->size, calls[c->call], c->count, reduces ? types[c->type].name : "elements",
            reduces ? ops[c->op] : "", element_size(c), c->is_commutative ? ", commutative" : "",
            c->root, places[c->place], c->seed, what);
}

int case_run(const struct subject *s, const struct collective_case *c)
{
    const char *trouble = NULL;
    char text[96];
    struct buffers b;
    size_t wrong;
    int rc;

    if ((c->call == CASE_SENDRECV && !s->sendrecv) || (c->element && !s->all_reduce_with))
        return 0;
    buffers_make(s, c, &b);
    rc = call_make(s, c, &b);
    if (rc) {
        complain(s, c, s->error());
        buffers_free(s, &b);
        return -1;
    }
    if (!result_ok(s, c, &b, &wrong)) {
        snprintf(text, sizeof(text), "wrong result (element %zu)", wrong);
        trouble = text;
    } else if (!b.is_shared && memcmp(b.in, b.in_copy, b.in_size) != 0) {
        trouble = "the input was changed";
    } else if (b.is_shared && b.in_size > b.out_size &&
               memcmp(b.in + b.out_size, b.in_copy + b.out_size, b.in_size - b.out_size) != 0) {
        trouble = "input beyond the output was changed";
    } else if (!is_guard(b.out - GUARD, GUARD) ||
               (!b.is_shared && !is_guard(b.out + b.out_size, GUARD))) {
        trouble = "bytes around the output were changed";
    }
    buffers_free(s, &b);
    if (trouble)
        complain(s, c, trouble);
    return trouble != NULL;
}

/* ---- the same bits ---- */

static uint64_t hash(const char *p, size_t size)
{
    uint64_t h = size;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3;
    return h;
}

/* Any bits but those of a float's NaNs and infinities. */
static void fill_rough(const struct subject *s, const struct collective_case *c, char *buf)
{
    for (size_t i = 0; i < c->count * components(c); i++) {
        uint64_t r = draw(c, s->rank, i);
        double v = ldexp((double)(r >> 12), -52 + (int)(r % 21) - 10);

        if (c->type == ML_FLOAT16)
            v = ldexp((double)(r >> 54) + 1024, (int)(r % 12) - 14);
        float_put(c->type, buf, i, r & 2048 ? -v : v);
    }
}

int case_same_bits(const struct subject *s, const struct collective_case *c)
{
    size_t size = c->count * types[c->type].size;
    char *in = must(malloc(size + 1)), *out = must(malloc(size + 1));
    uint64_t *hashes = must(calloc((size_t)s->size, sizeof(*hashes))), first = 0;
    int rc = 0;

    fill_rough(s, c, in);
    for (int round = 0; !rc && round < 2; round++) {
        memcpy(out, in, size);
        rc = s->all_reduce(s->group, round ? out : in, out, c->count, c->type, c->op);
        hashes[s->rank] = hash(out, size);
        if (round == 0)
            first = hashes[s->rank];
        if (!rc)
            rc = s->all_gather(s->group, &hashes[s->rank], hashes, sizeof(*hashes));
    }
    if (rc) {
        complain(s, c, s->error());
        rc = -1;
    }
    for (int r = 0; !rc && r < s->size; r++)
        if (hashes[r] != first) {
            complain(s, c, "the ranks' bits differ, or two runs'");
            rc = 1;
        }
    free(in);
    free(out);
    free(hashes);
    return rc;
}

/* ---- random cases ---- */

static uint64_t next(uint64_t *state, uint64_t below)
{
    *state += 0x9e3779b97f4a7c15;
    return mix(*state) % below;
}

/* Elements that divide a cache line and others, up to some that are longer than a ring or a cell of
 * shared memory, or what RDMA or TCP move at a time. */
static const size_t elements[] = {0,  0,  0,   0,   1,    2,    3,     8,     16,
                                  24, 48, 100, 192, 1000, 4099, 70000, 300000};

struct collective_case case_random(uint64_t *state, int ranks, size_t most_bytes)
{
    struct collective_case c = {0};
    size_t most;

    c.seed = (unsigned)next(state, 1u << 30);
    c.call = (enum case_call)next(state, CASE_CALLS);
    do {
        c.type = (ml_type)next(state, TYPES);
        c.op = (ml_op)next(state, OPS);
    } while (!case_is_valid(c.type, c.op));
    c.root = (int)next(state, (uint64_t)ranks);
    c.place = (enum case_place)next(state, PLACES);
    /* Small sizes as often as large ones. */
    most = most_bytes >> next(state, 20);
    if (c.call <= CASE_EXCLUSIVE_SCAN) {
        c.element = elements[next(state, sizeof(elements) / sizeof(elements[0]))];
        c.is_commutative = next(state, 2);
    }
    c.count = next(state, most / element_size(&c) + 2);
    return c;
}

/* ---- the diagonal ---- */

struct collective_case case_diagonal(int i, int round, int ranks)
{
    static const size_t counts[] = {0, 1, 3, 67, 1000, 5003};
    int turn = i / CASE_CALLS, step = turn + i + round;
    struct collective_case c = {.call = (enum case_call)(i % CASE_CALLS),
                                .type = (ml_type)(turn % TYPES),
                                .op = (ml_op)(step % OPS),
                                .count = counts[(turn + round) % 6],
                                .root = step % ranks,
                                .place = (enum case_place)(step % PLACES),
                                .seed = (unsigned)step};

    while (!case_is_valid(c.type, c.op))
        c.op = (ml_op)((c.op + 1) % OPS);
    /* Behind all types: elements of the program, one of them longer than a cell of the mesh. */
    if (turn >= TYPES && c.call <= CASE_EXCLUSIVE_SCAN) {
        c.element = (turn + round) % 2 ? 24 : 5000;
        c.count = c.element == 24 ? 1000 : 7;
        c.is_commutative = turn % 2;
    }
    return c;
}
