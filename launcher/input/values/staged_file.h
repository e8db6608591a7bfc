/* SPDX-License-Identifier: MIT */
/* staged_file.h: a file of this machine that hosts get a copy of. It stays open, so that all hosts
 * get the same file even if another takes its name. */
#ifndef LAUNCHER_INPUT_VALUES_STAGED_FILE_H
#define LAUNCHER_INPUT_VALUES_STAGED_FILE_H

#include "common/fault.h"
#include "launcher/base/loader/elf_file.h"
#include "launcher/base/process/job_copy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct staged_file {
    char *path;       /* owned */
    const char *name; /* the last part of `path` */
    int fd;
    uint64_t size;               /* bytes */
    uint8_t hash[JOB_COPY_HASH]; /* its contents' */
    bool is_executable;
    int beside;           /* index of the program of which it is a library; or -1 */
    struct elf_file *elf; /* owned: what it needs (--stage-libs); or NULL */
};

/* Opens the regular file `path`, and reads it once for its hash if `is_hashed`. ML_ERR_REFUSED
 * names it, and says why it cannot be copied. */
int staged_file_open(struct staged_file *out, const char *path, bool is_hashed, struct fault *why);
void staged_file_close(struct staged_file *f); /* takes one that is zeroed */

/* Reads `size` bytes at the place `at`, which are within the file. ML_ERR_SYSTEM: it cannot be
 * read, or has become shorter. */
int staged_file_read(const struct staged_file *f, void *bytes, size_t size, uint64_t at,
                     struct fault *why);

#endif
