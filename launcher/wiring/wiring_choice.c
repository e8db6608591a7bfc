/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_choice.h"

#include "launcher/wiring/wiring_words.h"

#include <stdio.h>
#include <string.h>

static bool entry_names_port(const struct wiring_survey *s, struct wiring_end e, int to)
{
    json_t *name;
    size_t i;

    json_array_foreach(wiring_stated_entry(s, e.host, to), i, name)
    {
        struct wiring_end its = wiring_end_read(s, e.host, json_string_value(name));

        if (its.port == e.port && strcmp(its.device, e.device) == 0)
            return true;
    }
    return false;
}

static const char *port_reason(const struct wiring_survey *s, struct wiring_end a,
                               struct wiring_end b, const json_t *try)
{
    if (entry_names_port(s, a, b.host) || entry_names_port(s, b, a.host))
        return "as the wiring names it";
    if (s->config.rdma.port)
        return "--rdma-port";
    if (wiring_ports_up(s, a) <= 1 && wiring_ports_up(s, b) <= 1)
        return "the only one that is up";
    if (json_is_true(json_object_get(try, "shared")))
        return json_object_get(try, "gid") ? "those in one subnet" : "those in one fabric";
    return "the first that reach each other";
}

/* Of RoCE v2: in version 1 an address is as good as any other. */
static bool is_link_local(const json_t *gid)
{
    const char *text = wiring_text(gid, "gid");

    return strncmp(text, "fe", 2) == 0 && text[2] && strchr("89ab", text[2]) &&
           strcmp(wiring_text(gid, "type"), "RoCE v2") == 0;
}

static const char *gid_reason(const struct wiring_survey *s, const json_t *try)
{
    const json_t *gid = json_object_get(try, "gid");

    if (!gid)
        return "InfiniBand routes by LID";
    if (s->config.rdma.gid_index >= 0)
        return "--gid-index";
    if (json_is_true(json_object_get(try, "shared")))
        return *wiring_text(gid, "ipv4") ? "RoCE v2, IPv4 in one subnet" : "IPv6 in one subnet";
    if (is_link_local(gid))
        return "link-local, no others fit together";
    return "the best of both ports' tables, no shared subnet";
}

bool wiring_choice_tell(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                        struct wiring_end a, struct wiring_end b)
{
    static const char *const kinds[] = {"RC where it is offered, else UC", "RC (--qp)",
                                        "UC (--qp)"};
    const char *stated = s->config.stated ? s->config.source : NULL;
    const json_t *try;
    char mine[WIRING_END_TEXT], theirs[WIRING_END_TEXT];

    wiring_meet(s, &a, &b);
    try = wiring_try(s, a, b);
    if (!try) {
        snprintf(text, WIRING_CHOICE_TEXT,
                 "host %s: %s to %s of host %s, as %s says; it could not be tried: they have no "
                 "datagrams",
                 s->config.names[a.host], wiring_words_end(s, mine, a, NULL),
                 wiring_words_end(s, theirs, b, NULL), s->config.names[b.host], s->config.source);
        return true;
    }
    snprintf(
        text, WIRING_CHOICE_TEXT,
        "host %s: %s to %s of host %s: %s%s%s, and traffic comes through; port: %s; GID: %s; path "
        "MTU %d: %s; queue pairs: %s",
        s->config.names[a.host], wiring_words_end(s, mine, a, json_object_get(try, "gid")),
        wiring_words_end(s, theirs, b, json_object_get(try, "peer_gid")), s->config.names[b.host],
        stated ? "as " : "found", stated ? stated : "", stated ? " says" : "",
        port_reason(s, a, b, try), gid_reason(s, try), wiring_number(try, "mtu"),
        s->config.rdma.mtu ? "--mtu" : "the smaller of both ports'", kinds[s->config.rdma.qp]);
    return true;
}

/* Link-local addresses that nobody has asked for, where one port has an IPv4 address and only the other's is missing.
 * Where neither has one the fabric is IPv6's, and they are meant. */
bool wiring_choice_warn(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                        struct wiring_end a, struct wiring_end b)
{
    const json_t *try, *gid;
    struct wiring_end bare;
    bool here, there;
    char mine[WIRING_PORT_TEXT], theirs[WIRING_PORT_TEXT], its[WIRING_PORT_TEXT];

    wiring_meet(s, &a, &b);
    try = wiring_try(s, a, b);
    gid = json_object_get(try, "gid");
    here = wiring_has_ipv4(wiring_port(s, a));
    there = wiring_has_ipv4(wiring_port(s, b));
    if (s->config.rdma.gid_index >= 0 || here == there || !is_link_local(gid))
        return false;
    bare = here ? b : a;
    snprintf(
        text, WIRING_CHOICE_TEXT,
        "host %s: %s and %s of host %s meet by link-local addresses (%s and %s), because %s of "
        "host %s has no IPv4 address; give its network device one in the other's subnet (ip "
        "addr add), or say with --gid-index that these are meant",
        s->config.names[a.host], wiring_words_port(s, mine, a), wiring_words_port(s, theirs, b),
        s->config.names[b.host], wiring_text(gid, "gid"),
        wiring_text(json_object_get(try, "peer_gid"), "gid"), wiring_words_port(s, its, bare),
        s->config.names[bare.host]);
    return true;
}
