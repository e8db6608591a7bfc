/* SPDX-License-Identifier: MIT */
/* hostfile.h: files that list hosts, as JSON (hostfile_json.c) or text (hostfile_text.c):
 * hostfile(5). */
#ifndef LAUNCHER_INPUT_HOSTS_HOSTFILE_H
#define LAUNCHER_INPUT_HOSTS_HOSTFILE_H

#include "launcher/input/hosts/host_list.h"

#include <stddef.h>

/* Reads and validates a hostfile. Each message names the file, the host and the entry at fault.
 * *out is set on success only. ML_ERR_ARGUMENT, ML_ERR_MEMORY. */
int hostfile_read(struct host_list **out, const char *path, struct fault *why);

/* The same for text that has been read already: `size` bytes and a final 0; `path` is its name for
 * messages. It is JSON if the first byte that is not blank is '[' or '{'. */
int hostfile_parse(struct host_list **out, const char *path, const char *text, size_t size,
                   struct fault *why);

/* One of the two formats. */
int hostfile_json_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why);
int hostfile_text_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why);

#endif
