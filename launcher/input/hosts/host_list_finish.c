/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/host_list_finish.h"

#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/host_name.h"

#include <stdlib.h>
#include <string.h>

/* An entry to be sorted, and its place in the list. */
struct entry {
    const struct host *host;
    int index;
};

static int text_compare(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int host_compare(const struct host *a, const struct host *b)
{
    int c = text_compare(a->name, b->name);

    if (!c)
        c = text_compare(a->user, b->user);
    return c ? c : a->port - b->port;
}

static int entry_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = host_compare(x->host, y->host);

    return c ? c : x->index - y->index;
}

/* Stores in *out for each entry the index of its host's first entry. The entries are sorted, as
 * comparing each of 65,536 with all others takes seconds. */
static int first_find(const struct host_list *l, int **out, struct fault *why)
{
    int *first = calloc((size_t)l->count + 1, sizeof(*first));
    struct entry *sorted = calloc((size_t)l->count + 1, sizeof(*sorted));

    if (!first || !sorted) {
        free(first);
        free(sorted);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < l->count; i++)
        sorted[i] = (struct entry){&l->hosts[i], i};
    qsort(sorted, (size_t)l->count, sizeof(*sorted), entry_compare);
    for (int i = 0; i < l->count; i++) {
        bool again = i > 0 && host_compare(sorted[i - 1].host, sorted[i].host) == 0;

        first[sorted[i].index] = again ? first[sorted[i - 1].index] : sorted[i].index;
    }
    free(sorted);
    *out = first;
    return 0;
}

static char *const *wire_of(const struct host *h, int to)
{
    return h->rdma ? h->rdma[to] : NULL;
}

/* Entries i and f = first[i] are one host: their wiring towards other hosts, and that of other
 * hosts towards them, must be the same. */
static int topology_check(const struct host_list *l, const int *first, int i, struct fault *why)
{
    const struct host *hosts = l->hosts;
    int f = first[i];

    for (int j = 0; j < l->count; j++) {
        if (first[j] == f)
            continue;
        if (!strings_equal(wire_of(&hosts[i], j), wire_of(&hosts[f], j)))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "host %s is listed as hosts[%d] and hosts[%d] with different wiring: "
                             "compare their rdma[%d]",
                             hosts[f].name, f, i, j);
        if (!strings_equal(wire_of(&hosts[j], i), wire_of(&hosts[j], f)))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "host %s is listed as hosts[%d] and hosts[%d], but hosts[%d] (%s) has "
                             "different devices in rdma[%d] and rdma[%d]",
                             hosts[f].name, f, i, j, hosts[j].name, f, i);
    }
    return 0;
}

static bool has_wiring(const struct host_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->hosts[i].rdma)
            return true;
    return false;
}

/* Checks that entry i has the same env and cwd as the first entry of its host. */
static int entry_check(const struct host_list *l, const int *first, int i, struct fault *why)
{
    const struct host *a = &l->hosts[first[i]], *b = &l->hosts[i];
    const char *what = NULL;

    if (!strings_equal(a->env, b->env))
        what = "env";
    else if (text_compare(a->cwd, b->cwd) != 0)
        what = "cwd";
    if (what)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "host %s is listed as hosts[%d] and hosts[%d] with different \"%s\"",
                         a->name, first[i], i, what);
    return 0;
}

/* Adds the addresses of `b`, another entry of the same host, to `a`, and sets the slots. */
static int entry_absorb(struct host *a, const struct host *b, int slots, struct fault *why)
{
    struct string_list ips = {0};
    char **all;
    int rc = string_list_add_all(&ips, a->ips, why);

    for (char **ip = b->ips; *ip && !rc; ip++)
        if (!strings_has(a->ips, *ip))
            rc = string_list_add(&ips, *ip, why);
    if (!rc)
        rc = string_list_release(&ips, &all, why);
    if (rc) {
        string_list_clear(&ips);
        return rc;
    }
    strings_free(a->ips);
    a->ips = all;
    a->slots = slots;
    a->max_slots = a->max_slots && b->max_slots ? a->max_slots + b->max_slots : 0;
    return 0;
}

static int slots_of(const struct host *h)
{
    return h->slots ? h->slots : 1;
}

/* Removes the entries i with first[i] != i from the list, and their columns from the matrix. */
static void entries_remove(struct host_list *l, const int *first)
{
    int kept = 0;

    for (int i = 0; i < l->count; i++) {
        struct host *h = &l->hosts[i];
        int columns = 0;

        if (first[i] != i) {
            host_list_clear_host(h);
            continue;
        }
        for (int j = 0; j < h->rdma_count; j++) {
            if (first[j] == j)
                h->rdma[columns++] = h->rdma[j];
            else
                strings_free(h->rdma[j]);
        }
        h->rdma_count = columns;
        l->hosts[kept++] = *h;
    }
    l->count = kept;
}

