/* SPDX-License-Identifier: MIT */
/* register_entry.h: what the register (job_register.h) says of one mlaunch: its job, its hosts and
 * how they are reached, and how far it is. */
#ifndef LAUNCHER_BASE_MACHINE_REGISTER_ENTRY_H
#define LAUNCHER_BASE_MACHINE_REGISTER_ENTRY_H

#include "common/net/job_file.h"

enum register_state {
    REGISTER_STARTING,
    REGISTER_RUNNING,
    REGISTER_RESTARTING, /* between two runs, or until all ranks of the next one have started */
    REGISTER_ENDING,
    REGISTER_STATES,
};

struct register_entry {
    /* job, name, hosts, size, backend, grace_ms, command, started_at, pid_namespace, boot and node.
     * agent_pid and agent_start_time are those of mlaunch itself; the rest is empty. */
    struct job_file file;
    enum register_state state;
    int restart, restarts; /* "restarting 4 of 10" */
    /* [{"name", "user", "port"}]: the hosts of the job, spare ones too; user may be "", port 0. */
    json_t *hosts;
    /* {"ssh_config", "agent", "agent_command"}: the options of those names, or "". */
    json_t *reach;
    /* NULL, or {"path", "hosts": [{"name", "index"}]}: the socket by which hosts that have joined
     * are asked (question_door.h). */
    json_t *door;
};

/* The text of an entry, for the caller to free; NULL: out of memory. */
char *register_entry_text(const struct register_entry *e);

/* Reads one from JSON that may be anything; `name` is its file's, for sentences. On success the
 * caller clears *out. ML_ERR_SYSTEM: it is malformed. */
int register_entry_take(struct register_entry *out, const char *name, const json_t *object,
                        struct fault *why);
void register_entry_clear(struct register_entry *e); /* takes an empty one */

const char *register_entry_state_word(enum register_state state);
/* "restarting 4 of 10", in `out`. */
enum { REGISTER_STATE_TEXT = 48 };
void register_entry_state(const struct register_entry *e, char out[REGISTER_STATE_TEXT]);

#endif
