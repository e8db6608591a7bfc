/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/sync_chains.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/run/spread/sync_feed.h"
#include "launcher/run/spread/sync_progress.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_HEAD = 5,  /* type and round, in front of a part of the stream */
    RELINK_MS = 100, /* a host that dies breaks two connections, whose ends come one by one */
    CUTS_MOST = 2,   /* then mlaunch feeds the host itself */
};

struct sync_chains {
    struct sync_host *hosts;
    int count;
    const struct sync_source *source;
    const struct sync_settings *settings;
    void (*on_over)(void *arg);
    void *arg;
    struct event *relink, *again;
    struct sync_feed *feed;
    struct sync_progress progress;
    char job[32];
    uint32_t round;      /* 0: no chain was made yet */
    int64_t moved_ms;    /* when the last report came */
    bool has_told_stall; /* since then */
    uint8_t chunk[CHUNK_HEAD + SYNC_FEED_ROOM];
};

static bool is_alive(const struct sync_host *h)
{
    return h->state != SYNC_HOST_LOST;
}

/* All hosts that are left are in this state, and there are some. */
static bool all_are(const struct sync_chains *s, enum sync_state state)
{
    bool any = false;

    for (int i = 0; i < s->count; i++) {
        if (is_alive(&s->hosts[i]) && s->hosts[i].state != state)
            return false;
        any |= is_alive(&s->hosts[i]);
    }
    return any;
}

static void relink_soon(struct sync_chains *s)
{
    static const struct timeval soon = {.tv_usec = RELINK_MS * 1000};

    sync_feed_stop(s->feed);
    if (!evtimer_pending(s->relink, NULL))
        evtimer_add(s->relink, &soon);
}

/* Nothing is left to do for the hosts that are left. */
static bool all_have_ended(const struct sync_chains *s)
{
    return all_are(s, s->settings->is_git         ? SYNC_HOST_WAITING
                      : s->settings->is_comparing ? SYNC_HOST_LOOKED
                                                  : SYNC_HOST_DONE);
}

/* Sends an order, whose type goes in front of the JSON. */
static void order_send(struct sync_chains *s, int host, uint8_t type, json_t *order)
{
    char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
    size_t size = text ? strlen(text) : 0;
    uint8_t *payload = malloc(size + 2);

    if (text && payload) {
        payload[0] = type;
        memcpy(payload + 1, text, size + 1);
        agent_channel_send(s->hosts[host].channel, LAUNCH_SYNC, payload, size + 1);
        sodium_memzero(text, size);
        sodium_memzero(payload, size + 1);
    } else {
        agent_channel_fail(s->hosts[host].channel, "out of memory");
    }
    free(text);
    free(payload);
    json_decref(order);
}

static json_t *order_make(const struct sync_chains *s, int host)
{
    json_t *roots = json_array(), *exclude = json_array();
    char secret[2 * TREE_KEY + 1];
    json_t *order;

    for (int i = 0; i < s->source->count; i++)
        json_array_append_new(roots, json_pack("[ss]",
                                               s->hosts[host].target ? s->hosts[host].target
                                                                     : s->source->paths[i].target,
                                               s->source->paths[i].name));
    for (char *const *p = s->settings->exclude; p && *p; p++)
        json_array_append_new(exclude, json_string(*p));
    sodium_bin2hex(secret, sizeof(secret), s->source->key, TREE_KEY);
    order =
        json_pack("{ss ss si ss so so sb sb sb sb s{si si si si}}", "job", s->job, "secret", secret,
                  "host", host, "ip", s->hosts[host].ip, "roots", roots, "exclude", exclude,
                  "comparing", s->settings->is_comparing, "checksum", s->settings->is_checksum,
                  "delete", s->settings->is_delete, "git", s->settings->is_git, "rdma", "port",
                  s->settings->rdma.port, "gid_index", s->settings->rdma.gid_index, "mtu",
                  s->settings->rdma.mtu, "qp", s->settings->rdma.qp);
    sodium_memzero(secret, sizeof(secret));
    return order;
}

/* Sends as much of the stream as the hosts that are fed have room for. */
static void stream_pump(struct sync_chains *s)
{
    size_t size;

    while (sync_feed_is_busy(s->feed)) {
        for (int i = 0; i < s->count; i++)
            if (is_alive(&s->hosts[i]) && s->hosts[i].is_fed &&
                s->hosts[i].unacknowledged + SYNC_FEED_ROOM > SYNC_FEED_WINDOW)
                return;
        size = sync_feed_make(s->feed, s->chunk + CHUNK_HEAD);
        if (size == 0 && sync_feed_is_busy(s->feed)) {
            event_active(s->again, 0, 0); /* other events first */
            return;
        }
        s->chunk[0] = SYNC_FEED;
        packed_put(s->chunk + 1, s->round, 4);
        for (int i = 0; i < s->count && size > 0; i++) {
            struct sync_host *h = &s->hosts[i];

            if (!is_alive(h) || !h->is_fed)
                continue;
            h->unacknowledged += size;
            agent_channel_send(h->channel, LAUNCH_SYNC, s->chunk, CHUNK_HEAD + size);
        }
    }
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    stream_pump(arg);
}

