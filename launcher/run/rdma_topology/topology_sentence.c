/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- why two ports don't meet ------------------------------------------------------------------
 */

/* They were not even tried, because their addresses can't meet. */
static int untried_refuse(const struct topology_facts *f, struct topology_end a,
                          struct topology_end b, struct fault *why)
{
    const struct topology_port *mine = topology_end_port(f, a), *theirs = topology_end_port(f, b);
    const char *there = f->config.names[b.host], *bare = NULL;
    char name[TOPOLOGY_PORT_TEXT], peer[TOPOLOGY_PORT_TEXT];

    topology_end_words(f, a, name);
    topology_end_words(f, b, peer);
    if (!topology_answers_has_ipv4(theirs))
        bare = peer;
    if (!topology_answers_has_ipv4(mine))
        bare = name;
    if (strcmp(mine->link_layer, theirs->link_layer) != 0)
        return fault_set(why, ML_ERR_LINK,
                         "%s is %s, but %s of host %s, to which %s leads it, is %s: these can't be "
                         "on one cable",
                         name, mine->link_layer, peer, there, f->config.source, theirs->link_layer);
    if (mine->is_infiniband)
        return fault_set(why, ML_ERR_LINK,
                         "%s and %s of host %s are on different fabrics (%s and %s): compare %s "
                         "with the cables",
                         name, peer, there, mine->gid_count ? mine->gids[0].text : "",
                         theirs->gid_count ? theirs->gids[0].text : "", f->config.source);
    if (f->config.rdma.gid_index >= 0)
        return fault_set(
            why, ML_ERR_LINK,
            "GID index %d of %s and of %s of host %s don't fit together, or one has none "
            "of that index; without --gid-index what fits best is taken, and mlaunch-probe "
            "lists them",
            f->config.rdma.gid_index, name, peer, there);
    return fault_set(
        why, ML_ERR_LINK,
        "%s and %s of host %s have no RoCE addresses in common%s%s%s: give their network "
        "devices IPv4 addresses in one subnet (ip addr add)",
        name, peer, there, bare ? ": " : "", bare ? bare : "", bare ? " has no IPv4 address" : "");
}

static int silent_refuse(const struct topology_facts *f, struct topology_end a,
                         struct topology_end b, struct fault *why)
{
    const struct topology_try *try = topology_end_try(f, a, b), *back = topology_end_try(f, b, a);
    const char *error = NULL;
    char mine[TOPOLOGY_END_TEXT], theirs[TOPOLOGY_END_TEXT];

    if (!try)
        return untried_refuse(f, a, b, why);
    error = try->error ? try->error : back ? back->error : NULL;
    return fault_set(
        why, ML_ERR_LINK, "nothing comes through between %s and %s of host %s%s%s; %s",
        topology_end_full(f, a, &try->gid, mine), topology_end_full(f, b, &try->peer_gid, theirs),
        f->config.names[b.host], error ? ": " : "", error ? error : "",
        f->config.stated
            ? "are these on one cable, as the wiring says? Compare with mlaunch hosts --probe"
            : "look at the cable, the addresses and the switch between them");
}

/* --- where a port leads that was stated to lead to host j ----------------------------------------
 */

/* Whether port `e` reaches another host than j: by traffic if `carries`, else by its address. */
static bool port_elsewhere(const struct topology_facts *f, struct topology_end e, int j,
                           bool carries, struct topology_end *found)
{
    const struct topology_device *d = topology_end_device(f, e);

    for (int i = 0; i < d->try_count; i++) {
        const struct topology_try *t = &d->tries[i];

        *found = (struct topology_end){t->host, t->device, t->peer_port};
        if (t->host != j && t->port == e.port && (carries ? t->carries : t->is_shared))
            return true;
    }
    return false;
}

/* The same of each of the ports that *e may be; then *e and *found are the first one's. */
static bool end_elsewhere(const struct topology_facts *f, struct topology_end *e, int j,
                          bool carries, struct topology_end *found)
{
    struct topology_end ports[TOPOLOGY_PORTS], other;
    int count = topology_end_ports(f, *e, ports);

    for (int i = 0; i < count; i++)
        if (!port_elsewhere(f, ports[i], j, carries, i ? &other : found))
            return false;
    if (count)
        *e = ports[0];
    return count > 0;
}

static int elsewhere_refuse(const struct topology_facts *f, struct topology_end e, int j,
                            struct topology_end found, bool carries, struct fault *why)
{
    char name[TOPOLOGY_PORT_TEXT], peer[TOPOLOGY_PORT_TEXT];

    return fault_set(
        why, ML_ERR_ARGUMENT,
        "%s says that %s leads to host %s, but %sit is on one cable with %s of host %s: "
        "the wiring does not fit the cables; mlaunch hosts --probe finds the right one",
        f->config.source, topology_end_words(f, e, name), f->config.names[j],
        carries ? "" : "by its address ", topology_end_words(f, found, peer),
        f->config.names[found.host]);
}

