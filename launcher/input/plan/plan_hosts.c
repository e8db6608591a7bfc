/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_hosts.h"

#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/allocation.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/hostfile.h"
#include "launcher/input/options/joining.h"

#include <unistd.h>

/* With -H and --hostfile of one layer, -H chooses among the hosts of the file, as with mpirun. */
static int named_read(struct host_list **out, const struct options *o,
                      const struct host_list *spares, struct fault *why)
{
    bool has_file = o->hostfile && !(o->hosts && o->hosts_layer > o->hostfile_layer);
    bool has_list = o->hosts && !(o->hostfile && o->hostfile_layer > o->hosts_layer);
    struct host_list *list = NULL, *only = NULL;
    int rc = has_list ? host_list_parse(&only, "--hosts", o->hosts, why) : 0;

    if (!rc && only && spares)
        rc = host_list_finish_check_apart(only, spares, why);
    if (!rc && has_file)
        rc = hostfile_read(&list, o->hostfile, why);
    if (!rc && list && only)
        rc = host_list_finish_filter(list, only, spares, why);
    if (rc) {
        host_list_destroy(list);
        host_list_destroy(only);
        return rc;
    }
    *out = list ? list : only;
    if (list)
        host_list_destroy(only);
    return 0;
}

/* With --await: the hosts have no names before they join. */
static int joining_make(struct host_list **out, const struct options *o, struct fault *why)
{
    struct host_list *list = NULL;
    char own[256] = "localhost";
    struct host h = {0};
    int rc = host_list_create(&list, o->is_await_here ? "mlaunch join" : "--await", why);

    gethostname(own, sizeof(own) - 1);
    for (int i = 0; !rc && i < o->await; i++) {
        bool is_here = o->is_await_here && i == 0;

        h.join_index = i;
        rc = is_here ? string_copy(&h.name, own, why)
                     : string_format(&h.name, why, "%d of %d", i, o->await);
        if (!rc)
            rc = host_list_add(list, &h, why);
        if (!rc)
            list->hosts[i].is_local = is_here;
    }
    host_list_clear_host(&h);
    if (rc)
        host_list_destroy(list);
    else
        *out = list;
    return rc;
}

static int list_read(struct host_list **out, const struct options *o, struct host_list *spares,
                     char *const *environment, struct fault *why)
{
    bool is_named = o->hosts || o->hostfile;
    int rc;

    *out = NULL;
    rc = joining_check(o, why);
    if (rc || o->await)
        return rc ? rc : joining_make(out, o, why);
    rc = is_named ? named_read(out, o, spares, why) : allocation_read(out, environment, why);
    if (!rc && !*out)
        rc = host_list_local(out, why);
    if (!rc && spares)
        rc = host_list_finish_spares(*out, spares, why);
    if (!rc && o->one_host && (*out)->count > 1)
        rc =
            fault_set(why, ML_ERR_ARGUMENT,
                      "the command line says one host, and %s names %d: name one with -H, or leave "
                      "--nnodes, --nodes, --rdzv-... and --master-... out",
                      (*out)->source, (*out)->count);
    if (!rc && (is_named || spares))
        rc = allocation_match(*out, environment, why);
    return rc;
}

static int excluded_remove(struct host_list *list, const struct options *o, struct fault *why)
{
    struct host_list *out = NULL;
    int rc = o->exclude ? host_list_parse(&out, "--exclude", o->exclude, why) : 0;

    if (!rc && out)
        rc = host_list_finish_exclude(list, out, why);
    host_list_destroy(out);
    return rc;
}

int plan_hosts_find(struct host_list **out, const struct options *o, char *const *environment,
                    struct fault *why)
{
    struct host_list *list = NULL, *spares = NULL;
    int rc = 0;

    if (o->spare_hosts)
        rc = host_list_parse(&spares, "--spare-hosts", o->spare_hosts, why);
    if (!rc)
        rc = list_read(&list, o, spares, environment, why);
    if (!rc)
        rc = excluded_remove(list, o, why);
    host_list_destroy(spares);
    if (rc)
        host_list_destroy(list);
    else
        *out = list;
    return rc;
}

int plan_hosts_set_env(const struct plan *p, struct host *h, struct fault *why)
{
    struct string_list env = {0};
    int rc;

    if (h->is_settled)
        return 0;
    rc = string_list_add_all(&env, p->library_env, why);
    if (!rc)
        rc = string_list_add_all(&env, h->env, why);
    if (!rc) {
        strings_free(h->env);
        h->env = NULL;
        rc = string_list_release(&env, &h->env, why);
    }
    h->is_settled = !rc;
    string_list_clear(&env);
    return rc;
}