/* The next host that is left, or -1. */
static int host_after(const struct sync_chains *s, int host)
{
    while (++host < s->count)
        if (is_alive(&s->hosts[host]))
            return host;
    return -1;
}

/* The ports that lead from one host to its neighbour, or NULL. */
static json_t *ports_between(const struct sync_chains *s, int from, int to)
{
    json_t *ports =
        json_array_get(json_array_get(s->settings->wiring, (size_t)s->hosts[from].place),
                       (size_t)s->hosts[to].place);

    return json_array_size(ports) > 0 ? ports : NULL;
}

/* Whether `host` is to get the stream from `previous` over RDMA. */
static bool is_wired(const struct sync_chains *s, int previous, int host)
{
    return previous >= 0 && !s->hosts[host].is_fed && !s->hosts[host].has_no_rdma &&
           ports_between(s, previous, host) && ports_between(s, host, previous);
}

/* Puts the ports between two neighbours into the order of one of them. */
static void ports_add(const struct sync_chains *s, json_t *order, const char *key, int from, int to)
{
    json_object_set_new(
        order, key,
        json_pack("{ss sO}", "name", s->hosts[to].host->name, "ports", ports_between(s, from, to)));
}

static void place_send(struct sync_chains *s, int host, int previous, int next)
{
    const struct sync_host *h = &s->hosts[host];
    json_t *order = json_pack("{sI sb si si ss}", "round", (json_int_t)s->round, "is_fed",
                              h->is_fed, "previous", previous, "next", next, "address",
                              next >= 0 ? s->hosts[next].address : "");

    if (is_wired(s, previous, host))
        ports_add(s, order, "from", host, previous);
    if (next >= 0 && is_wired(s, host, next))
        ports_add(s, order, "to", host, next);
    order_send(s, host, SYNC_LINK, order);
}

/* Puts all hosts that are left into chains: one, unless some can be reached by mlaunch alone. */
static void chains_make(struct sync_chains *s)
{
    int previous = -1;

    s->round++;
    for (int i = host_after(s, -1); i >= 0; i = host_after(s, i)) {
        struct sync_host *h = &s->hosts[i];

        h->is_fed = previous < 0 || h->is_unreachable || !h->address[0];
        h->unacknowledged = 0;
        h->at = 0;
        h->state = SYNC_HOST_LINKING;
        previous = i;
    }
    previous = -1;
    for (int i = host_after(s, -1); i >= 0; i = host_after(s, i)) {
        int next = host_after(s, i);

        if (next >= 0 && s->hosts[next].is_fed)
            next = -1;
        log_debug("host %s: round %u, %s", s->hosts[i].host->name, (unsigned)s->round,
                  s->hosts[i].is_fed ? "fed from here" : "fed by the host before it");
        place_send(s, i, previous, next);
        previous = i;
    }
}

static void on_relink(evutil_socket_t fd, short what, void *arg)
{
    struct sync_chains *s = arg;

    (void)fd;
    (void)what;
    for (int i = 0; i < s->count; i++)
        if (s->hosts[i].state < SYNC_HOST_WAITING)
            return; /* the first chains are made when all have answered */
    chains_make(s);
}

/* A host has reached a state; if all have, the next thing follows. */
static void host_reach(struct sync_chains *s, int host, enum sync_state state)
{
    s->hosts[host].state = state;
    if (!all_are(s, state))
        return;
    if (all_have_ended(s)) {
        s->on_over(s->arg);
    } else if (state == SYNC_HOST_WAITING) {
        chains_make(s);
    } else {
        if (state == SYNC_HOST_LINKED)
            sync_feed_start_list(s->feed);
        else
            sync_feed_start_files(s->feed);
        stream_pump(s);
    }
}

/* The host before this one that is left, or -1. */
static int host_before(const struct sync_chains *s, int host)
{
    while (--host >= 0 && !is_alive(&s->hosts[host]))
        ;
    return host;
}

/* RDMA has failed on the way to a host: it gets the rest over TCP. False: it was not in use. */
static bool rdma_leave(struct sync_chains *s, int host)
{
    if (!is_wired(s, host_before(s, host), host))
        return false;
    s->hosts[host].has_no_rdma = true;
    return true;
}

