/* SPDX-License-Identifier: MIT */
#include "llm_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The builtins also check that the system saves the wide registers. clang 14's don't know f16c. */
static bool cpu_is(enum llm_cpu cpu)
{
    unsigned a, b, c, d;

    if (cpu == LLM_CPU_ANY)
        return true;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
        return false;
    return cpu == LLM_CPU_AVX2 ||
           (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"));
}

const struct llm_kernels *llm_kernels_for(enum llm_cpu cpu)
{
    static const struct llm_kernels *const all[LLM_CPUS] = {
        [LLM_CPU_ANY] = &llm_kernels_any,
        [LLM_CPU_AVX2] = &llm_kernels_avx2,
        [LLM_CPU_AVX512] = &llm_kernels_avx512,
    };

    return cpu_is(cpu) ? all[cpu] : NULL;
}
#else
const struct llm_kernels *llm_kernels_for(enum llm_cpu cpu)
{
    return cpu == LLM_CPU_ANY ? &llm_kernels_any : NULL;
}
#endif

const struct llm_kernels *llm_kernels_best(void)
{
    int cpu = LLM_CPUS - 1;

    while (!llm_kernels_for(cpu))
        cpu--;
    return llm_kernels_for(cpu);
}
