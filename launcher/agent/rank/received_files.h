/* SPDX-License-Identifier: MIT */
/* received_files.h: the copies of programs that the launcher sends with --stage, and of their
 * libraries: JOB_DIR/files/N/NAME, for the user alone, checked by their hashes. They go with the
 * job directory. */
#ifndef LAUNCHER_AGENT_RANK_RECEIVED_FILES_H
#define LAUNCHER_AGENT_RANK_RECEIVED_FILES_H

#include "common/fault.h"
#include "launcher/wire/protocol/job_spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct received_files;

/* Prepares for those files of the job that this host's ranks need, and of the libraries for those
 * that the host lacks. `job` and `dir`, the job directory, must outlive it; `cwds`: the working
 * directory of each app's ranks, or NULL. *out stays NULL if there are none. ML_ERR_SYSTEM: the
 * file system of `dir` has no room for them, or executes nothing; ML_ERR_REFUSED: they need a newer
 * glibc. */
int received_files_open(struct received_files **out, const struct job_spec *job, const char *dir,
                        char *const *cwds, struct fault *why);
void received_files_close(struct received_files *r); /* takes NULL, leaves the files */

/* The indices of the files that the launcher must send, in the order in which it must: of those
 * with the same contents the first. NULL: out of memory. */
json_t *received_files_wanted(const struct received_files *r);
/* All of them have come, or `r` is NULL. */
bool received_files_are_whole(const struct received_files *r);

/* Adds bytes to file `index`, which must be the one that is next, and checks it at its end.
 * ML_ERR_REFUSED: it is another file, or not what was announced; ML_ERR_SYSTEM: it cannot be
 * written. */
int received_files_add(struct received_files *r, uint32_t index, const void *bytes, size_t size,
                       struct fault *why);

/* The path of a file that a rank of this host needs, valid until the close. */
const char *received_files_path(const struct received_files *r, int index);

/* The directory of the libraries of a program, which the caller frees. NULL: none were copied, or
 * `program` is -1. */
char *received_files_libraries(const struct received_files *r, int program);

#endif
