/* SPDX-License-Identifier: MIT */
/*
 * ras_answer.h: what NCCL's RAS subsystem (src/ras/client_support.cc of NCCL 2.24 and later) says
 * of a job. One process of the job answers for all of them, in lines of text.
 */
#ifndef LAUNCHER_AGENT_EVIDENCE_RAS_ANSWER_H
#define LAUNCHER_AGENT_EVIDENCE_RAS_ANSWER_H

#include <jansson.h>

/* Asks for the state; RAS itself waits 1 s for processes that do not answer it. */
extern const char ras_answer_question[];

/* The lines of its sections "Errors" and "Warnings", a list that is empty if it has none. NULL: the
 * answer is no such text, or not complete. */
json_t *ras_answer_lines(const char *text);

#endif
