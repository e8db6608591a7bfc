/* SPDX-License-Identifier: MIT */
/* answer_metrics.h: answers "metrics": what `mlaunch metrics` turns into Prometheus' text. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_METRICS_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_METRICS_H

#include "launcher/agent/queries/answer_question.h"

/* Sets the members "system", "cpu_s", "devices", and of this machine "version", "jobs" and
 * "orphans"; as answer_list_run() in error. With the question's member "root" the answer is about
 * the machine that is recorded in that folder. */
int answer_metrics_run(const struct answer_question *q, json_t *out, struct fault *why);

#endif
