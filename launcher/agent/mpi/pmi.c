/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmi.h"

#include "launcher/agent/mpi/pmi_mapping.h"
#include "launcher/agent/mpi/pmi_state.h"
#include "launcher/agent/mpi/pmi_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Together the pairs of a job fit into one frame; MPICH puts about 1 KiB a rank. */
    PUT_JOB = 48 << 20,
    PUT_MOST = 1 << 20,
    PUT_LEAST = 4 << 10,
    MAPPING_MOST = 600, /* MPICH 4 keeps 674 bytes of a value */
};

static size_t put_limit_of(int size)
{
    int limit = PUT_JOB / size;

    return (size_t)(limit > PUT_MOST ? PUT_MOST : limit < PUT_LEAST ? PUT_LEAST : limit);
}

int pmi_open(struct pmi **out, struct event_base *base, const struct pmi_config *config,
             const struct pmi_events *events, struct fault *why)
{
    struct pmi *p = calloc(1, sizeof(*p));
    int rc = 0;

    if (p)
        p->clients = calloc((size_t)config->rank_count, sizeof(*p->clients));
    if (!p || !p->clients)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = pmi_store_create(&p->store, why);
    if (rc) {
        pmi_close(p);
        return rc;
    }
    p->base = base;
    p->events = *events;
    p->on_line = pmi_command_take;
    p->size = config->size;
    p->hosts = config->hosts;
    p->is_elastic = config->is_elastic;
    p->put_limit = put_limit_of(config->size);
    /* Ranks of the run before may have left files that are named by it. */
    snprintf(p->name, sizeof(p->name), "%.200s-%d", config->job, config->restart);
    if (!pmi_mapping_format(p->mapping, MAPPING_MOST, config->host_of, config->size))
        p->mapping[0] = '\0';
    p->client_count = config->rank_count;
    for (int i = 0; i < p->client_count; i++)
        p->clients[i] = (struct pmi_client){
            .pmi = p, .index = i, .rank = config->ranks[i], .app = config->apps[i], .fd = -1};
    *out = p;
    return 0;
}

void pmi_close(struct pmi *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->client_count; i++)
        pmi_client_close(&p->clients[i]);
    pmi_store_destroy(p->store);
    free(p->clients);
    free(p);
}

int pmi_rank_open(struct pmi *p, int index, int *fd, struct fault *why)
{
    return pmi_client_open(&p->clients[index], fd, why);
}

int pmi_exchanged(struct pmi *p, uint32_t number, const char *pairs, size_t size, struct fault *why)
{
    return pmi_barrier_end(p, number, pairs, size, why);
}

void pmi_rank_ended(struct pmi *p, int index, bool has_succeeded)
{
    struct pmi_client *c = &p->clients[index];

    pmi_client_read_rest(c);
    c->has_ended = true;
    if (c->state == PMI_IN_USE && has_succeeded)
        pmi_client_fail(c, "exited with status 0 without calling MPI_Finalize");
    pmi_client_close(c);
    pmi_barrier_check(p);
}

bool pmi_rank_is_silent(const struct pmi *p, int index)
{
    return p->clients[index].state == PMI_SILENT && !p->clients[index].has_pmix;
}

void pmi_pmix(struct pmi *p, int index, const char *const *variables)
{
    struct pmi_client *c = index >= 0 && index < p->client_count ? &p->clients[index] : NULL;

    if (c && c->wait == PMI_WAITS_FOR_PMIX)
        pmi_command_answer_pmix(c, variables);
}

void pmi_named(struct pmi *p, int index, bool is_done, const char *port)
{
    struct pmi_client *c = index >= 0 && index < p->client_count ? &p->clients[index] : NULL;

    if (!c || c->wait != PMI_WAITS_FOR_NAME)
        return;
    pmi_command_answer_name(c, is_done, port);
}