/* Chooses which ports of *e and *peer to report as silent: none that leads elsewhere. */
static void suspects_choose(const struct topology_facts *f, struct topology_end *e, int j,
                            struct topology_end *peer)
{
    struct topology_end ports[TOPOLOGY_PORTS], found, at = *e, its = *peer;
    int count = e->port ? 0 : topology_end_ports(f, *e, ports);
    enum topology_meeting best = TOPOLOGY_NOTHING;

    topology_end_meet(f, &at, &its);
    for (int i = 0; i < count; i++) {
        struct topology_end other = *peer;
        enum topology_meeting how = topology_end_meet(f, &ports[i], &other);

        if (port_elsewhere(f, ports[i], j, true, &found) || how <= best)
            continue;
        best = how;
        at = ports[i];
        its = other;
    }
    *e = at;
    *peer = its;
}

int topology_sentence_astray(const struct topology_facts *f, struct topology_end e, int j,
                             int *host, struct fault *why)
{
    struct topology_end theirs[RDMA_RAILS], found, peer;
    int count = topology_end_stated(f, j, e.host, theirs);
    const struct topology_try *try;

    *host = e.host;
    if (end_elsewhere(f, &e, j, true, &found))
        return elsewhere_refuse(f, e, j, found, true, why);
    for (int i = 0; i < count; i++) {
        struct topology_end other = theirs[i];

        if (!end_elsewhere(f, &other, e.host, true, &found))
            continue;
        *host = j;
        return elsewhere_refuse(f, other, e.host, found, true, why);
    }
    peer = theirs[0];
    suspects_choose(f, &e, j, &peer);
    try = topology_end_try(f, e, peer);
    if (!(try && try->is_shared) && port_elsewhere(f, e, j, false, &found))
        return elsewhere_refuse(f, e, j, found, false, why);
    return silent_refuse(f, e, peer, why);
}

/* --- hosts without a link -----------------------------------------------------------------------
 */

enum { LIST_TEXT = 280, NAMES = 7 };

static __attribute__((format(printf, 3, 4))) void list_append(char text[LIST_TEXT], size_t *used,
                                                              const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = *used < LIST_TEXT ? vsnprintf(text + *used, LIST_TEXT - *used, format, args) : 0;
    va_end(args);
    *used += n > 0 ? (size_t)n : 0;
}

/* Why a port is of no use, or its addresses: "down", "10.0.0.1/24". */
static void list_append_port(char text[LIST_TEXT], size_t *used, const struct topology_port *p)
{
    const char *space = "";

    if (!p->is_active) {
        list_append(text, used, "%s", p->state);
        return;
    }
    for (int i = 0; i < p->gid_count; i++) {
        if (!p->gids[i].ipv4[0])
            continue;
        list_append(text, used, "%s%s/%d", space, p->gids[i].ipv4, p->gids[i].prefix);
        space = " ";
    }
    if (!*space)
        list_append(text, used, "%s", p->is_infiniband ? "InfiniBand" : "no IPv4 address");
}

/* "rxe_p1 (10.0.0.1/24), mlx5_0 port 1 (10.0.1.1/24), mlx5_0 port 2 (down)" */
static const char *list_devices(const struct topology_facts *f, int host, char text[LIST_TEXT])
{
    const struct topology_host *h = &f->hosts[host];
    const char *comma = "";
    size_t used = 0;

    for (int i = 0; i < h->device_count; i++) {
        const struct topology_device *d = &h->devices[i];

        if (d->error) {
            list_append(text, &used, "%s%s (fails)", comma, d->name);
            comma = ", ";
        }
        for (int k = 0; k < d->port_count; k++) {
            char name[TOPOLOGY_PORT_TEXT];
            struct topology_end e = {host, i, d->ports[k].number};

            list_append(text, &used, "%s%s (", comma, topology_end_words(f, e, name));
            list_append_port(text, &used, &d->ports[k]);
            list_append(text, &used, ")");
            comma = ", ";
        }
    }
    return used ? text : "none";
}

/* What is wrong with the first device of this host that fails; NULL: none does. */
static const char *first_error(const struct topology_facts *f, int host)
{
    for (int i = 0; i < f->hosts[host].device_count; i++)
        if (f->hosts[host].devices[i].error)
            return f->hosts[host].devices[i].error;
    return NULL;
}

/* The first try from host i to host j that should have carried traffic: the ports share a subnet or
 * fabric, and --rdma-port allows them. */
static bool hopeful_try(const struct topology_facts *f, int i, int j, struct topology_end *mine,
                        struct topology_end *theirs)
{
    int only = f->config.rdma.port;

