/* SPDX-License-Identifier: MIT */
#include "launcher/plan/plan_hosts.h"

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_list_finish.h"
#include "launcher/hosts/host_list_parse.h"
#include "launcher/hosts/hostfile.h"

/* -H and --hostfile of one layer: -H chooses among the hosts of the file, as with mpirun. */
static int chosen_read(struct host_list **out, const struct options *o, struct fault *why)
{
    struct host_list *list = NULL, *only = NULL;
    int rc = host_list_parse(&only, o->hosts, why);

    if (!rc)
        rc = hostfile_read(&list, o->hostfile, why);
    if (!rc)
        rc = host_list_finish_filter(list, only, why);
    host_list_destroy(only);
    if (rc)
        host_list_destroy(list);
    else
        *out = list;
    return rc;
}

static int named_read(struct host_list **out, const struct options *o, struct fault *why)
{
    if (o->hosts && o->hostfile && o->hosts_layer == o->hostfile_layer)
        return chosen_read(out, o, why);
    return o->hosts && o->hosts_layer > o->hostfile_layer ? host_list_parse(out, o->hosts, why)
                                                          : hostfile_read(out, o->hostfile, why);
}

int plan_hosts_find(struct host_list **out, const struct options *o, char *const *environment,
                    struct fault *why)
{
    struct host_list *list = NULL;
    int rc;

    if (o->hosts || o->hostfile) {
        rc = named_read(&list, o, why);
        if (!rc)
            rc = allocation_match(list, environment, why);
    } else {
        rc = allocation_read(&list, environment, why);
        if (!rc && !list)
            rc = host_list_local(&list, why);
    }
    if (rc)
        host_list_destroy(list);
    else
        *out = list;
    return rc;
}
