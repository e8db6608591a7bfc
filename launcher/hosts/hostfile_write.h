/* SPDX-License-Identifier: MIT */
/* hostfile_write.h: a list of hosts as a JSON hostfile, which hostfile_read takes again. */
#ifndef LAUNCHER_HOSTS_HOSTFILE_WRITE_H
#define LAUNCHER_HOSTS_HOSTFILE_WRITE_H

#include "launcher/hosts/host_list.h"

#include <jansson.h>
#include <stdio.h>

/* `wiring`: [host][host], or NULL: as the list has it. addresses[i]: where host i was reached, for
 * those that state no "ips"; or "". */
json_t *hostfile_to_json(const struct host_list *l, const json_t *wiring,
                         const char *const *addresses);

/* One host a line. Replaces the file when all is written. ML_ERR_SYSTEM. */
int hostfile_write(const char *path, const json_t *hostfile, struct fault *why);
void hostfile_print(FILE *to, const json_t *hostfile);

#endif
