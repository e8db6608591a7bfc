/* SPDX-License-Identifier: MIT */
#include "launcher/run/change/grow_hosts.h"

#include "common/net/job_file.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/host_list_parse.h"

#include <stdlib.h>
#include <string.h>

/* -1: it is none of the job's. */
static int host_find(const struct plan *p, const struct host *wanted)
{
    for (int i = 0; i < p->host_count; i++) {
        const struct host *h = plan_host(p, i);

        if (strcmp(h->name, wanted->name) == 0 || (h->is_local && wanted->is_local))
            return i;
    }
    return -1;
}

static int ranks_add(int *hosts, int *count, const struct plan *p, const struct host *h,
                     struct fault *why)
{
    int ranks = h->slots ? h->slots : 1, host = host_find(p, h), room = plan_places(p) - p->size;
    char shown[TEXT_SHOWN];

    if (host < 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s is none of the job's hosts: a job grows on the hosts that it has",
                         text_show(shown, h->name));
    if (ranks > room - *count)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "there is room for %d more rank%s: a job can get %d beside those that it "
                         "began with",
                         room, room == 1 ? "" : "s", JOB_GROW_MOST);
    for (int i = 0; i < ranks; i++)
        hosts[(*count)++] = host;
    return 0;
}

int grow_hosts_read(int **out, int *count, const struct plan *p, const char *text,
                    struct fault *why)
{
    struct host_list *l;
    int *hosts, rc = host_list_parse(&l, "-H", text, why);

    if (rc)
        return rc;
    hosts = calloc((size_t)plan_places(p) + 1, sizeof(*hosts));
    if (!hosts)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    *count = 0;
    for (int i = 0; i < l->count && !rc; i++)
        rc = ranks_add(hosts, count, p, &l->hosts[i], why);
    host_list_destroy(l);
    if (rc)
        free(hosts);
    else
        *out = hosts;
    return rc;
}
