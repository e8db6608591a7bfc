/* SPDX-License-Identifier: MIT */
/* md5.h: the digest by which users of connectors compare what they sent with what arrived (RFC
 * 1321). It finds damage, not attackers. */
#ifndef LAUNCHER_TOOLS_BENCH_PROGRAM_MD5_H
#define LAUNCHER_TOOLS_BENCH_PROGRAM_MD5_H

#include <stddef.h>

enum { MD5_SIZE = 16 };

void md5_sum(unsigned char out[MD5_SIZE], const void *data, size_t size);

#endif
