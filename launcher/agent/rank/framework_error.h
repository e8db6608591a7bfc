/* SPDX-License-Identifier: MIT */
/*
 * framework_error.h: the file in which a PyTorch program leaves the exception that ends it, if its
 * main function is decorated with torch.distributed.elastic's record (common/agent_to_rank.h).
 */
#ifndef LAUNCHER_AGENT_RANK_FRAMEWORK_ERROR_H
#define LAUNCHER_AGENT_RANK_FRAMEWORK_ERROR_H

#include <stddef.h>

/* Reads the first line of rank `rank`'s message, cut off after size - 1 bytes; "" if there is none,
 * or the file is something else. */
void framework_error_read(char *text, size_t size, const char *job_dir, int rank);

#endif
