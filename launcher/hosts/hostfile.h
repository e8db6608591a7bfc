/* SPDX-License-Identifier: MIT */
/* hostfile.h: what the readers of hosts (-H, both hostfile formats, allocations) share. */
#ifndef LAUNCHER_HOSTS_HOSTFILE_H
#define LAUNCHER_HOSTS_HOSTFILE_H

#include "launcher/hosts/host_list.h"

#include <stddef.h>

enum {
    HOSTS_LIMIT = 65536,   /* in one list */
    SLOTS_LIMIT = 1 << 20, /* of one host */
};

/* An empty list. `source` is copied. */
int host_list_create(struct host_list **out, const char *source, struct fault *why);

/* Appends `h`, whose contents then belong to the list; on failure they stay the caller's. Fills in
 * is_local and gives empty lists to ips and env that are NULL. */
int host_list_add(struct host_list *l, struct host *h, struct fault *why);
void host_clear(struct host *h);

/* A host that the list has twice becomes one with the slots of both; two different rows of wiring,
 * env or cwd are an error. */
int host_list_merge(struct host_list *l, struct fault *why);

/* "[user@]host[:slots]" as -H and text hostfiles have it. */
int host_parse(struct host *out, const char *text, struct fault *why);

/* The two formats: `text` is the whole file, `path` its name for messages. */
int hostfile_json_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why);
int hostfile_text_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why);

/* Either, by the first byte that is not blank. What hostfile_read does once it has the bytes. */
int hostfile_parse(struct host_list **out, const char *path, const char *text, size_t size,
                   struct fault *why);

#endif
