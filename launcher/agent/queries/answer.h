/* SPDX-License-Identifier: MIT */
/*
 * answer.h: answers LAUNCH_QUERY: what `mlaunch ps`, `kill`, `clean` and `hosts` ask a host, and
 * what mlaunch asks before a job starts (doc/protocol.md, "Questions").
 */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct probe_run;

/* The payload of ANSWER to the payload `text` of QUERY; a failure is its member "error". Takes
 * seconds if processes have to end. NULL: out of memory. The caller owns the result. */
json_t *answer_make(const char *text, size_t size, struct probe_run *probe);

#endif