static int on_cut(struct sync_chains *s, int host, const struct frame *f, struct fault *why)
{
    struct sync_link_report r;
    int next;

    if (!sync_host_take_link(&r, f) || r.round != s->round)
        return 0;
    next = r.to_next ? host_after(s, host) : -1;
    log_info("host %s: the chain is broken %s%s: %s", s->hosts[host].host->name,
             next >= 0 ? "to host " : "before it", next >= 0 ? s->hosts[next].host->name : "",
             r.text);
    relink_soon(s);
    if (r.is_rdma && rdma_leave(s, next >= 0 ? next : host))
        return 0;
    if (next >= 0 && !s->hosts[next].is_fed &&
        (s->hosts[host].state == SYNC_HOST_LINKING || ++s->hosts[next].cuts >= CUTS_MOST))
        s->hosts[next].is_unreachable = true;
    else if (next < 0 && ++s->hosts[host].cuts > CUTS_MOST + s->count)
        return fault_set(why, ML_ERR_PEER, "%s", r.text);
    return 0;
}

static void on_progress(struct sync_chains *s)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < s->count; i++)
        if (is_alive(&s->hosts[i]) && s->hosts[i].at < least)
            least = s->hosts[i].at;
    if (least == UINT64_MAX)
        return;
    sync_progress_show(&s->progress, least, sync_feed_total(s->feed));
}

static int on_failed(struct sync_chains *s, struct sync_host *h, const struct frame *f,
                     struct fault *why)
{
    int rc = sync_host_take_failed(h, f, why);
    const json_t *last = json_array_get(h->failures, json_array_size(h->failures) - 1);

    sync_progress_hide(&s->progress);
    if (!rc && last)
        log_error("host %s: %s", h->host->name, json_string_value(last));
    return rc;
}

/* By which way the host is to get the stream, with -v. */
static void way_tell(struct sync_chains *s, int host, const char *obstacle)
{
    struct sync_host *h = &s->hosts[host];
    int previous = host_before(s, host);

    if (!is_wired(s, previous, host))
        return;
    if (obstacle[0]) {
        log_info("host %s: gets data from host %s over TCP, since RDMA does not work: %s",
                 h->host->name, s->hosts[previous].host->name, obstacle);
        h->has_no_rdma = true;
    } else {
        log_info("host %s: gets data from host %s over RDMA", h->host->name,
                 s->hosts[previous].host->name);
    }
}

static int on_round(struct sync_chains *s, int host, const struct frame *f, struct fault *why)
{
    struct sync_host *h = &s->hosts[host];
    struct sync_link_report r;

    if (!sync_host_take_link(&r, f) || r.round != s->round)
        return 0;
    if (f->type == SYNC_LINKED && h->state == SYNC_HOST_LINKING) {
        way_tell(s, host, r.text);
        sync_host_forget(h);
        memset(h->differs, 0, s->source->list.count);
        host_reach(s, host, SYNC_HOST_LINKED);
    } else if (f->type == SYNC_LOOKED && h->state == SYNC_HOST_LINKED) {
        host_reach(s, host, SYNC_HOST_LOOKED);
    } else if (f->type == SYNC_DONE && h->state == SYNC_HOST_LOOKED) {
        int rc = sync_host_take_done(h, f, why);

        if (rc)
            return rc;
        h->at = sync_feed_total(s->feed);
        host_reach(s, host, SYNC_HOST_DONE);
    } else {
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a report out of turn");
    }
    return 0;
}

static int report_take(struct sync_chains *s, int host, const struct frame *f, struct fault *why)
{
    struct sync_host *h = &s->hosts[host];
    int rc = 0;

    s->moved_ms = clock_ms();
    s->has_told_stall = false;
    switch (f->type) {
    case SYNC_READY:
        rc = h->state == SYNC_HOST_BEGUN
                 ? sync_host_take_ready(h, f, why)
                 : fault_set(why, ML_ERR_REFUSED, "its agent sent a report out of turn");
        if (!rc)
            host_reach(s, host, SYNC_HOST_WAITING);
        break;
    case SYNC_LINKED:
    case SYNC_LOOKED:
    case SYNC_DONE:
        rc = on_round(s, host, f, why);
        break;
    case SYNC_CUT:
        rc = on_cut(s, host, f, why);
        break;
    case SYNC_CREDIT:
        if (f->size == 4) {
            uint64_t bytes = packed_get(f->payload, 4);

            h->unacknowledged -= bytes < h->unacknowledged ? (size_t)bytes : h->unacknowledged;
        }
        stream_pump(s);
        break;
    case SYNC_DIFFERS:
        rc = sync_host_take_differs(h, f, s->source, why);
        break;
    case SYNC_PART:
        rc = sync_host_take_part(h, f, s->source, why);
        break;
    case SYNC_AT:
        h->at = f->size == 8 ? packed_get(f->payload, 8) : 0;
        on_progress(s);
        break;
    case SYNC_FAILED:
        rc = on_failed(s, h, f, why);
        break;
    default:
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent an unknown report");
    }
    return rc;
}

