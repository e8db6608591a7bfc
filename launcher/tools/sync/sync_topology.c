/* SPDX-License-Identifier: MIT */
#include "launcher/tools/sync/sync_topology.h"

#include "common/log.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/backend.h"
#include "launcher/input/plan/topology_stated.h"
#include "launcher/run/rdma_topology/topology_survey.h"

#include <stdlib.h>

const char *const sync_topology_options[] = {"backend",   "rdma-device", "rdma-port",
                                             "gid-index", "mtu",         NULL};

/* Asks all hosts, and tries what they have. */
static int survey_run(json_t **out, struct query_command *c, const char **names, struct fault *why)
{
    const struct topology_config config = {
        .names = names, .count = c->hosts->count, .rdma = c->options->job.rdma};
    struct query_rounds rounds = {.count = TOPOLOGY_ROUNDS,
                                  .question = topology_survey_question,
                                  .take = topology_survey_answer};
    struct topology_survey *survey = NULL;
    int rc = topology_survey_create(&survey, &config, why), culprit = 0;

    rounds.arg = survey;
    if (!rc)
        rc = query_command_ask_rounds(c, &rounds, why);
    for (int i = 0; i < c->hosts->count && !rc; i++)
        if (!c->answers[i].said)
            rc = fault_set(why, ML_ERR_LINK, "host %s: %s", names[i], c->answers[i].error);
    if (!rc && topology_survey_conclude(survey, &culprit, why))
        rc = fault_wrap(why, "host %s", names[culprit]);
    if (!rc)
        *out = json_incref(topology_survey_wiring(survey));
    topology_survey_destroy(survey);
    return rc;
}

static int topology_ask(json_t **out, struct query_command *c, struct fault *why)
{
    const char **names = calloc((size_t)c->hosts->count, sizeof(*names));
    int rc;

    if (!names)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c->hosts->count; i++)
        names[i] = c->hosts->hosts[i].name;
    rc = survey_run(out, c, names, why);
    free(names);
    return rc;
}

int sync_topology_find(json_t **out, struct query_command *c, struct fault *why)
{
    enum backend_choice choice;
    struct fault none;
    int rc = backend_of_hosts(&choice, c->hosts, c->options, why);

    if (rc || (choice != BACKEND_RDMA && choice != BACKEND_AUTO) || c->hosts->count < 2)
        return rc;
    if (c->options->job.secure) {
        log_info("data goes over TCP: --secure is set, and RDMA cannot be encrypted");
        return 0;
    }
    *out = topology_stated(c->plan);
    if (!*out && choice == BACKEND_RDMA && topology_ask(out, c, &none))
        log_warn("data goes over TCP, since no RDMA wiring was found: %s", none.text);
    return 0;
}
