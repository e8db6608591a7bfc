/* SPDX-License-Identifier: MIT */
/* answer_clean_files.h: removes what dead jobs have left in file systems. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_CLEAN_FILES_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_CLEAN_FILES_H

#include "launcher/agent/queries/answer_question.h"
#include "launcher/agent/queries/job_survey.h"

/* Removes segments, control groups, directories and partial copies; see answer_clean.h. A job in
 * `left`, which still has processes, keeps its directory, so that it is found again. */
void answer_clean_files_sweep(const struct job_survey *s, const struct answer_question *q,
                              json_t *removed, json_t *left);

#endif