/* How far a host is behind what feeds it, in bytes. */
static uint64_t host_lag(const struct sync_chains *s, int host)
{
    const struct sync_host *h = &s->hosts[host];
    int before = host_before(s, host);

    if (h->is_fed || before < 0)
        return h->unacknowledged;
    return s->hosts[before].at > h->at ? s->hosts[before].at - h->at : 0;
}

/* Names the host that all wait for, once: those behind it have handled all that it has passed on,
 * those before it cannot get rid of what they have. It is not given up: its disk may come back, and
 * what it has to delete may take long. */
static void stall_tell(struct sync_chains *s)
{
    int worst = -1;

    if (s->has_told_stall || clock_ms() - s->moved_ms < s->settings->stall_ms)
        return;
    for (int i = 0; i < s->count; i++) {
        if (!is_alive(&s->hosts[i]))
            continue;
        if (s->hosts[i].state < SYNC_HOST_LOOKED)
            return; /* comparing contents may take any time */
        if (s->hosts[i].state == SYNC_HOST_LOOKED && (worst < 0 || host_lag(s, i) > 0))
            worst = i;
    }
    if (worst < 0)
        return;
    s->has_told_stall = true;
    sync_progress_hide(&s->progress);
    log_warn("host %s has taken nothing for %d s, and all wait for it: is its disk busy or stuck?",
             s->hosts[worst].host->name, s->settings->stall_ms / 1000);
}

void sync_chains_pulse(struct sync_chains *s)
{
    on_progress(s); /* when nothing comes, it takes longer */
    stall_tell(s);
}

void sync_chains_begin(struct sync_chains *s, int host, const char *ip)
{
    struct sync_host *h = &s->hosts[host];

    snprintf(h->ip, sizeof(h->ip), "%s", ip);
    h->state = SYNC_HOST_BEGUN;
    order_send(s, host, SYNC_BEGIN, order_make(s, host));
}

int sync_chains_take(struct sync_chains *s, int host, const struct frame *f, struct fault *why)
{
    struct frame inner = {.type = f->size ? f->payload[0] : 0,
                          .size = f->size ? f->size - 1 : 0,
                          .payload = f->payload + 1};

    return report_take(s, host, &inner, why);
}

void sync_chains_lose(struct sync_chains *s, int host)
{
    struct sync_host *h = &s->hosts[host];
    bool was_linked = h->state >= SYNC_HOST_LINKING;
    bool any = false;

    h->state = SYNC_HOST_LOST;
    for (int i = 0; i < s->count; i++)
        any |= is_alive(&s->hosts[i]);
    if (!any || all_have_ended(s))
        s->on_over(s->arg);
    else if (was_linked || all_are(s, SYNC_HOST_WAITING))
        relink_soon(s);
}

uint64_t sync_chains_lost(const struct sync_chains *s)
{
    return sync_feed_lost(s->feed);
}

void sync_chains_hide(struct sync_chains *s)
{
    sync_progress_hide(&s->progress);
}

int sync_chains_open(struct sync_chains **out, struct event_base *base,
                     const struct sync_chains_config *config, struct fault *why)
{
    struct sync_chains *s = calloc(1, sizeof(*s));
    uint8_t random[8];
    char hex[2 * sizeof(random) + 1];
    int rc = 0;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->hosts = config->hosts;
    s->count = config->count;
    s->source = config->source;
    s->settings = config->settings;
    s->on_over = config->on_over;
    s->arg = config->arg;
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(hex, sizeof(hex), random, sizeof(random));
    snprintf(s->job, sizeof(s->job), "sync-%s", hex);
    sync_progress_open(&s->progress, s->settings->shows_progress);
    s->relink = evtimer_new(base, on_relink, s);
    s->again = event_new(base, -1, 0, on_again, s);
    if (!s->relink || !s->again)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = sync_feed_open(&s->feed, s->source, s->hosts, s->count, s->settings->is_checksum, why);
    if (rc)
        sync_chains_close(s);
    else
        *out = s;
    return rc;
}

void sync_chains_close(struct sync_chains *s)
{
    if (!s)
        return;
    sync_progress_hide(&s->progress);
    if (s->relink)
        event_free(s->relink);
    if (s->again)
        event_free(s->again);
    sync_feed_close(s->feed);
    free(s);
}
