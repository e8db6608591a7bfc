/* SPDX-License-Identifier: MIT */
#include "runtime/kernel/reduce_op.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const struct {
    const char *name;
    size_t size;
    const reduce_table *kernels;
} types[REDUCE_TYPES] = {
    [ML_BOOL] = {"bool", 1, &reduce_bool},
    [ML_INT8] = {"int8", 1, &reduce_int8},
    [ML_INT16] = {"int16", 2, &reduce_int16},
    [ML_INT32] = {"int32", 4, &reduce_int32},
    [ML_INT64] = {"int64", 8, &reduce_int64},
    [ML_UINT8] = {"uint8", 1, &reduce_uint8},
    [ML_UINT16] = {"uint16", 2, &reduce_uint16},
    [ML_UINT32] = {"uint32", 4, &reduce_uint32},
    [ML_UINT64] = {"uint64", 8, &reduce_uint64},
    [ML_FLOAT16] = {"float16", 2, &reduce_float16},
    [ML_BFLOAT16] = {"bfloat16", 2, &reduce_bfloat16},
    [ML_FLOAT32] = {"float32", 4, &reduce_float32},
    [ML_FLOAT64] = {"float64", 8, &reduce_float64},
    [ML_COMPLEX64] = {"complex64", 8, &reduce_complex64},
};

static const char *const ops[REDUCE_OPS] = {
    [ML_SUM] = "sum", [ML_PROD] = "prod", [ML_MIN] = "min", [ML_MAX] = "max",
    [ML_AND] = "and", [ML_OR] = "or",     [ML_XOR] = "xor",
};

size_t reduce_type_size(int type)
{
    return type >= 0 && type < REDUCE_TYPES ? types[type].size : 0;
}

const char *reduce_type_name(int type)
{
    return type >= 0 && type < REDUCE_TYPES ? types[type].name : "?";
}

const char *reduce_op_name(int op)
{
    return op >= 0 && op < REDUCE_OPS ? ops[op] : "?";
}

bool reduce_op_is_valid(int type, int op)
{
    return reduce_type_size(type) && op >= 0 && op < REDUCE_OPS &&
           (*types[type].kernels)[CPU_ANY][op];
}

#if defined(__x86_64__)
/* The builtins also check that the system saves the wide registers. clang 14's don't know f16c. */
static bool cpu_has(enum reduce_cpu cpu)
{
    unsigned a, b, c, d;

    if (cpu == CPU_ANY)
        return true;
    if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
        return false;
    return cpu == CPU_AVX2 ||
           (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}
#else
static bool cpu_has(enum reduce_cpu cpu)
{
    return cpu == CPU_ANY;
}
#endif

reduce_fn *reduce_op_for(enum reduce_cpu cpu, int type, int op)
{
    if (!reduce_op_is_valid(type, op) || !cpu_has(cpu))
        return NULL;
    return (*types[type].kernels)[cpu][op];
}

reduce_fn *reduce_op(int type, int op)
{
    /* Asked once, because cpuid is slow in a virtual machine (it exits to the hypervisor). Threads
     * may race, and all find the same. */
    static int cpu = -1;
    int best = __atomic_load_n(&cpu, __ATOMIC_RELAXED);

    if (best < 0) {
        for (best = REDUCE_CPUS - 1; !cpu_has(best); best--)
            ;
        __atomic_store_n(&cpu, best, __ATOMIC_RELAXED);
    }
    return reduce_op_is_valid(type, op) ? (*types[type].kernels)[best][op] : NULL;
}
