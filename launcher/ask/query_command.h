/* SPDX-License-Identifier: MIT */
/*
 * query_command.h: what the subcommands that ask hosts share: reading their options, finding the
 * hosts, asking the question, --json.
 */
#ifndef LAUNCHER_ASK_QUERY_COMMAND_H
#define LAUNCHER_ASK_QUERY_COMMAND_H

#include "launcher/ask/query.h"
#include "launcher/base/machine/job_register.h"
#include "launcher/input/options/command_line.h"

#include <limits.h>
#include <stdbool.h>

struct query_command {
    struct command_syntax syntax; /* one word at most is a JOB; query_command_open completes it */
    bool needs_job;
    int timeout_ms;       /* for one host's answer */
    int guests_ms;        /* for those of all guests; 0: 2 s */
    bool with_copier;     /* the hosts need mlaunch-copier too */
    const char *lists[3]; /* the answer's members that are lists of objects; ends with NULL */
    const char *word;     /* a member that is a string, or NULL */
    bool knows_register;  /* reads which mlaunch processes run on this machine */
    bool asks_guests;     /* the same, and asks their hosts too, if the user has named none */
    json_t *more;         /* what --json prints beside the answers, the caller's; or NULL */

    /* Filled in by query_command_open. */
    struct command_line line;
    const char *job;  /* or "" */
    char *chosen_job; /* what query_command_choose() has stored, or NULL */
    bool json;        /* --json was given */
    int verbose;
    bool is_done; /* --help: nothing more to do */
    struct options *options;
    struct plan *plan;             /* has nothing but the hosts and how to start their agents */
    const struct host_list *hosts; /* the plan's */
    int guests; /* how many hosts, at the end of the list, are those of jobs of `here` alone */
    struct register_list here; /* with knows_register; of all jobs, also of ended ones */

    /* Filled in by query_command_ask_rounds; one for each host. */
    struct query_answer *answers;
};

/* The whole of a subcommand that asks all hosts one question. `question` returns what to ask; NULL:
 * the options do not go together, for a reason in `why`. `conclude` prints the answers and returns
 * the exit status. Returns mlaunch's exit status; what went wrong has been printed. */
int query_command_main(struct query_command *c, int argc, char *const *argv,
                       json_t *(*question)(struct query_command *c, struct fault *why),
                       int (*conclude)(const struct query_command *c));

/* The same for one that does more: calls `body` when the hosts are known. That stores the exit
 * status, which is STATUS_OURS before, or fails with a sentence for the user. */
int query_command_run(struct query_command *c, int argc, char *const *argv,
                      int (*body)(void *arg, int *status, struct fault *why), void *arg);

/* The same step by step. argv[0] is the subcommand's own name. ML_ERR_ARGUMENT with a sentence for
 * the user. Close it even after a failure. */
int query_command_open(struct query_command *c, int argc, char *const *argv, struct fault *why);
/* Reads again which mlaunch processes run on this machine; the hosts stay. */
int query_command_look_here(struct query_command *c, struct fault *why);
/* Makes `job` the JOB, as if it had been given. ML_ERR_MEMORY. */
int query_command_choose(struct query_command *c, const char *job, struct fault *why);

/* Asks all hosts one question, which it takes over, in place of what was asked before. */
int query_command_ask(struct query_command *c, json_t *question, struct fault *why);
int query_command_ask_rounds(struct query_command *c, const struct query_rounds *rounds,
                             struct fault *why);

/* How the agents are reached. */
struct query_channel {
    struct channel_config config; /* valid as long as this, options and plan */
    char agent[PATH_MAX];
};
/* `p` is made of `o`. ML_ERR_SYSTEM: the agent of this build is not there. */
int query_command_channel(struct query_channel *out, const struct options *o, const struct plan *p,
                          struct fault *why);
void query_command_close(struct query_command *c);

/* The value of an own option, as command_line_value() returns it. */
const char *query_command_flag(const struct query_command *c, const char *name);

/* Prints all answers as JSON to standard output. */
void query_command_print_json(const struct query_command *c);

/* Reports each host that failed, and returns how many did; a guest does not count. */
int query_command_report_failed(const struct query_command *c);

/* The subcommands, each in a file of its name; struct subcommand says what they take and return. */
int ps_run(int argc, char **argv);
int kill_run(int argc, char **argv);
int clean_run(int argc, char **argv);
int hosts_run(int argc, char **argv);

#endif
