/* SPDX-License-Identifier: MIT */
/* pmi_barrier.c: the ranks of all hosts wait for each other, and learn what was put before. */
#include "launcher/agent/mpi/pmi_state.h"
#include "launcher/agent/mpi/pmi_store.h"

/* Once the pairs of all hosts are known. */
static void barrier_leave(struct pmi *p)
{
    p->waiting = 0;
    p->is_exchanging = false;
    for (int i = 0; i < p->client_count; i++) {
        struct pmi_client *c = &p->clients[i];

        if (c->wait != PMI_WAITS_FOR_BARRIER)
            continue;
        c->wait = PMI_WAITS_FOR_NOTHING;
        pmi_client_send(c, "cmd=barrier_out");
    }
}

int pmi_barrier_end(struct pmi *p, uint32_t number, const char *pairs, size_t size,
                    struct fault *why)
{
    int rc;

    if (!p->is_exchanging || number != p->barriers)
        return 0;
    rc = pmi_store_merge(p->store, pairs, size, why);
    if (!rc)
        barrier_leave(p);
    return rc;
}

void pmi_barrier_check(struct pmi *p)
{
    for (int i = 0; i < p->client_count && p->waiting > 0; i++) {
        struct pmi_client *c = &p->clients[i];

        if (c->has_ended && c->state != PMI_DEAF && c->wait != PMI_WAITS_FOR_BARRIER) {
            pmi_client_fail(c, "has ended, and other ranks wait for it in %s",
                            c->state == PMI_SILENT ? "MPI_Init, which it has not called" : "MPI");
            return;
        }
    }
}

void pmi_barrier_enter(struct pmi_client *c)
{
    struct pmi *p = c->pmi;
    struct fault why;
    const char *pairs;
    size_t size;

    c->wait = PMI_WAITS_FOR_BARRIER;
    if (++p->waiting < p->client_count) {
        pmi_barrier_check(p);
        return;
    }
    p->barriers++;
    p->is_exchanging = true;
    pairs = pmi_store_fresh(p->store, &size);
    if (p->hosts > 1)
        p->events.on_exchange(p->barriers, pairs, size, p->events.arg);
    else if (pmi_barrier_end(p, p->barriers, "", 0, &why)) /* all pairs are known here */
        pmi_client_fail(c, "cannot leave a barrier of MPI: %s", why.text);
}
