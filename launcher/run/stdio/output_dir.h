/* SPDX-License-Identifier: MIT */
/*
 * output_dir.h: the files of `--output DIR`, DIR/rank.N.out and DIR/rank.N.err, and of `--output
 * PATTERN`, which is the name of one file for both streams of a rank: %r and %t are its number, %h
 * its host's name, %j the job's id, %% is %. A pattern that ends with '/' is that of a DIR.
 */
#ifndef LAUNCHER_RUN_STDIO_OUTPUT_DIR_H
#define LAUNCHER_RUN_STDIO_OUTPUT_DIR_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/stdio/output_file.h"

struct output_dir;

/* Makes the files of --output for all ranks, empty, with the directories that they need;
 * existing files are emptied. The name of a host cannot lead to another directory. ML_ERR_SYSTEM,
 * ML_ERR_MEMORY. */
int output_dir_open(struct output_dir **out, const struct plan *p, const char *job,
                    struct fault *why);
void output_dir_close(struct output_dir *d); /* takes NULL */

/* True if two ranks have one file, so that their lines need labels. */
bool output_dir_is_shared(const struct output_dir *d);

/* stream: 1 or 2. Valid until close. */
struct output_file *output_dir_file(struct output_dir *d, int rank, int stream);

#endif
