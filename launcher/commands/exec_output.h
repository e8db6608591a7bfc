/* SPDX-License-Identifier: MIT */
/*
 * exec_output.h: what one command has written on many hosts. Equal texts are printed once, each
 * line behind the names of their hosts: "[a,c-h] 6.1.0-28". Used by one thread.
 */
#ifndef LAUNCHER_COMMANDS_EXEC_OUTPUT_H
#define LAUNCHER_COMMANDS_EXEC_OUTPUT_H

#include "launcher/run/stdio/output.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of a stream that are held back, and at most with for_json. */
enum { EXEC_HELD_MAX = 1 << 20, EXEC_JSON_MAX = 64 << 20 };

struct exec_output;

/* The names stay the caller's. With one host its output is neither held back nor labelled;
 * for_json: all of it is held back. NULL: out of memory. */
struct exec_output *exec_output_create(const char *const *names, int hosts, bool for_json);
void exec_output_destroy(struct exec_output *o); /* takes NULL */

/* What the job of these hosts, one rank each, is to be run with; valid as long as `o`. A stream
 * that grows beyond EXEC_HELD_MAX is written out at once and from then on. More than EXEC_JSON_MAX
 * ends the job. */
struct output_sink exec_output_sink(struct exec_output *o);

/* The exit status of the host's command. */
void exec_output_end(struct exec_output *o, int host, int status);

/* All hosts have ended: prints what is held back, standard output first, and which hosts ended
 * with which status, on standard error. */
int exec_output_print(struct exec_output *o, struct fault *why);

/* The same as JSON: a list of objects with host, status, stdout and stderr. NULL: out of
 * memory. */
json_t *exec_output_json(const struct exec_output *o);

/* The largest status. */
int exec_output_status(const struct exec_output *o);

#endif