    for (int d = 0; d < f->hosts[i].device_count; d++)
        for (int k = 0; k < f->hosts[i].devices[d].try_count; k++) {
            const struct topology_try *t = &f->hosts[i].devices[d].tries[k];

            if (t->host != j || !t->is_shared ||
                (only && (t->port != only || t->peer_port != only)))
                continue;
            *mine = (struct topology_end){i, d, t->port};
            *theirs = (struct topology_end){j, t->device, t->peer_port};
            return true;
        }
    return false;
}

/* All hosts without devices are named, because they have the same remedy. */
static int bare_refuse(const struct topology_facts *f, int *host, struct fault *why)
{
    char others[LIST_TEXT] = "";
    size_t used = 0;
    int count = 0;

    for (int i = f->config.count - 1; i >= 0; i--)
        if (!f->hosts[i].device_count)
            *host = i;
    for (int i = *host + 1; i < f->config.count; i++)
        if (!f->hosts[i].device_count && ++count <= NAMES)
            list_append(others, &used, "%s%.32s", count > 1 ? ", " : " or on ", f->config.names[i]);
    if (count > NAMES)
        list_append(others, &used, " and %d more", count - NAMES);
    return fault_set(why, ML_ERR_DEVICE,
                     "there are no RDMA devices here%s: are the drivers loaded, and is "
                     "/dev/infiniband in the container?",
                     others);
}

int topology_sentence_no_wire(const struct topology_facts *f, int i, int j, int *host,
                              struct fault *why)
{
    char mine[LIST_TEXT], theirs[LIST_TEXT], only[TOPOLOGY_PORT_TEXT] = "";
    struct topology_end a, b;

    *host = i;
    if (hopeful_try(f, i, j, &a, &b))
        return silent_refuse(f, a, b, why);
    if (!f->hosts[i].device_count || !f->hosts[j].device_count)
        return bare_refuse(f, host, why);
    for (int end = 0; end < 2; end++) {
        const char *failing = first_error(f, end ? j : i);

        *host = end ? j : i;
        if (failing)
            return fault_set(why, ML_ERR_DEVICE, "no RDMA device reaches host %s: %s",
                             f->config.names[end ? i : j], failing);
    }
    *host = i;
    if (f->config.rdma.port)
        snprintf(only, sizeof(only), " by port %d (--rdma-port)", f->config.rdma.port);
    return fault_set(
        why, ML_ERR_LINK,
        "no RDMA device reaches host %s%s: here %s; there %s: no two are up, in one subnet or "
        "fabric, and let traffic through",
        f->config.names[j], only, list_devices(f, i, mine), list_devices(f, j, theirs));
}

int topology_sentence_uneven(const struct topology_facts *f, int j, int there, int back,
                             struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%s has %d device%s from here to host %s, but %d the other way",
                     f->config.source, there, there == 1 ? "" : "s", f->config.names[j], back);
}

int topology_sentence_unusable(const struct topology_facts *f, int from, int to, struct fault *why)
{
    const json_t *entry =
        json_array_get(json_array_get(f->config.stated, (size_t)from), (size_t)to);
    char list[LIST_TEXT];

    if (json_array_size(entry) == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s names no RDMA device from host %s to host %s: add it, for a host that "
                         "comes while the ranks of others run",
                         f->config.source, f->config.names[from], f->config.names[to]);
    return fault_set(why, ML_ERR_DEVICE,
                     "host %s had no active port for each RDMA device that %s names towards host "
                     "%s when the job began: %s",
                     f->config.names[from], f->config.source, f->config.names[to],
                     list_devices(f, from, list));
}

int topology_sentence_no_port(const struct topology_facts *f, int host, struct fault *why)
{
    const char *failing = first_error(f, host);
    char list[LIST_TEXT];

    return fault_set(why, ML_ERR_DEVICE, "no RDMA device is up here: %s",
                     failing ? failing : list_devices(f, host, list));
}

/* --- MTU ----------------------------------------------------------------------------------------
 */

int topology_sentence_narrow(const struct topology_facts *f, struct topology_end a,
                             struct topology_end b, int *host, struct fault *why)
{
    const struct topology_try *try = topology_end_try(f, a, b);
    char name[TOPOLOGY_PORT_TEXT], peer[TOPOLOGY_PORT_TEXT];

    *host = a.host;
    return fault_set(
        why, ML_ERR_LINK,
        "between %s and %s of host %s short packets come through, but none of %d bytes, "
        "which both ports take: something between them has a smaller MTU; raise it there (ip "
        "link set ... mtu), or give a smaller --mtu",
        topology_end_words(f, a, name), topology_end_words(f, b, peer), f->config.names[b.host],
        try ? try->mtu : 0);
}

int topology_sentence_mtu(const struct topology_facts *f, struct topology_end e, int *host,
                          struct fault *why)
{
    *host = e.host;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%s port %d has an active MTU of %d, so --mtu %d is too much",
                     topology_end_device(f, e)->name, e.port, topology_end_port(f, e)->active_mtu,
                     f->config.rdma.mtu);
}
