/* SPDX-License-Identifier: MIT */
/* file_sum.h: the checksum of a file that the program cksum of POSIX prints. */
#ifndef LAUNCHER_BASE_PROCESS_FILE_SUM_H
#define LAUNCHER_BASE_PROCESS_FILE_SUM_H

#include <stdint.h>

/* 0 or -1, with errno. */
int file_sum_read(uint32_t *out, const char *path);

#endif
