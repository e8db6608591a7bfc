/* SPDX-License-Identifier: MIT */
/* host_list_merge.c: hosts that are listed more than once become one. */
#include "launcher/hosts/hostfile.h"
#include "launcher/text/string_list.h"

#include <stdlib.h>
#include <string.h>

/* An entry and its place in the list, to be sorted. */
struct entry {
    const struct host *host;
    int index;
};

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_host(const struct host *a, const struct host *b)
{
    int c = compare_text(a->name, b->name);

    if (!c)
        c = compare_text(a->user, b->user);
    return c ? c : a->port - b->port;
}

static int compare_entry(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = compare_host(x->host, y->host);

    return c ? c : x->index - y->index;
}

/* *out: of each host the index of its first entry. By sorting, as 65,536 hosts compared one by one
 * with all the others take seconds. */
static int find_first(const struct host_list *l, int **out, struct fault *why)
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
    qsort(sorted, (size_t)l->count, sizeof(*sorted), compare_entry);
    for (int i = 0; i < l->count; i++) {
        bool again = i > 0 && compare_host(sorted[i - 1].host, sorted[i].host) == 0;

        first[sorted[i].index] = again ? first[sorted[i - 1].index] : sorted[i].index;
    }
    free(sorted);
    *out = first;
    return 0;
}

static char *const *wire(const struct host *h, int to)
{
    return h->rdma ? h->rdma[to] : NULL;
}

/* Entries i and f = first[i] are one host: whatever they say of third hosts, and what third hosts
 * say of them, must agree. */
static int check_wiring(const struct host_list *l, const int *first, int i, struct fault *why)
{
    const struct host *hosts = l->hosts;
    int f = first[i];

    for (int j = 0; j < l->count; j++) {
        if (first[j] == f)
            continue;
        if (!strings_equal(wire(&hosts[i], j), wire(&hosts[f], j)))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "host %s is listed as hosts[%d] and hosts[%d] with different wiring: "
                             "compare their rdma[%d]",
                             hosts[f].name, f, i, j);
        if (!strings_equal(wire(&hosts[j], i), wire(&hosts[j], f)))
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

/* That entry i says of its host what the first one says. */
static int check_same(const struct host_list *l, const int *first, int i, struct fault *why)
{
    const struct host *a = &l->hosts[first[i]], *b = &l->hosts[i];
    const char *what = NULL;

    if (!strings_equal(a->env, b->env))
        what = "env";
    else if (compare_text(a->cwd, b->cwd) != 0)
        what = "cwd";
    if (what)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "host %s is listed as hosts[%d] and hosts[%d] with different \"%s\"",
                         a->name, first[i], i, what);
    return 0;
}

/* Adds to `a` what another entry of the same host offers. */
static int absorb(struct host *a, const struct host *b, int slots, struct fault *why)
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
    return 0;
}

static int slots_of(const struct host *h)
{
    return h->slots ? h->slots : 1;
}

/* Takes the entries out of the list, and the columns that spoke of them out of the matrix. */
static void remove_repeated(struct host_list *l, const int *first)
{
    int kept = 0;

    for (int i = 0; i < l->count; i++) {
        struct host *h = &l->hosts[i];
        int columns = 0;

        if (first[i] != i) {
            host_clear(h);
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

int host_list_merge(struct host_list *l, struct fault *why)
{
    bool wired = has_wiring(l);
    int *first = NULL;
    int rc = find_first(l, &first, why);

    if (rc)
        return rc;
    for (int i = 0; i < l->count && !rc; i++) {
        struct host *a = &l->hosts[first[i]], *b = &l->hosts[i];
        int slots = slots_of(a) + slots_of(b);

        if (a == b)
            continue;
        rc = check_same(l, first, i, why);
        if (!rc && wired)
            rc = check_wiring(l, first, i, why);
        if (!rc && slots > SLOTS_LIMIT)
            rc = fault_set(why, ML_ERR_ARGUMENT, "host %s has more than %d slots in all", a->name,
                           SLOTS_LIMIT);
        if (!rc)
            rc = absorb(a, b, slots, why);
    }
    if (!rc)
        remove_repeated(l, first);
    free(first);
    return rc;
}
