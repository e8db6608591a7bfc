/* SPDX-License-Identifier: MIT */
/* output_dir.h: the files of `--output DIR`: DIR/rank.N.out and DIR/rank.N.err. */
#ifndef LAUNCHER_STDIO_OUTPUT_DIR_H
#define LAUNCHER_STDIO_OUTPUT_DIR_H

#include "launcher/stdio/output_file.h"

struct output_dir;

/* Makes the directory, with its parents, and two empty files for each rank; existing files are
 * emptied. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int output_dir_open(struct output_dir **out, const char *path, int ranks, struct fault *why);
void output_dir_close(struct output_dir *d); /* takes NULL */

/* stream: 1 or 2. Valid until close. */
struct output_file *output_dir_file(struct output_dir *d, int rank, int stream);

#endif
