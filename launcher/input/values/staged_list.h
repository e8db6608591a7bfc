/* SPDX-License-Identifier: MIT */
/* staged_list.h: all files that the hosts of a job get from this machine. */
#ifndef LAUNCHER_INPUT_VALUES_STAGED_LIST_H
#define LAUNCHER_INPUT_VALUES_STAGED_LIST_H

#include "common/fault.h"
#include "launcher/input/values/staged_file.h"

#include <stdbool.h>

struct staged_list {
    struct staged_file *files;
    int count;
    bool is_hashed; /* set by the user of the list: the files will be copied, and not only named */
};

/* Finds the program `name` as a rank on this machine would, with the working directory `cwd` (NULL:
 * this one), adds its file unless it is there, and stores its index in *index. ML_ERR_REFUSED:
 * there is no such program, or it cannot be read or executed. */
int staged_list_add_program(struct staged_list *l, const char *name, const char *cwd, int *index,
                            struct fault *why);

/* Adds the libraries that a program of the list needs (loader_closure.h), unless it has been done,
 * and describes both to the hosts, which take those that they lack. A script needs none. Warns of
 * each that is not found. `library_path`: LD_LIBRARY_PATH, or ""; `cwd` as above. */
int staged_list_add_libraries(struct staged_list *l, int program, const char *library_path,
                              const char *cwd, struct fault *why);

void staged_list_clear(struct staged_list *l);

#endif
