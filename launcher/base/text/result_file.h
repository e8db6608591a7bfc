/* SPDX-License-Identifier: MIT */
/* result_file.h: a file of results, a picture or a tuning, which appears whole or not at all. */
#ifndef LAUNCHER_BASE_TEXT_RESULT_FILE_H
#define LAUNCHER_BASE_TEXT_RESULT_FILE_H

#include "common/fault.h"

#include <limits.h>
#include <stdio.h>

struct result_file {
    const char *option, *path; /* not owned; the option that named the path begins messages */
    char draft[PATH_MAX];      /* beside it */
    FILE *file;                /* the draft, for writing */
};

/* Checks, before anything is measured, that a file can be made at `path`. ML_ERR_ARGUMENT,
 * ML_ERR_SYSTEM. */
int result_file_check(const char *option, const char *path, struct fault *why);

/* ML_ERR_ARGUMENT, ML_ERR_SYSTEM. */
int result_file_open(struct result_file *out, const char *option, const char *path,
                     struct fault *why);

/* Replaces a file of that name by what was written. ML_ERR_SYSTEM: nothing has changed. */
int result_file_close(struct result_file *f, struct fault *why);

#endif
