/* SPDX-License-Identifier: MIT */
/* names.h: the names that a job's ranks have published, each with a port's text, for programs that
 * connect parts of a job with each other (MPI_Publish_name). The texts mean nothing here. */
#ifndef COORDINATOR_NAMES_H
#define COORDINATOR_NAMES_H

#include <stdbool.h>

enum { NAMES_MOST = 1024, NAMES_TEXT = 1024 };

struct names {
    struct name *first;
    int count;
};

/* Carries out "publish" (of *port), "unpublish" or "lookup", which sets *port to the name's text,
 * valid until the next call. False: the name exists already, does not exist, or there is no room
 * for it. */
bool names_take(struct names *n, const char *what, const char *service, const char **port);
void names_clear(struct names *n);

#endif
