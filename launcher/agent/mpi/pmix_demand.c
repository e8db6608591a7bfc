/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmix_demand.h"

#include "launcher/agent/mpi/pmix_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MOST = 64 << 20 };

struct kept {
    struct kept *next;
    int host;
    size_t size;
    char bytes[];
};

enum wait { WAIT_NONE, WAIT_PERHAPS, WAIT_CERTAIN };

struct pmix_demand {
    bool is_begun, is_ready;
    char failure[512];
    enum wait *waits; /* per rank */
    int ranks;
    struct kept *first, **last;
    size_t kept; /* bytes */
};

int pmix_demand_create(struct pmix_demand **out, int ranks, struct fault *why)
{
    struct pmix_demand *d = calloc(1, sizeof(*d));

    if (d)
        d->waits = calloc((size_t)ranks, sizeof(*d->waits));
    if (!d || !d->waits) {
        free(d);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    d->ranks = ranks;
    d->last = &d->first;
    *out = d;
    return 0;
}

static struct kept *kept_take(struct pmix_demand *d)
{
    struct kept *k = d->first;

    if (k)
        d->first = k->next;
    if (!d->first)
        d->last = &d->first;
    return k;
}

void pmix_demand_destroy(struct pmix_demand *d)
{
    struct kept *k;

    if (!d)
        return;
    while ((k = kept_take(d)))
        free(k);
    free(d->waits);
    free(d);
}

bool pmix_demand_begin(struct pmix_demand *d)
{
    bool is_first = !d->is_begun;

    d->is_begun = true;
    return is_first;
}

void pmix_demand_add(struct pmix_demand *d, int index, bool is_certain)
{
    d->waits[index] = is_certain ? WAIT_CERTAIN : WAIT_PERHAPS;
}

int pmix_demand_next(struct pmix_demand *d, bool *is_certain)
{
    for (int i = 0; i < d->ranks; i++) {
        if (d->waits[i]) {
            *is_certain = d->waits[i] == WAIT_CERTAIN;
            d->waits[i] = WAIT_NONE;
            return i;
        }
    }
    return -1;
}

int pmix_demand_keep(struct pmix_demand *d, int host, const void *bytes, size_t size,
                     struct fault *why)
{
    struct kept *k;

    if (d->failure[0])
        return 0;
    if (size > KEPT_MOST - d->kept)
        return fault_set(why, ML_ERR_REFUSED,
                         "other hosts sent more than %d MiB for its PMIx server, before a rank "
                         "here needed it",
                         KEPT_MOST >> 20);
    k = malloc(sizeof(*k) + size);
    if (!k)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    k->next = NULL;
    k->host = host;
    k->size = size;
    memcpy(k->bytes, bytes, size);
    d->kept += size;
    *d->last = k;
    d->last = &k->next;
    return 0;
}

void pmix_demand_set_ready(struct pmix_demand *d, struct pmix_helper *h)
{
    struct kept *k;

    d->is_ready = true;
    while ((k = kept_take(d))) {
        pmix_helper_passed(h, k->host, k->bytes, k->size);
        free(k);
    }
}

bool pmix_demand_is_ready(const struct pmix_demand *d)
{
    return d->is_ready;
}

void pmix_demand_set_failure(struct pmix_demand *d, const char *text)
{
    snprintf(d->failure, sizeof(d->failure), "%s", text);
}

const char *pmix_demand_failure(const struct pmix_demand *d)
{
    return d->failure[0] ? d->failure : NULL;
}
