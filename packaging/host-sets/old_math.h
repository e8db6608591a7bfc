/* SPDX-License-Identifier: MIT */
/*
 * old_math.h: glibc 2.29 has new versions of these functions, which differ from the old ones in how
 * they report errors only. Everything built for glibc 2.28 is compiled with this file in front, and
 * calls the old ones.
 */
#ifndef PACKAGING_HOST_SETS_OLD_MATH_H
#define PACKAGING_HOST_SETS_OLD_MATH_H

#ifdef __aarch64__
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#else
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
#endif

OLD(exp);
OLD(exp2);
OLD(log);
OLD(log2);
OLD(pow);

#undef OLD

#endif
