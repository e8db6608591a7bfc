/* SPDX-License-Identifier: MIT */
/*
 * query_command.h: what the subcommands that ask hosts have in common: their options, the hosts, the
 * question, --json.
 */
#ifndef LAUNCHER_QUERY_QUERY_COMMAND_H
#define LAUNCHER_QUERY_QUERY_COMMAND_H

#include "launcher/query/query.h"

#include <stdbool.h>

enum job_word { JOB_WORD_NONE, JOB_WORD_OPTIONAL, JOB_WORD_NEEDED };

/* What a subcommand understands besides the options that all have; rows of --help, NULL-terminated. */
struct query_flag {
    const char *name, *help;
    bool *value;
    char letter;          /* or 0 */
    const char *argument; /* NULL: none; else: */
    const char **text;
};

struct query_command {
    const char *name;
    const char *usage;        /* first lines of --help */
    enum job_word job_word;   /* whether JOB is one of its words */
    struct query_flag *flags; /* ends with a NULL name */
    int timeout_ms;           /* for one host's answer */

    /* Filled in by query_command_open. */
    const char *job; /* or "" */
    bool json;
    int verbose;
    bool is_done; /* --help: nothing more to do */
    struct options *options;
    struct plan *plan;             /* of which only the hosts count */
    const struct host_list *hosts; /* the plan's */

    /* By query_command_ask. */
    struct query_answer *answers;
};

/* argv[0] is the subcommand's own name. ML_ERR_ARGUMENT in words. */
int query_command_open(struct query_command *c, int argc, char *const *argv, struct fault *why);
void query_command_close(struct query_command *c);

/* Asks all hosts; `question` is taken over. */
int query_command_ask(struct query_command *c, json_t *question, struct fault *why);
/* The same with several questions (query.h). */
int query_command_ask_rounds(struct query_command *c, const struct query_rounds *rounds,
                             struct fault *why);

/* With --json prints all answers. */
void query_command_print_json(const struct query_command *c);

/* Tells of the hosts that failed: how many. */
int query_command_report_failed(const struct query_command *c);

/* A string of an answer, for people: no control characters; "" if there is none. The text is valid
 * as long as the answer. */
const char *query_string(json_t *object, const char *key);

/* The subcommands, each in a file of its name; struct subcommand says what they take and return. */
int ps_run(int argc, char **argv);
int kill_run(int argc, char **argv);
int clean_run(int argc, char **argv);
int hosts_run(int argc, char **argv);

#endif
