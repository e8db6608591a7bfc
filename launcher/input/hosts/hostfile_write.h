/* SPDX-License-Identifier: MIT */
/* hostfile_write.h: writes a list of hosts as a JSON hostfile, which hostfile_read() reads back. */
#ifndef LAUNCHER_INPUT_HOSTS_HOSTFILE_WRITE_H
#define LAUNCHER_INPUT_HOSTS_HOSTFILE_WRITE_H

#include "launcher/input/hosts/host_list.h"

#include <jansson.h>
#include <stdio.h>

/* Returns the hostfile, the caller's. `wiring` is the matrix [host][host]; NULL: that of the list.
 * addresses[i], maybe "", is written for host i if it states no "ips". */
json_t *hostfile_write_json(const struct host_list *l, const json_t *wiring,
                            const char *const *addresses);

/* Writes one host a line to a new file, which then replaces `path`. ML_ERR_SYSTEM,
 * ML_ERR_MEMORY. */
int hostfile_write(const char *path, const json_t *hostfile, struct fault *why);

/* The same to an open stream, which is not flushed. */
void hostfile_write_print(FILE *to, const json_t *hostfile);

#endif
