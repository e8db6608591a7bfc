/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_choice.h"

#include <stdio.h>

static bool entry_names_port(const struct topology_facts *f, struct topology_end e, int to)
{
    struct topology_end stated[RDMA_RAILS];
    int count = topology_end_stated(f, e.host, to, stated);

    for (int i = 0; i < count; i++)
        if (stated[i].device == e.device && stated[i].port == e.port)
            return true;
    return false;
}

static const char *port_reason(const struct topology_facts *f, struct topology_end a,
                               struct topology_end b, const struct topology_try *try)
{
    if (entry_names_port(f, a, b.host) || entry_names_port(f, b, a.host))
        return "as the wiring names it";
    if (f->config.rdma.port)
        return "--rdma-port";
    if (topology_end_active(f, a) <= 1 && topology_end_active(f, b) <= 1)
        return "the only one that is up";
    if (try->is_shared)
        return try->gid.text[0] ? "those in one subnet" : "those in one fabric";
    return "the first that reach each other";
}

static const char *gid_reason(const struct topology_facts *f, const struct topology_try *try)
{
    if (!try->gid.text[0])
        return "InfiniBand routes by LID";
    if (f->config.rdma.gid_index >= 0)
        return "--gid-index";
    if (try->is_shared)
        return try->gid.ipv4[0] ? "RoCE v2, IPv4 in one subnet" : "IPv6 in one subnet";
    if (try->gid.is_link_local)
        return "link-local, no others fit together";
    return "the best of both ports' tables, no shared subnet";
}

const char *topology_choice_describe(const struct topology_facts *f, struct topology_end a,
                                     struct topology_end b, char text[TOPOLOGY_CHOICE_TEXT])
{
    static const char *const kinds[] = {[RDMA_PAIRS_OFFERED] = "RC where it is offered, else UC",
                                        [RDMA_PAIRS_RC] = "RC (--qp)",
                                        [RDMA_PAIRS_UC] = "UC (--qp)"};
    const struct topology_config *c = &f->config;
    const struct topology_try *try = topology_end_try(f, a, b);
    const char *stated = c->stated ? c->source : NULL;
    char mine[TOPOLOGY_END_TEXT], theirs[TOPOLOGY_END_TEXT];

    topology_end_full(f, a, try ? &try->gid : NULL, mine);
    topology_end_full(f, b, try ? &try->peer_gid : NULL, theirs);
    if (!try)
        snprintf(text, TOPOLOGY_CHOICE_TEXT,
                 "host %s: %s to %s of host %s, as %s says; it could not be tried: they have no "
                 "datagrams",
                 c->names[a.host], mine, theirs, c->names[b.host], c->source);
    else
        snprintf(text, TOPOLOGY_CHOICE_TEXT,
                 "host %s: %s to %s of host %s: %s%s%s, and traffic comes through; port: %s; GID: "
                 "%s; path MTU %d: %s; queue pairs: %s",
                 c->names[a.host], mine, theirs, c->names[b.host], stated ? "as " : "found",
                 stated ? stated : "", stated ? " says" : "", port_reason(f, a, b, try),
                 gid_reason(f, try), try->mtu, c->rdma.mtu ? "--mtu" : "the smaller of both ports'",
                 kinds[c->rdma.qp]);
    return text;
}

/* The link uses link-local addresses, which the user has not asked for, because one of the ports
 * lacks the IPv4 address that the other one has. If neither has one, the fabric uses IPv6, and
 * nothing is missing. */
bool topology_choice_warn(const struct topology_facts *f, struct topology_end a,
                          struct topology_end b, char text[TOPOLOGY_CHOICE_TEXT])
{
    const struct topology_try *try = topology_end_try(f, a, b);
    bool here = topology_answers_has_ipv4(topology_end_port(f, a));
    bool there = topology_answers_has_ipv4(topology_end_port(f, b));
    struct topology_end bare = here ? b : a;
    char mine[TOPOLOGY_PORT_TEXT], theirs[TOPOLOGY_PORT_TEXT], its[TOPOLOGY_PORT_TEXT];

    if (f->config.rdma.gid_index >= 0 || here == there || !try || !try->gid.is_link_local)
        return false;
    snprintf(
        text, TOPOLOGY_CHOICE_TEXT,
        "host %s: %s and %s of host %s meet by link-local addresses (%s and %s), because %s of "
        "host %s has no IPv4 address; give its network device one in the other's subnet (ip "
        "addr add), or say with --gid-index that these are meant",
        f->config.names[a.host], topology_end_words(f, a, mine), topology_end_words(f, b, theirs),
        f->config.names[b.host], try->gid.text, try->peer_gid.text,
        topology_end_words(f, bare, its), f->config.names[bare.host]);
    return true;
}