static int repeated_merge(struct host_list *l, struct fault *why)
{
    bool wired = has_wiring(l);
    int *first = NULL;
    int rc = first_find(l, &first, why);

    if (rc)
        return rc;
    for (int i = 0; i < l->count && !rc; i++) {
        struct host *a = &l->hosts[first[i]], *b = &l->hosts[i];
        int slots = slots_of(a) + slots_of(b);

        if (a == b)
            continue;
        rc = entry_check(l, first, i, why);
        if (!rc && wired)
            rc = topology_check(l, first, i, why);
        if (!rc && slots > SLOTS_LIMIT)
            rc = fault_set(why, ML_ERR_ARGUMENT, "host %s has more than %d slots in all", a->name,
                           SLOTS_LIMIT);
        if (!rc)
            rc = entry_absorb(a, b, slots, why);
    }
    if (!rc)
        entries_remove(l, first);
    free(first);
    return rc;
}

int host_list_finish_find(const struct host_list *l, const struct host *h, const char *user)
{
    for (int i = 0; i < l->count; i++) {
        const struct host *one = &l->hosts[i];
        bool is_same = (h->is_local && one->is_local) || host_name_is_same(h->name, one->name);

        if (is_same && (!user || (one->user && strcmp(user, one->user) == 0)))
            return i;
    }
    return -1;
}

int host_list_finish_filter(struct host_list *l, const struct host_list *only,
                            const struct host_list *spares, struct fault *why)
{
    int *kept = calloc((size_t)l->count + 1, sizeof(*kept));
    int rc = kept ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int i = 0; i < l->count && !rc; i++)
        kept[i] = -1;
    for (int i = 0; i < only->count && !rc; i++) {
        int at = host_list_finish_find(l, &only->hosts[i], only->hosts[i].user);

        if (at < 0) {
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "%s: host %s is not in the hostfile %s, of which -H chooses hosts",
                           only->source, only->hosts[i].name, l->source);
            break;
        }
        kept[at] = at;
        if (only->hosts[i].slots)
            l->hosts[at].slots = only->hosts[i].slots;
    }
    for (int i = 0; !rc && spares && i < spares->count; i++) {
        int at = host_list_finish_find(l, &spares->hosts[i], spares->hosts[i].user);

        if (at >= 0)
            kept[at] = at;
    }
    if (!rc)
        entries_remove(l, kept);
    free(kept);
    return rc;
}

int host_list_finish_exclude(struct host_list *l, const struct host_list *out, struct fault *why)
{
    int *kept = calloc((size_t)l->count + 1, sizeof(*kept));
    int rc = kept ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (int i = 0; i < l->count && !rc; i++)
        kept[i] = i;
    for (int i = 0; i < out->count && !rc; i++) {
        int at = host_list_finish_find(l, &out->hosts[i], out->hosts[i].user);

        if (at < 0)
            rc = fault_set(why, ML_ERR_ARGUMENT, "%s: host %s is not one of the hosts (%s)",
                           out->source, out->hosts[i].name, l->source);
        else
            kept[at] = -1;
    }
    if (!rc)
        entries_remove(l, kept);
    if (!rc && !l->count)
        rc = fault_set(why, ML_ERR_ARGUMENT, "%s: no host is left", out->source);
    free(kept);
    return rc;
}

int host_list_finish_check_apart(const struct host_list *l, const struct host_list *spares,
                                 struct fault *why)
{
    for (int i = 0; i < spares->count; i++) {
        const struct host *h = &spares->hosts[i];

        if (host_list_finish_find(l, h, NULL) >= 0)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "%s: host %s is also one of the job's hosts (%s), so it cannot take "
                             "the place of another; name it once",
                             spares->source, h->name, l->source);
    }
    return 0;
}

int host_list_finish_spares(struct host_list *l, struct host_list *spares, struct fault *why)
{
    int left = l->count, count = 0, rc = 0;

    for (int i = 0; i < spares->count && !rc; i++) {
        struct host *one = &spares->hosts[i];
        int at = host_list_finish_find(l, one, one->user);

        if (at < 0) {
            one->spare = ++count;
            rc = host_list_add(l, one, why);
        } else if (!l->hosts[at].spare) {
            left--;
            l->hosts[at].spare = ++count;
            if (one->slots)
                l->hosts[at].slots = one->slots;
        }
    }
    if (!rc && left == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "%s names all hosts (%s), so none is left for the job",
                       spares->source, l->source);
    return rc;
}

int host_list_finish(struct host_list **out, struct host_list *l, int rc, struct fault *why)
{
    if (!rc)
        rc = repeated_merge(l, why);
    if (rc)
        host_list_destroy(l);
    else
        *out = l;
    return rc;
}
