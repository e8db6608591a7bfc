/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_list.h"

#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/host_name.h"

#include <stdlib.h>
#include <string.h>

int host_list_create(struct host_list **out, const char *source, struct fault *why)
{
    struct host_list *l = calloc(1, sizeof(*l));
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = string_copy(&l->source, source, why);
    if (rc) {
        host_list_destroy(l);
        return rc;
    }
    *out = l;
    return 0;
}

static int strings_ensure(char ***list, struct fault *why)
{
    struct string_list none = {0};

    return *list ? 0 : string_list_release(&none, list, why);
}

int host_list_reserve(struct host_list *l, int more, struct fault *why)
{
    struct host *hosts = realloc(l->hosts, (size_t)(l->count + more) * sizeof(*hosts));

    if (!hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->hosts = hosts;
    l->room = l->count + more;
    return 0;
}

int host_list_add(struct host_list *l, struct host *h, struct fault *why)
{
    int rc;

    if (l->count == HOSTS_LIMIT)
        return fault_set(why, ML_ERR_ARGUMENT, "more than %d hosts", HOSTS_LIMIT);
    if ((rc = strings_ensure(&h->ips, why)) || (rc = strings_ensure(&h->env, why)))
        return rc;
    if (l->count == l->room && (rc = host_list_reserve(l, l->count ? l->count : 1, why)))
        return rc;
    h->is_local = !h->port && host_name_is_local(h->name) && host_name_is_own_user(h->user);
    l->hosts[l->count++] = *h;
    *h = (struct host){0};
    return 0;
}

int host_list_local(struct host_list **out, struct fault *why)
{
    struct host_list *l = NULL;
    struct host h = {0};
    int rc = host_list_create(&l, "this machine", why);

    if (!rc)
        rc = string_copy(&h.name, "localhost", why);
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    if (rc)
        host_list_destroy(l);
    else
        *out = l;
    return rc;
}

const char *host_list_launch_method(enum launch_method launch_method)
{
    static const char *const names[] = {
        [LAUNCH_METHOD_SSH] = "SSH",           [LAUNCH_METHOD_LOCAL] = "this machine",
        [LAUNCH_METHOD_SRUN] = "srun",         [LAUNCH_METHOD_COMMAND] = "--agent-command",
        [LAUNCH_METHOD_JOIN] = "mlaunch join", [LAUNCH_METHOD_HEAD] = "the job's mlaunch"};

    return names[launch_method];
}

bool host_list_has_wire(const struct host *from, int to)
{
    return from->rdma && to < from->rdma_count && from->rdma[to] && from->rdma[to][0];
}

int host_list_check_wiring(const struct host_list *l, struct fault *why)
{
    for (int i = 0; i < l->count; i++)
        for (int j = 0; j < l->count; j++)
            if (i != j && !l->hosts[i].spare && !l->hosts[j].spare &&
                !host_list_has_wire(&l->hosts[i], j))
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "%s: hosts[%d] (%s) names no RDMA device towards hosts[%d] (%s)",
                                 l->source, i, l->hosts[i].name, j, l->hosts[j].name);
    return 0;
}

void host_list_clear_host(struct host *h)
{
    free(h->name);
    free(h->user);
    free(h->ssh_config);
    free(h->door);
    free(h->node);
    strings_free(h->ips);
    strings_free(h->env);
    free(h->cwd);
    for (int j = 0; h->rdma && j < h->rdma_count; j++)
        strings_free(h->rdma[j]);
    free(h->rdma);
    *h = (struct host){0};
}

void host_list_destroy(struct host_list *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->count; i++)
        host_list_clear_host(&l->hosts[i]);
    free(l->hosts);
    free(l->backend);
    free(l->source);
    free(l);
}
