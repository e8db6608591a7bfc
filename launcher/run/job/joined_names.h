/* SPDX-License-Identifier: MIT */
/* joined_names.h: the names of hosts that join, which they say themselves. A host that joins in the
 * place of another one brings its own name. */
#ifndef LAUNCHER_RUN_JOB_JOINED_NAMES_H
#define LAUNCHER_RUN_JOB_JOINED_NAMES_H

struct host_list;
struct joined_name;

/* Those that hosts had before: other parts of mlaunch keep pointers to them. */
struct joined_names {
    struct joined_name *past;
};

/* The host of the list has joined and says that name. One that no hostfile could have is not
 * taken: the host is "3 of 4" then. A name that another host has gets the index behind it, since
 * containers of one image have one name. Without memory the name stays as it is. */
void joined_names_take(struct joined_names *n, struct host_list *list, int index, const char *name);
void joined_names_clear(struct joined_names *n);

#endif
