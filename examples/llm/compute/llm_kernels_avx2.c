/* SPDX-License-Identifier: MIT */
#include "llm_kernels_x86.h"

#if defined(__x86_64__)
EXPONENTIAL_KERNELS(KERNEL_TARGET, x86)

const struct llm_kernels llm_kernels_avx2 = X86_KERNELS("AVX2");
#endif
