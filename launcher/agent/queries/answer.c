/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer.h"

#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "launcher/agent/facts/facts.h"
#include "launcher/agent/facts/facts_names.h"
#include "launcher/agent/facts/facts_reach.h"
#include "launcher/agent/queries/answer_clean.h"
#include "launcher/agent/queries/answer_find.h"
#include "launcher/agent/queries/answer_kill.h"
#include "launcher/agent/queries/answer_list.h"
#include "launcher/agent/queries/answer_metrics.h"
#include "launcher/agent/queries/answer_question.h"
#include "launcher/agent/queries/probe_run.h"

#include <string.h>

static int devices_add(const struct answer_question *q, json_t *out, struct fault *why)
{
    return probe_run_devices(q->probe, q->question, out, why);
}

static int wires_add(const struct answer_question *q, json_t *out, struct fault *why)
{
    return probe_run_try(q->probe, q->question, out, why);
}

static int facts_add(const struct answer_question *q, json_t *out, struct fault *why)
{
    facts_gather(q->question, out);
    return json_is_true(json_object_get(q->question, "jobs")) ? answer_list_run(q, out, why) : 0;
}

static int listener_add(const struct answer_question *q, json_t *out, struct fault *why)
{
    (void)q;
    return facts_reach_listen(out, why);
}

static int connections_add(const struct answer_question *q, json_t *out, struct fault *why)
{
    facts_names_resolve(json_object_get(q->question, "names"), out);
    return facts_reach_connect(json_object_get(q->question, "to"), out, why);
}

static const struct answer_kind {
    const char *what;
    int (*answer)(const struct answer_question *q, json_t *out, struct fault *why);
} kinds[] = {{"list", answer_list_run},    {"kill", answer_kill_run},
             {"clean", answer_clean_run},  {"find", answer_find_run},
             {"devices", devices_add},     {"wires", wires_add},
             {"facts", facts_add},         {"listen", listener_add},
             {"connect", connections_add}, {"metrics", answer_metrics_run}};

json_t *answer_make(const char *text, size_t size, struct probe_run *probe)
{
    json_t *root = parsed_json(text, size, 0, NULL), *out = json_object();
    const char *what = "";
    struct answer_question q = {
        .base = "/tmp", .job = "", .host = -1, .question = root, .probe = probe};
    struct fault why = {0};
    int stacks = 0, dry_run = 0, counters = 0, brief = 0, soft = 0,
        debug = 1; /* jansson's "b" is an int */
    int rc = ML_ERR_REFUSED;

    if (json_unpack(root, "{ss s?s s?i s?b s?b s?b s?b s?b s?b s?i}", "what", &what, "job", &q.job,
                    "host", &q.host, "stacks", &stacks, "dry_run", &dry_run, "counters", &counters,
                    "brief", &brief, "soft", &soft, "debug", &debug, "stacks_ms", &q.stacks_ms))
        what = "";
    q.stacks = stacks;
    q.dry_run = dry_run;
    q.counters = counters;
    q.is_brief = brief;
    q.soft = soft;
    q.may_debug = debug;
    fault_set(&why, rc, "the launcher's question is malformed");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].what, what) == 0)
            rc = kinds[i].answer(&q, out, &why);
    }
    if (rc)
        json_object_set_new(out, "error", text_json(why.text));
    if (json_object_get(root, "ask"))
        json_object_set(out, "ask", json_object_get(root, "ask"));
    json_decref(root);
    return out;
}
