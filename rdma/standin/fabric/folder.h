/* SPDX-License-Identifier: MIT */
/* folder.h: small text files and folders, which readers see whole or not at all. Errors are
 * ML_ERR_SYSTEM, with the path in the sentence. */
#ifndef RDMA_STANDIN_FABRIC_FOLDER_H
#define RDMA_STANDIN_FABRIC_FOLDER_H

#include "common/fault.h"

/* The path of something in a folder that is being filled, and what has failed first there. */
struct folder {
    const char *path;
    int rc;
    struct fault *why;
};

/* ML_ERR_ARGUMENT: it is not there, or not empty. */
int folder_check_empty(const char *path, struct fault *why);

/* Makes a folder in f->path, and all that are missing above it. These do nothing once f->rc is
 * set. */
void folder_make(struct folder *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the text and a newline into the file `name`, in place of what was there. */
void folder_write(struct folder *f, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void folder_remove(struct folder *f, const char *name); /* a file that may not be there */

/* Removes all that is in the folder, as far as possible. */
void folder_empty(const char *path);

#endif
