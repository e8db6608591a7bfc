/* SPDX-License-Identifier: MIT */
/* foreign.h: the one table of the options of mpirun, Hydra, srun, torchrun and mlx.launch that
 * mlaunch does not have under that name: taken where one of ours means the same, or answered with a
 * sentence that names ours. */
#ifndef LAUNCHER_INPUT_OPTIONS_FOREIGN_H
#define LAUNCHER_INPUT_OPTIONS_FOREIGN_H

#include "common/fault.h"

#include <stdbool.h>

enum foreign_argument {
    FOREIGN_NONE,
    FOREIGN_ONE,
    FOREIGN_MAYBE, /* only behind "=" */
    FOREIGN_PAIR,  /* "NAME VALUE", or "NAME=VALUE" in one word */
    FOREIGN_LIST,  /* "A,B": our option once for each */
};

struct foreign {
    const char *name; /* without its dashes, and with '-' for '_' */
    const char *of;   /* the program whose option it is */
    enum foreign_argument argument;
    const char *option; /* the name of ours that means the same; or NULL */
    const char *value;  /* what that option gets instead of the argument; or NULL */
    /* It is refused with these words, which name ours. NULL, with `option` also NULL: it asks for
     * what mlaunch does anyway. */
    const char *hint;
    bool is_for_all; /* applies to each of several programs */
    /* Values, patterns of fnmatch(3) with blanks between them, which are taken instead of refused:
     * they ask for one host, and for nothing else that mlaunch would not do anyway. */
    const char *values;
};

/* Ends with a NULL name. */
extern const struct foreign foreign_table[];

/* Finds a name that is `length` bytes long, '_' being '-'. NULL: there is none. */
const struct foreign *foreign_find(const char *name, size_t length);

/* Whether the value is one of those that f->values lists. */
bool foreign_takes(const struct foreign *f, const char *value);

/* Refuses a value of --output that means something to mpirun or srun: 0 for all others. */
int foreign_refuse_output(const char *value, struct fault *why);

/* Returns what to write instead of a --backend that only MLX or PyTorch has, or NULL. */
const char *foreign_backend_hint(const char *value);

/* Sets the message for a word (with its dashes) that is refused; returns ML_ERR_ARGUMENT. */
int foreign_refuse(const struct foreign *f, const char *word, struct fault *why);

#endif
