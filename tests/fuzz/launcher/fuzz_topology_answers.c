/* SPDX-License-Identifier: MIT */
/* fuzz_topology_answers.c: any bytes as the answers of two hosts' probes, {"devices": [answer],
 * "tries": [answer], "stated": bool}: what is refused has a sentence, and of what is accepted every
 * index is in range and a wiring or a sentence follows. */
#include "launcher/run/rdma_topology/topology_survey.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 2 };

static void check_fault(const struct fault *why)
{
    if (why->code >= 0 || !why->text[0])
        abort();
}

static void check_try(const struct topology_survey *s, const struct topology_device *d,
                      const struct topology_try *t)
{
    const struct topology_host *peer;

    if (t->host < 0 || t->host >= HOSTS)
        abort();
    peer = topology_survey_host(s, t->host);
    if (t->device < 0 || t->device >= peer->device_count || !topology_answers_port(d, t->port) ||
        !topology_answers_port(&peer->devices[t->device], t->peer_port))
        abort();
}

static void check_host(const struct topology_survey *s, int host)
{
    const struct topology_host *h = topology_survey_host(s, host);

    for (int i = 0; i < h->device_count; i++) {
        const struct topology_device *d = &h->devices[i];

        if (!d->name[0] || strlen(d->name) >= sizeof(d->name))
            abort();
        for (int k = 0; k < d->port_count; k++)
            if (topology_answers_port(d, d->ports[k].number) != &d->ports[k] ||
                !d->ports[k].link_layer || d->ports[k].active_mtu < 0)
                abort();
        for (int k = 0; k < d->try_count; k++)
            check_try(s, d, &d->tries[k]);
    }
}

static void check_conclusion(struct topology_survey *s)
{
    struct fault why = {0};
    int host = -1;

    if (topology_survey_conclude(s, &host, &why)) {
        check_fault(&why);
        if (host < 0 || host >= HOSTS)
            abort();
    } else {
        json_t *there = json_array_get(json_array_get(topology_survey_wiring(s), 0), 1);
        json_t *back = json_array_get(json_array_get(topology_survey_wiring(s), 1), 0);

        if (json_array_size(there) == 0 || json_array_size(there) != json_array_size(back))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[HOSTS] = {"a", "b"};
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    bool is_stated = json_is_true(json_object_get(root, "stated"));
    struct topology_config config = {
        .names = names,
        .count = HOSTS,
        .source = "fuzz",
        .local_net = true,
        .rdma.gid_index = -1,
        .stated = is_stated ? json_pack("[[n[ss]][[ss]n]]", "m", "k:2", "m:1", "k") : NULL};
    static const char *const rounds[TOPOLOGY_ROUNDS] = {"devices", "tries"};
    struct topology_survey *s;
    struct fault why = {0};
    bool good = root && topology_survey_create(&s, &config, &why) == 0;

    json_decref(config.stated);
    if (!good) {
        json_decref(root);
        return 0;
    }
    for (int round = 0; round < TOPOLOGY_ROUNDS && good; round++)
        for (int i = 0; i < HOSTS && good; i++) {
            const json_t *answer = json_array_get(json_object_get(root, rounds[round]), (size_t)i);

            good = topology_survey_answer(s, i, (enum topology_round)round, answer, &why) == 0;
            if (!good)
                check_fault(&why);
        }
    for (int i = 0; i < HOSTS; i++)
        check_host(s, i);
    if (good)
        check_conclusion(s);
    topology_survey_destroy(s);
    json_decref(root);
    return 0;
}
