/* SPDX-License-Identifier: MIT */
#include "launcher/run/change/grow_hosts.h"

#include "launcher/input/hosts/allocation.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/host_name.h"

/* -1: it is none of the job's. */
static int host_find(const struct plan *p, const struct host *wanted)
{
    for (int i = 0; i < p->where->host_count; i++) {
        const struct host *h = plan_host(p, i);

        if (host_name_is_same(h->name, wanted->name) || (h->is_local && wanted->is_local))
            return i;
    }
    return -1;
}

static bool has_new(const struct plan *p, const struct host_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (host_find(p, &l->hosts[i]) < 0)
            return true;
    return false;
}

int grow_hosts_read(struct plan_growth *out, struct plan *p, const char *text,
                    char *const *environment, struct fault *why)
{
    struct host_list *l;
    int rc = host_list_parse(&l, "-H", text, why);

    if (rc)
        return rc;
    *out = (struct plan_growth){0};
    if (has_new(p, l))
        rc = allocation_match(l, environment, why);
    for (int i = 0; i < l->count && !rc; i++) {
        struct host *h = &l->hosts[i];
        int ranks = h->slots ? h->slots : 1, index = host_find(p, h);

        rc = index < 0 ? plan_growth_add_host(out, p, h, ranks, why)
                       : plan_growth_add(out, p, index, ranks, why);
    }
    host_list_destroy(l);
    if (rc)
        plan_growth_clear(out);
    return rc;
}
