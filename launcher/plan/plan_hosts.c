/* SPDX-License-Identifier: MIT */
#include "launcher/plan/plan_hosts.h"

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_list_parse.h"
#include "launcher/hosts/hostfile.h"

int plan_hosts_find(struct host_list **out, const struct options *o, char *const *environment,
                    struct fault *why)
{
    struct host_list *list = NULL;
    int rc;

    if (o->hosts && o->hostfile && o->hosts_layer == o->hostfile_layer)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--hosts and --hostfile both name the hosts: give one");
    if (o->hosts || o->hostfile) {
        rc = o->hosts && o->hosts_layer > o->hostfile_layer
                 ? host_list_parse(&list, o->hosts, why)
                 : hostfile_read(&list, o->hostfile, why);
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
