/* SPDX-License-Identifier: MIT */
/* fact_survey.h: asks all hosts for their facts. */
#ifndef LAUNCHER_TOOLS_VERIFY_FACT_SURVEY_H
#define LAUNCHER_TOOLS_VERIFY_FACT_SURVEY_H

#include "launcher/ask/query_command.h"
#include "launcher/tools/verify/host_facts.h"

struct fact_survey {
    struct query_command *c;
    const char *sysfs; /* a folder with a folder of recorded files for each host's name; or NULL */
    const char *program;               /* to be compared; or NULL */
    const char *cwd;                   /* with it, the caller's directory, or "" */
    const struct string_list *modules; /* Python's, to be compared; or NULL */
    bool with_jobs;
    bool with_files; /* hosts try to make files where jobs do */

    /* Filled in; one for each host. */
    struct host_facts *hosts;
    double *clock_ahead; /* seconds by which its clock is ahead of ours at least; below 0: behind */
    double *asked_at;
    double opened_at; /* seconds since 1970, as asked_at */
};

/* ML_ERR_MEMORY. */
int fact_survey_open(struct fact_survey *s, struct fault *why);
void fact_survey_close(struct fact_survey *s); /* takes one that was never opened */

/* These fit into struct query_rounds (query.h), for one round of them; survey: the survey. */
json_t *fact_survey_question(void *survey, int host, int round);
int fact_survey_take(void *survey, int host, int round, const json_t *said, struct fault *why);

/* Asks for the facts alone, in place of what was asked before. */
int fact_survey_ask(struct fact_survey *s, struct fault *why);

#endif
