/* SPDX-License-Identifier: MIT */
/* verify_hosts.c: the questions to all hosts, and what their answers say; no traffic. */
#include "launcher/tools/verify/verify_groups.h"

#include <stdlib.h>

enum { PORT_MOST = 65535 };

enum verify_round { ROUND_FACTS, ROUND_LISTEN, ROUND_CONNECT, ROUNDS };

static json_t *round_question(void *arg, int host, int round)
{
    struct verify *v = arg;

    return round == ROUND_FACTS    ? fact_survey_question(&v->survey, host, round)
           : round == ROUND_LISTEN ? json_pack("{ss}", "what", "listen")
                                   : verify_reach_question(v, host);
}

static int port_take(struct verify *v, int host, const json_t *said, struct fault *why)
{
    const json_t *port = json_object_get(said, "port");

    if (!json_is_integer(port) || json_integer_value(port) < 1 ||
        json_integer_value(port) > PORT_MOST)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER: \"port\"");
    v->ports[host] = (int)json_integer_value(port);
    return 0;
}

static int round_take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    struct verify *v = arg;

    return round == ROUND_FACTS    ? fact_survey_take(&v->survey, host, round, said, why)
           : round == ROUND_LISTEN ? port_take(v, host, said, why)
                                   : verify_reach_take(v, host, said, why);
}

int verify_hosts_ask(struct verify *v, struct fault *why)
{
    const struct query_rounds rounds = {.count = v->survey.sysfs ? 1 : ROUNDS,
                                        .goes_on = true,
                                        .question = round_question,
                                        .take = round_take,
                                        .arg = v};

    query_free(v->c.answers, v->c.hosts->count); /* the answers that leftovers_fix() got */
    v->c.answers = NULL;
    return query_command_ask_rounds(&v->c, &rounds, why);
}

void verify_hosts_judge(struct verify *v)
{
    verify_reach(v);
    if (!v->survey.sysfs)
        verify_limits(v);
    verify_same(v);
    verify_device(v);
    if (!v->survey.sysfs)
        verify_left(v);
}

int verify_hosts_open(struct verify *v, struct fault *why)
{
    size_t count = (size_t)v->c.hosts->count;

    v->survey.c = &v->c;
    v->survey.with_files = true;
    v->ports = calloc(count, sizeof(*v->ports));
    v->failed = calloc(count, sizeof(json_t *));
    v->rtt_us = calloc(count, sizeof(json_t *));
    v->resolved = calloc(count, sizeof(json_t *));
    if (!v->ports || !v->failed || !v->rtt_us || !v->resolved)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return fact_survey_open(&v->survey, why);
}

static void answers_free(const struct verify *v, json_t **answers)
{
    for (int i = 0; answers && i < v->c.hosts->count; i++)
        json_decref(answers[i]);
    free(answers);
}

void verify_hosts_close(struct verify *v)
{
    answers_free(v, v->failed);
    answers_free(v, v->rtt_us);
    answers_free(v, v->resolved);
    json_decref(v->pairs);
    free(v->cwd);
    free(v->ports);
    finding_clear(&v->findings);
    fact_survey_close(&v->survey);
}
