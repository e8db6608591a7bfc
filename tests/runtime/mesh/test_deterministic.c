/* SPDX-License-Identifier: MIT */
/* With MLAUNCH_DETERMINISTIC each element of a reduction is ((r0 + r1) + r2) + …, whatever the
 * algorithms are that MLAUNCH_ALGO asks for; without it the same sums differ in some bits.
 * TEST_TIER=full */
#include "runtime/kernel/reduce_op.h"
#include "tests/runtime/mesh/mesh_cases.h"
#include "tests/runtime/mesh/thread_mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MOST = 40000, ELEMENT_MOST = 8 };

static const ml_type types[] = {ML_FLOAT32, ML_FLOAT64, ML_FLOAT16, ML_BFLOAT16, ML_COMPLEX64};
static const size_t counts[] = {1, 17, 1000, COUNT_MOST};

enum { BYTES = ELEMENT_MOST * COUNT_MOST };
struct vectors {
    _Alignas(64) char in[BYTES];
    char out[BYTES], sum[BYTES], next[BYTES];
};

/* Numbers of many magnitudes and either sign, of which each rank has others. */
static void fill(char *to, ml_type type, int rank, size_t count)
{
    uint64_t x = 88172645463325252U + (uint64_t)rank * 7919 + (uint64_t)type;
    size_t size = reduce_type_size((int)type);

    for (size_t i = 0; i < (type == ML_COMPLEX64 ? 2 * count : count); i++) {
        double value;
        float narrow;
        uint32_t bits;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        value = ((double)(x >> 12 & 0xfffff) - 524288.0) / (double)(1 << (x >> 40) % 20);
        narrow = (float)value;
        memcpy(&bits, &narrow, sizeof(bits));
        bits >>= 16; /* bfloat16's */
        if (type == ML_FLOAT64)
            memcpy(to + i * size, &value, sizeof(value));
        else if (type == ML_BFLOAT16)
            memcpy(to + i * size, &bits, 2);
        else if (type == ML_FLOAT16) {
            uint16_t half = (uint16_t)((x & 0x83ff) | (8 + (x >> 20) % 16) << 10);

            memcpy(to + i * size, &half, sizeof(half));
        } else
            memcpy(to + i * sizeof(narrow), &narrow, sizeof(narrow));
    }
}

/* v->sum: what the ranks up to `last` have, one after the other. */
static void reference(struct vectors *v, ml_type type, size_t count, int last)
{
    reduce_fn *add = reduce_op((int)type, ML_SUM);

    fill(v->sum, type, 0, count);
    for (int r = 1; r <= last; r++) {
        fill(v->next, type, r, count);
        add(v->sum, v->sum, v->next, count);
    }
}

static int call_run(const struct subject *s, enum case_call call, const void *in, void *out,
                    size_t count, ml_type type, int root)
{
    switch ((int)call) {
    case CASE_ALL_REDUCE:
        return s->all_reduce(s->group, in, out, count, type, ML_SUM);
    case CASE_REDUCE_SCATTER:
        return s->reduce_scatter(s->group, in, out, count / (size_t)s->size, type, ML_SUM);
    case CASE_REDUCE:
        return s->reduce(s->group, in, out, count, type, ML_SUM, root);
    case CASE_SCAN:
        return s->scan(s->group, in, out, count, type, ML_SUM);
    default:
        return s->exclusive_scan(s->group, in, out, count, type, ML_SUM);
    }
}

/* Runs a call, in place or not. Returns 1 if its result has other bits than the reference. */
static int call_check(const struct subject *s, struct vectors *v, enum case_call call, ml_type type,
                      size_t count, int root)
{
    size_t size = reduce_type_size((int)type), from = 0, wanted = count * size;
    bool in_place = (count + (size_t)root) % 2;
    char *out = in_place ? v->in : v->out;

    if (call == CASE_REDUCE_SCATTER) {
        count -= count % (size_t)s->size;
        wanted = count / (size_t)s->size * size;
        from = (size_t)s->rank * wanted;
    }
    if (count == 0)
        return 0;
    fill(v->in, type, s->rank, count);
    if (call_run(s, call, v->in, out, count, type, root))
        return -1;
    if ((call == CASE_REDUCE && s->rank != root) || (call == CASE_EXCLUSIVE_SCAN && !s->rank))
        return 0;
    reference(v, type, count,
              call == CASE_SCAN             ? s->rank
              : call == CASE_EXCLUSIVE_SCAN ? s->rank - 1
                                            : s->size - 1);
    return memcmp(out, v->sum + from, wanted) != 0;
}

static void check_calls(const struct subject *s, int *failures)
{
    struct vectors *v = aligned_alloc(64, sizeof(*v));

    if (!v)
        abort();
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++)
            for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++) {
                int root = (int)(t + n) % 3 * (s->size - 1) / 2, before = *failures;

                mesh_count(call_check(s, v, (enum case_call)call, types[t], counts[n], root),
                           failures);
                if (*failures != before && getenv("MLAUNCH_DETERMINISTIC"))
                    fprintf(stderr,
                            "call %d, type %d, %zu, root %d: rank %d of %d has other bits\n", call,
                            (int)types[t], counts[n], root, s->rank, s->size);
            }
    free(v);
}

static void test_same_bits(void **state)
{
    static const int all[] = {2, 3, 5, 8, 17, 0}, all_hosts[] = {4, 5, 8, 18, 0},
                     few[] = {2, 3, 8, 0}, few_hosts[] = {5, 8, 0};
    const int *sizes = getenv("MLAUNCH_TEST_LONG") ? all : few,
              *hosts = getenv("MLAUNCH_TEST_LONG") ? all_hosts : few_hosts;

    (void)state;
    setenv("MLAUNCH_DETERMINISTIC", "1", 1);
    mesh_check("", sizes, check_calls);
    mesh_check("all_reduce:doubling,reduce:binomial,reduce_scatter:doubling", sizes, check_calls);
    mesh_check("all_reduce:ring,reduce:ring,reduce_scatter:ring", sizes, check_calls);
    mesh_check("all_reduce:direct,reduce:direct,reduce_scatter:direct", sizes, check_calls);
    mesh_check("all_reduce:chain,reduce:chain,reduce_scatter:chain", sizes, check_calls);
    mesh_check("all_reduce:flat,reduce_scatter:flat", sizes, check_calls);
    mesh_check("all_reduce:shared", sizes, check_calls);
    mesh_check("all_reduce:shared-flat", sizes, check_calls);
    mesh_check("all_reduce:hierarchical", hosts, check_calls);
    mesh_check("all_reduce:leaders,reduce:leaders", hosts, check_calls);
    unsetenv("MLAUNCH_DETERMINISTIC");
}

/* A body that is content with a difference. */
static void check_differs(const struct subject *s, int *failures)
{
    int differ = 0;

    check_calls(s, &differ);
    *failures += differ == 0;
}

static void test_other_bits(void **state)
{
    static const int sizes[] = {5, 0};

    (void)state;
    mesh_check("all_reduce:doubling,reduce:binomial,reduce_scatter:doubling", sizes, check_differs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_other_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
