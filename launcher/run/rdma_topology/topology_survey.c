/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_survey.h"

#include "common/log.h"
#include "launcher/run/rdma_topology/topology_choice.h"
#include "launcher/run/rdma_topology/topology_match.h"
#include "launcher/run/rdma_topology/topology_sentence.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 5000 };

struct topology_survey {
    struct topology_facts facts;
    json_t **devices;            /* each host's, as it has sent them, for the other hosts */
    uint64_t tag;                /* in this survey's datagrams */
    struct topology_rail *rails; /* for all pairs of hosts */
    size_t rail_count, rail_room;
    json_t *wiring; /* [host][host] */
};

int topology_survey_create(struct topology_survey **out, const struct topology_config *c,
                           struct fault *why)
{
    struct topology_survey *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->facts.config = *c;
    s->facts.config.stated = json_incref(c->stated);
    randombytes_buf(&s->tag, sizeof(s->tag));
    s->tag &= INT64_MAX; /* it travels as JSON */
    s->facts.hosts = calloc((size_t)c->count, sizeof(*s->facts.hosts));
    s->devices = calloc((size_t)c->count, sizeof(json_t *));
    if (!s->facts.hosts || !s->devices) {
        topology_survey_destroy(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = s;
    return 0;
}

void topology_survey_destroy(struct topology_survey *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->facts.config.count; i++) {
        if (s->facts.hosts)
            topology_answers_clear(&s->facts.hosts[i]);
        if (s->devices)
            json_decref(s->devices[i]);
    }
    json_decref(s->facts.config.stated);
    json_decref(s->wiring);
    free(s->facts.hosts);
    free(s->devices);
    free(s->rails);
    free(s);
}

/* --- questions and answers ---------------------------------------------------------------------
 */

/* The devices in this host's row of the stated wiring, each once. */
static json_t *devices_named(const struct topology_survey *s, int host)
{
    json_t *list = json_array(), *seen = json_object(), *entry, *device;
    size_t i, j;

    json_array_foreach(json_array_get(s->facts.config.stated, (size_t)host), i, entry)
    {
        json_array_foreach(entry, j, device)
        {
            const char *name = json_string_value(device);

            if (!name || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            json_array_append(list, device);
        }
    }
    json_decref(seen);
    return list;
}

json_t *topology_survey_question(void *survey, int host, int round)
{
    const struct topology_survey *s = survey;
    const struct topology_config *c = &s->facts.config;
    json_t *hosts, *inner;

    if (round == TOPOLOGY_DESCRIBE)
        return json_pack("{s:s, s:o, s:i, s:i}", "what", "devices", "named", devices_named(s, host),
                         "port", c->rdma.port, "gid_index", c->rdma.gid_index);
    hosts = json_array();
    for (int i = 0; i < c->count; i++)
        json_array_append(hosts, s->devices[i]);
    inner = json_pack("{s:i, s:I, s:i, s:i, s:i, s:i, s:o}", "host", host, "tag",
                      (json_int_t)s->tag, "port", c->rdma.port, "gid_index", c->rdma.gid_index,
                      "mtu", c->rdma.mtu, "wait_ms", WAIT_MS, "hosts", hosts);
    if (inner && c->stated)
        json_object_set(inner, "wiring", c->stated);
    return json_pack("{s:s, s:o}", "what", "wires", "wires", inner);
}

/* Whether each device that the stated wiring names on this host is there and can be used. */
static int named_check(const struct topology_survey *s, int host, struct fault *why)
{
    json_t *named = devices_named(s, host), *name;
    int rc = 0;
    size_t i;

    json_array_foreach(named, i, name)
    {
        const struct topology_host *h = &s->facts.hosts[host];
        char device[PORT_NAME_DEVICE];
        int port, at = -1;

        if (port_name_split(json_string_value(name), device, &port))
            at = topology_answers_device(h, device);
        if (rc)
            break;
        if (at < 0)
            rc = fault_set(why, ML_ERR_REFUSED, "its RDMA probe's answer lacks %s, which %s names",
                           json_string_value(name), s->facts.config.source);
        else if (h->devices[at].error || h->devices[at].try_error)
            rc = fault_set(why, ML_ERR_DEVICE, "%s",
                           h->devices[at].error ? h->devices[at].error : h->devices[at].try_error);
    }
    json_decref(named);
    return rc;
}

/* -vv: what has come. */
static void devices_log(const struct topology_survey *s, int host)
{
    const struct topology_host *h = &s->facts.hosts[host];
    const char *name = s->facts.config.names[host];

    for (int i = 0; i < h->device_count; i++) {
        const struct topology_device *d = &h->devices[i];

        if (d->error)
            log_debug("host %s: RDMA device %s fails: %s", name, d->name, d->error);
        for (int k = 0; k < d->port_count; k++) {
            const struct topology_port *p = &d->ports[k];

            log_debug("host %s: RDMA device %s port %d is %s, %s, %g Gb/s, MTU %d%s", name, d->name,
                      p->number, p->state, p->link_layer, p->gigabits, p->active_mtu,
                      p->is_untried ? ", cannot send datagrams" : "");
        }
    }
}

static void tries_log(const struct topology_survey *s, int host)
{
    const struct topology_facts *f = &s->facts;

    for (int i = 0; i < f->hosts[host].device_count; i++)
        for (int k = 0; k < f->hosts[host].devices[i].try_count; k++) {
            const struct topology_try *t = &f->hosts[host].devices[i].tries[k];
            const struct topology_end mine = {host, i, t->port};
            const struct topology_end theirs = {t->host, t->device, t->peer_port};
            char from[TOPOLOGY_END_TEXT], to[TOPOLOGY_END_TEXT];

            log_debug("host %s: %s tried %s of host %s: %s%s%s", f->config.names[host],
                      topology_end_full(f, mine, &t->gid, from),
                      topology_end_full(f, theirs, &t->peer_gid, to), f->config.names[t->host],
                      t->carries_long ? "short and long datagrams come through"
                      : t->carries    ? "only short datagrams come through"
                                      : "nothing comes through",
                      t->error ? ": " : "", t->error ? t->error : "");
        }
}

int topology_survey_answer(void *survey, int host, int round, const json_t *answer,
                           struct fault *why)
{
    struct topology_survey *s = survey;
    json_t *devices = json_object_get(answer, "devices");
    int rc;

    if (round == TOPOLOGY_TRY)
        rc = topology_answers_read_tries(s->facts.hosts, s->facts.config.count, host, devices, why);
    else
        rc = topology_answers_read_devices(s->facts.hosts, host, devices, why);
    if (!rc)
        rc = named_check(s, host, why);
    if (rc)
        return rc;
    if (round == TOPOLOGY_TRY) {
        tries_log(s, host);
        return 0;
    }
    devices_log(s, host);
    json_decref(s->devices[host]);
    s->devices[host] = json_incref(devices);
    return 0;
}

/* --- a host that comes while the ranks of others run ------------------------------------------ */

void topology_survey_lose(struct topology_survey *s, int host)
{
    topology_answers_clear(&s->facts.hosts[host]);
}

void topology_survey_restate(struct topology_survey *s, json_t *stated)
{
    json_incref(stated);
    json_decref(s->facts.config.stated);
    s->facts.config.stated = stated;
}

/* Returns how many devices the way has; 0: one of them has no active port, or none is stated. */
static int way_width(const struct topology_facts *f, int from, int to)
{
    const json_t *entry =
        json_array_get(json_array_get(f->config.stated, (size_t)from), (size_t)to);
    struct topology_end ends[RDMA_RAILS], ports[TOPOLOGY_PORTS];
    int count = topology_end_stated(f, from, to, ends);

    for (int i = 0; i < count; i++)
        if (topology_end_ports(f, ends[i], ports) == 0)
            return 0;
    return (size_t)count == json_array_size(entry) ? count : 0;
}

static int ways_check(const struct topology_facts *f, int host, int other, struct fault *why)
{
    int there = way_width(f, host, other), back = way_width(f, other, host);

    if (there == 0)
        return topology_sentence_unusable(f, host, other, why);
    if (back == 0)
        return topology_sentence_unusable(f, other, host, why);
    return there == back ? 0 : topology_sentence_uneven(f, other, there, back, why);
}

int topology_survey_admit(struct topology_survey *s, int host, const json_t *answer,
                          struct fault *why)
{
    const struct topology_facts *f = &s->facts;
    int rc = topology_survey_answer(s, host, TOPOLOGY_DESCRIBE, answer, why);

    for (int i = 0; i < f->config.count && !rc; i++)
        if (i != host && f->hosts[i].device_count > 0)
            rc = ways_check(f, host, i, why);
    return rc;
}

const struct topology_host *topology_survey_host(const struct topology_survey *s, int host)
{
    return &s->facts.hosts[host];
}

const struct topology_facts *topology_survey_facts(const struct topology_survey *s)
{
    return &s->facts;
}

/* --- conclusion ------------------------------------------------------------------------------- */

json_t *topology_survey_wiring(const struct topology_survey *s)
{
    return s->wiring;
}

/* The port that joins ranks of one host: the first that leads anywhere, else the first active. */
static json_t *local_entry(const struct topology_survey *s, int host)
{
    const struct topology_facts *f = &s->facts;
    char name[PORT_NAME_TEXT];
    json_t *entry;
    size_t i;

    json_array_foreach(json_array_get(f->config.stated, (size_t)host), i, entry)
    {
        if (json_array_size(entry) > 0)
            return json_pack("[O]", json_array_get(entry, 0));
    }
    for (int d = 0; d < f->hosts[host].device_count; d++) {
        struct topology_end ports[TOPOLOGY_PORTS], any = {.host = host, .device = d};

        if (topology_end_ports(f, any, ports) > 0)
            return json_pack("[s]", topology_end_name(f, ports[0], name));
    }
    return NULL;
}

static int mtu_check(const struct topology_facts *f, struct topology_end e, int *host,
                     struct fault *why)
{
    int active = topology_end_port(f, e)->active_mtu;

    return active && f->config.rdma.mtu > active ? topology_sentence_mtu(f, e, host, why) : 0;
}

/* --local net: the entries between ranks of one host. */
static int local_settle(struct topology_survey *s, int *host, struct fault *why)
{
    const struct topology_facts *f = &s->facts;
    int rc = 0;

    for (int i = 0; i < f->config.count && f->config.local_net && !rc; i++) {
        json_t *entry = local_entry(s, i);
        struct topology_end ports[TOPOLOGY_PORTS], e = {.host = i, .device = -1};
        char device[PORT_NAME_DEVICE];

        *host = i;
        if (!entry)
            return topology_sentence_no_port(f, i, why);
        json_array_set_new(json_array_get(s->wiring, (size_t)i), (size_t)i, entry);
        if (port_name_split(json_string_value(json_array_get(entry, 0)), device, &e.port))
            e.device = topology_answers_device(&f->hosts[i], device);
        if (e.device >= 0 && topology_end_ports(f, e, ports) > 0)
            rc = mtu_check(f, ports[0], host, why);
    }
    return rc;
}

static json_t *empty_matrix(int count)
{
    json_t *matrix = json_array();

    for (int i = 0; i < count; i++) {
        json_t *row = json_array();

        for (int j = 0; j < count; j++)
            json_array_append_new(row, json_null());
        json_array_append_new(matrix, row);
    }
    return matrix;
}

static int rail_keep(struct topology_survey *s, const struct topology_rail *rail, struct fault *why)
{
    if (s->rail_count == s->rail_room) {
        size_t room = s->rail_room ? s->rail_room * 2 : 64;
        struct topology_rail *more = realloc(s->rails, room * sizeof(*more));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        s->rails = more;
        s->rail_room = room;
    }
    s->rails[s->rail_count++] = *rail;
    return 0;
}

/* Finds the rails of a pair of hosts, and makes both entries of them. */
static int pair_settle(struct topology_survey *s, int i, int j, int *host, struct fault *why)
{
    const struct topology_facts *f = &s->facts;
    struct topology_rail rails[RDMA_RAILS];
    json_t *there = json_array(), *back = json_array();
    int count = 0, rc = topology_match(f, i, j, rails, &count, host, why);

    for (int r = 0; r < count && !rc; r++) {
        char name[PORT_NAME_TEXT];

        rc = mtu_check(f, rails[r].mine, host, why);
        if (!rc)
            rc = mtu_check(f, rails[r].theirs, host, why);
        if (!rc)
            rc = rail_keep(s, &rails[r], why);
        json_array_append_new(there, json_string(topology_end_name(f, rails[r].mine, name)));
        json_array_append_new(back, json_string(topology_end_name(f, rails[r].theirs, name)));
    }
    if (rc) {
        json_decref(there);
        json_decref(back);
        return rc;
    }
    json_array_set_new(json_array_get(s->wiring, (size_t)i), (size_t)j, there);
    json_array_set_new(json_array_get(s->wiring, (size_t)j), (size_t)i, back);
    return 0;
}

/* -v: each link; and one warning for all of those that are hardly meant. */
static void rails_log(const struct topology_survey *s)
{
    char text[TOPOLOGY_CHOICE_TEXT], first[TOPOLOGY_CHOICE_TEXT];
    int warnings = 0;

    for (size_t i = 0; i < s->rail_count; i++) {
        const struct topology_rail *r = &s->rails[i];

        log_info("RDMA: %s", topology_choice_describe(&s->facts, r->mine, r->theirs, text));
        if (topology_choice_warn(&s->facts, r->mine, r->theirs, text) && ++warnings == 1)
            memcpy(first, text, sizeof(first));
    }
    if (warnings == 1)
        log_warn("%s", first);
    else if (warnings > 1)
        log_warn("%s; so %d links in all (-v shows them)", first, warnings);
}

int topology_survey_conclude(struct topology_survey *s, int *host, struct fault *why)
{
    int count = s->facts.config.count, rc = 0;

    json_decref(s->wiring);
    s->wiring = empty_matrix(count);
    s->rail_count = 0;
    for (int i = 0; i < count && !rc; i++)
        for (int j = i + 1; j < count && !rc; j++)
            rc = pair_settle(s, i, j, host, why);
    if (!rc)
        rc = local_settle(s, host, why);
    if (!rc)
        rails_log(s);
    return rc;
}
