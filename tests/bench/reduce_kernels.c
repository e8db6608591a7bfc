/* SPDX-License-Identifier: MIT */
/*
 * reduce_kernels [BYTES (16384)]: how fast one core combines two operands of BYTES each, in GB of
 * one operand a second. A table: a row for each type and operation, with the kernels for any CPU,
 * for AVX2 and for AVX-512 (runtime/kernel/reduce_op.h).
 */
#include "runtime/kernel/reduce_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, ROUND_BYTES = 64 << 20 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double rate_GBps(reduce_fn *f, void *out, const void *a, const void *b, size_t size,
                        int type)
{
    size_t times = ROUND_BYTES / size + 1;
    double best = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_s(), rate;

        for (size_t i = 0; i < times; i++)
            f(out, a, b, size / reduce_type_size(type));
        rate = (double)(times * size) / (now_s() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 16 << 10;
    char *memory = aligned_alloc(4096, 3 * ((size + 4095) / 4096 * 4096 + 4096));
    char *a, *b;

    if (!memory || size < 16)
        return 1;
    /* At different offsets in their pages; otherwise a load would seem to depend on an earlier
     * store. */
    a = memory + (size + 4095) / 4096 * 4096 + 1024;
    b = a + (size + 4095) / 4096 * 4096 + 1024;
    memset(a, 1, size);
    memset(b, 1, size);
    printf("| type | op | any x86-64 | AVX2 | AVX-512 |\n|---|---|---|---|---|\n");
    for (int type = 0; type < REDUCE_TYPES; type++)
        for (int op = 0; op < REDUCE_OPS; op++) {
            if (!reduce_op_is_valid(type, op))
                continue;
            printf("| %s | %s |", reduce_type_name(type), reduce_op_name(op));
            for (int cpu = 0; cpu < REDUCE_CPUS; cpu++) {
                reduce_fn *f = reduce_op_for(cpu, type, op);

                if (f)
                    printf(" %.1f |", rate_GBps(f, memory, a, b, size, type));
                else
                    printf(" |");
            }
            printf("\n");
        }
    free(memory);
    return 0;
}
