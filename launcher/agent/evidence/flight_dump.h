/* SPDX-License-Identifier: MIT */
/*
 * flight_dump.h: a process of torch is asked for the dump of its flight recorder, by its named pipe
 * (TORCH_NCCL_DEBUG_INFO_PIPE_FILE), and writes it to a file. It looks at the pipe once a second.
 */
#ifndef LAUNCHER_AGENT_EVIDENCE_FLIGHT_DUMP_H
#define LAUNCHER_AGENT_EVIDENCE_FLIGHT_DUMP_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { FLIGHT_DUMP_FILES = 2 }; /* where it may write, by its version */

struct flight_dump {
    char files[FLIGHT_DUMP_FILES][PATH_MAX];
    struct stat seen[FLIGHT_DUMP_FILES]; /* as they were when they were last looked at */
    int count;
    json_t *dump; /* once it has been read; owned */
};

/* Asks the process of rank `rank`, in whose environment are `variables`. False: it reads no such
 * pipe. */
bool flight_dump_ask(struct flight_dump *d, char *const *variables, pid_t pid, int rank);
/* True once the dump has been read; looks only. A file counts if it has changed since it was asked
 * for, is whole, and belongs to this user. */
bool flight_dump_look(struct flight_dump *d);
void flight_dump_close(struct flight_dump *d);

#endif
