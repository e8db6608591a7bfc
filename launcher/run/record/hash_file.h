/* SPDX-License-Identifier: MIT */
/*
 * hash_file.h: `--compare-hashes FILE`: the first run writes a hash of what each call has read and
 * one of what it has written; later runs compare theirs with it. The library's results are the same
 * bits in each run, so a difference is the program's, or a fault of a machine. Each line of FILE is
 * a call: rank, run.generation.group, its place there, hashes, and the call in words.
 */
#ifndef LAUNCHER_RUN_RECORD_HASH_FILE_H
#define LAUNCHER_RUN_RECORD_HASH_FILE_H

#include "common/fault.h"
#include "common/rank_calls.h"

#include <stdbool.h>
#include <stddef.h>

struct hash_file;

/* Reads FILE, or, if there is none or it is empty, makes it. ML_ERR_SYSTEM, ML_ERR_MEMORY, and
 * ML_ERR_ARGUMENT if FILE holds something else. */
int hash_file_open(struct hash_file **out, const char *path, struct fault *why);
void hash_file_destroy(struct hash_file *h); /* takes NULL */

/* Adds calls of a rank, whose `received` are their hashes, in the order in which they began. run:
 * how many runs of the job came before. */
void hash_file_add(struct hash_file *h, int rank, int run, const struct rank_call *calls,
                   size_t count);

/* Says on standard error how the runs compare, after the last call. Returns true if they differ, or
 * if there is no call to compare later ones with. */
bool hash_file_conclude(struct hash_file *h);

#endif
