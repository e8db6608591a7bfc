/* SPDX-License-Identifier: MIT */
#include "launcher/agent/answer/answer.h"

#include "common/text_json.h"
#include "launcher/agent/answer/answer_clean.h"
#include "launcher/agent/answer/answer_kill.h"
#include "launcher/agent/answer/answer_list.h"
#include "launcher/agent/answer/probe_run.h"

#include <stdlib.h>
#include <string.h>

static int devices_answer(const struct query *q, json_t *out, struct fault *why)
{
    return wires_devices(q->wires, q->question, out, why);
}

static int wires_answer(const struct query *q, json_t *out, struct fault *why)
{
    return wires_try(q->wires, q->question, out, why);
}

static const struct question {
    const char *what;
    int (*answer)(const struct query *q, json_t *out, struct fault *why);
} questions[] = {{"list", list_answer},
                 {"kill", kill_answer},
                 {"clean", clean_answer},
                 {"devices", devices_answer},
                 {"wires", wires_answer}};

json_t *query_answer(const char *text, size_t size, struct wires *wires)
{
    json_t *root = json_loadb(text, size, 0, NULL), *out = json_object();
    const char *what = "";
    struct query q = {.base = "/tmp", .job = "", .question = root, .wires = wires};
    struct fault why = {0};
    int rc = ML_ERR_REFUSED;

    if (json_unpack(root, "{ss s?s s?b s?b}", "what", &what, "job", &q.job, "stacks", &q.stacks,
                    "dry_run", &q.dry_run))
        what = "";
    fault_set(&why, rc, "the launcher's question is malformed");
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
        if (strcmp(questions[i].what, what) == 0)
            rc = questions[i].answer(&q, out, &why);
    }
    if (rc)
        json_object_set_new(out, "error", text_json(why.text));
    json_decref(root);
    return out;
}
