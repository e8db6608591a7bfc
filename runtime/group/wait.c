/* SPDX-License-Identifier: MIT */
#include "runtime/group/wait.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/link.h"
#include "runtime/group/message.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/wait_spread_linux.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/counters_file.h"
#include "runtime/process/processor.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum {
    SPIN_PAUSES = 40,         /* some us; then the processor is offered to others at each step */
    SPIN_PAUSES_CROWDED = 10, /* more ranks than processors: the awaited rank may need this one */
    SPIN_NS = 50 * 1000,      /* then sleep: waking up costs some 5 us, spinning a whole core */
    SHORT = 4096,             /* bytes: such a message arrives soon, if at all */
    LONG_LOST_MOST = 16,      /* waits that spun long in vain, after which it is given up */
    LONG_WON = 2,             /* how many of those a successful one makes up for */
    LONG_SKIPS = 64,          /* waits without it, after which it is tried again */
    LEFT_DRAINS = 10, /* times drain_ms: a rank that left in good order may have sent a lot */
    LOOK_MS = 10,     /* how old news may be when a call begins */
    DOOR_MOVES = 256, /* how many moves without a sleep there may be between looks at the door */
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- death ------------------------------------------------------------------------------------ */

/* The link has failed although nobody has closed it, so the job may have to do without one of the
 * two hosts. mlaunch, which has agents on both, says which (job_round_hosts.h). */
static bool wait_may_hear(const struct link *l)
{
    const struct group *g = l->group;
    const struct world *w = g->world;
    const struct fault *reason;

    if (!l->ended || !w->job.elastic || !l->ops->reason ||
        w->host_of[g->members[l->peer]] == w->host_of[g->members[g->rank]])
        return false;
    reason = l->ops->reason(l);
    return reason && (reason->code == ML_ERR_LINK || reason->code == ML_ERR_TIMEOUT);
}

/* When to give up `l`, on which nothing moves, in clock_ms; INT64_MAX: not as long as it is neither
 * ended nor gone. */
static int64_t wait_link_deadline(const struct link *l)
{
    if (l->gone && (l->ended || l->ops->drain_ms == 0))
        return 0;
    if (l->gone == PEER_LEFT && l->ops->tells_end)
        return INT64_MAX;
    if (l->gone)
        return l->gone_at + l->ops->drain_ms * (l->gone == PEER_LEFT ? LEFT_DRAINS : 1);
    if (!l->ended)
        return INT64_MAX;
    return l->ended_at + (wait_may_hear(l) ? PEER_UNREACHED_MS : PEER_WORD_MS);
}

/* The link's own reason, with this rank in front of it unless it names that itself. */
static void wait_describe(const struct link *l, struct fault *why)
{
    const struct group *g = l->group;
    char who[GROUP_MEMBER_TEXT];

    *why = *l->ops->reason(l);
    if (strncmp(why->text, "rank ", 5) != 0)
        fault_wrap(why, "%s", group_describe(g, g->rank, who));
}

static void wait_tell_unreached(struct link *l)
{
    const struct group *g = l->group;
    struct fault why;

    l->is_told = true;
    wait_describe(l, &why);
    coord_events_send(g->world->coord_events, COORD_UNREACHED,
                      json_pack("{s:i, s:I, s:I, s:o}", "rank", g->members[l->peer], "generation",
                                (json_int_t)g->world->generation, "membership",
                                (json_int_t)g->world->membership, "text", text_json(why.text)),
                      NULL);
}

static int wait_give_up(const struct group *g, const struct link *l, struct fault *why)
{
    struct fault reason;
    char who[GROUP_MEMBER_TEXT];

    if (coord_events_peer(g->world->coord_events, g->members[l->peer], why) != PEER_PRESENT)
        return ML_ERR_PEER;
    if (l->ops->reason && l->ops->reason(l)) {
        wait_describe(l, &reason);
        return fault_set(why, reason.code, "%s%s", reason.text,
                         wait_may_hear(l) ? "; mlaunch has given up neither of the two hosts since"
                                          : "");
    }
    return fault_set(why, ML_ERR_PEER, "%s has closed its %s link to rank %d",
                     group_describe(g, l->peer, who), l->ops->name, g->members[g->rank]);
}

/* True if only receives from any rank wait for the peer, and it has left in good order. */
static bool wait_may_do_without(const struct link *l)
{
    return l->gone == PEER_LEFT && link_waits_for_any(l);
}

/* Fails if the time of an active link is over; otherwise *deadline is when the next one's will be.
 * What had arrived before the peer's end has been taken by now, since progress ran after the end
 * was noticed. */
static int wait_check_links(struct group *g, int64_t *deadline, struct fault *why)
{
    int64_t now = 0;

    *deadline = INT64_MAX;
    for (int i = 0; i < g->active_count; i++) {
        struct link *l = g->active[i];
        int64_t until;

        if (!l->gone && !l->ended)
            continue;
        now = now ? now : clock_ms();
        if (l->ended && !l->ended_at)
            l->ended_at = now;
        if (!l->is_told && wait_may_hear(l))
            wait_tell_unreached(l);
        until = wait_link_deadline(l);
        if (until <= now && wait_may_do_without(l)) {
            l->is_over = true; /* as the caller notices before it sleeps */
            until = now;
        } else if (until <= now) {
            return wait_give_up(g, l, why);
        }
        *deadline = earlier(*deadline, until);
    }
    return 0;
}

int wait_check(struct group *g, struct fault *why)
{
    int64_t deadline;

    return wait_check_links(g, &deadline, why);
}

/* Gives the links what their peers sent through the coordinator. */
static int wait_take_mail(struct group *g, struct fault *why)
{
    json_t *word;
    int from, rc = 0;

    while (!rc && (word = coord_events_mail(g->world->coord_events, g, &from))) {
        for (int i = 0; i < g->size && !rc; i++)
            if (g->members[i] == from && g->links[i] && g->links[i]->ops->on_relayed)
                rc = g->links[i]->ops->on_relayed(g->links[i], word, why);
        json_decref(word);
    }
    return rc;
}

int wait_take_news(struct group *g, struct fault *why)
{
    struct coord_events *n = g->world->coord_events;
    uint32_t serial = coord_events_serial(n);
    int rc;

    if (serial == g->waiting.events_seen)
        return 0;
    g->waiting.events_seen = serial;
    rc = coord_events_broken(n, g, why);
    if (rc)
        return rc;
    for (int i = 0; i < g->size; i++) {
        struct link *l = g->links[i];

        if (i == g->rank || !l || l->gone)
            continue;
        l->gone = coord_events_peer(n, g->members[i], NULL);
        if (l->gone)
            l->gone_at = clock_ms();
    }
    return wait_take_mail(g, why);
}

/* Answers ranks that connect to this process, for whatever group. */
static int wait_look_door(const struct group *g, struct fault *why)
{
    struct door *d = g->world->door;
    int rc = d ? d->look(d, g, why) : 0;

    if (rc == ML_ERR_SYSTEM && why)
        rc = why->code = ML_ERR_LINK;
    return rc;
}

int wait_read_news(struct group *g, struct fault *why)
{
    struct timespec t;
    int64_t now;

    if (!g->world->is_launched)
        return 0;
    /* The coarse clock costs a few ns, and a tick is precise enough here. */
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (now - g->waiting.looked_ms >= LOOK_MS) {
        g->waiting.looked_ms = now;
        wait_look_door(g, NULL); /* if it can't be, a wait will say so */
        coord_events_read(g->world->coord_events, g);
    }
    return wait_take_news(g, why);
}

/* When to look again whether peers' hosts answer; INT64_MAX: no link needs that. */
static int64_t wait_look_silent(struct group *g, int64_t waited_ms)
{
    bool needs_look = false;

    for (int i = 0; i < g->active_count; i++) {
        struct link *l = g->active[i];

        if (!l->ops->look_silent || l->ended || l->gone)
            continue;
        if (waited_ms >= PEER_LOOK_MS)
            l->ops->look_silent(l);
        needs_look = true;
    }
    return needs_look ? clock_ms() + PEER_LOOK_MS : INT64_MAX;
}

/* --- stalls ----------------------------------------------------------------------------------- */

int wait_look(const struct group *g, struct fault *why)
{
    struct message m;
    int rc = 0;

    for (int i = 0; i < g->size && !rc; i++) {
        struct link *l = g->links[i];

        if (l && !l->recvs && l->ops->look && l->ops->look(l, &m))
            rc = message_check_early(g, &m, i, why);
    }
    return rc;
}

static bool wait_may_stall(const struct group *g)
{
    return g->world->is_launched && !g->waiting.is_stall_told && !g->waiting.is_patient;
}

/* What the call waits for, if that is nothing but messages with tags; else its name. */
static const char *wait_name(const struct group *g, char text[WAIT_NOTE_TAG])
{
    for (int i = 0; i < g->active_count; i++) {
        const struct link *l = g->active[i];

        if (l->sends || (l->recvs && !message_op_listens(l->recvs)))
            return g->words.name;
    }
    return wait_note_tag(text, g, false) ? text : g->words.name;
}

static void wait_report_stall(struct group *g)
{
    char signature[MESSAGE_TEXT], untyped[MESSAGE_TEXT], site[WAIT_NOTE_SITE], name[WAIT_NOTE_TAG];
    struct message_op any = {.size = g->call.count};
    struct message m;
    json_t *peers = json_array();

    for (int i = 0; i < g->active_count; i++)
        if (!link_waits_for_any(g->active[i]))
            json_array_append_new(peers, json_integer(g->members[g->active[i]->peer]));
    message_fill(&m, &g->call, &any);
    message_describe(&m, signature);
    message_describe_untyped(&m, untyped);
    wait_note_site(site, g);
    /* If sending fails, the coordinator is lost, which the wait itself will notice. */
    coord_events_send(g->world->coord_events, COORD_WAITING,
                      json_pack("{s:I, s:I, s:s, s:s, s:s*, s:o, s:o}", "group", (json_int_t)g->id,
                                "seq", (json_int_t)g->call.seq, "call", wait_name(g, name),
                                "signature", signature, "untyped",
                                strcmp(untyped, signature) == 0 ? NULL : untyped, "place",
                                text_json(site), "peers", peers),
                      NULL);
    wait_note_leave(g, signature);
    g->waiting.is_stall_told = true;
}

void wait_over(struct group *g)
{
    if (!g->waiting.is_stall_told)
        return;
    g->waiting.is_stall_told = false;
    wait_note_remove(g);
    coord_events_send(g->world->coord_events, COORD_MOVING,
                      json_pack("{s:I}", "group", (json_int_t)g->id), NULL);
}

void wait_tell(const struct group *g, const struct waiting_call *c)
{
    wait_note_leave_call(g, c);
    if (g->size > 1)
        coord_events_send(g->world->coord_events, COORD_WAITING,
                          json_pack("{s:I, s:b, s:I, s:s, s:s, s:O}", "group", (json_int_t)g->id,
                                    "window", (int)g->is_window, "seq", (json_int_t)c->seq, "call",
                                    c->name, "signature", c->name, "peers", c->peers),
                          NULL);
}

void wait_tell_over(const struct group *g)
{
    wait_note_remove(g);
    if (g->size > 1)
        coord_events_send(g->world->coord_events, COORD_MOVING,
                          json_pack("{s:I}", "group", (json_int_t)g->id), NULL);
}

/* --- sleep ------------------------------------------------------------------------------------ */

/* When the sleep ends for clock_poll(): when the stall is due or at `deadline`, whichever comes
 * first. */
static int64_t wait_sleep_end(const struct group *g, const struct waiting *w, int64_t deadline)
{
    if (wait_may_stall(g))
        deadline = earlier(deadline, clock_ms() + WAITING_AFTER_MS + 1 -
                                         (clock_ns() - w->since_ns) / 1000000);
    return deadline == INT64_MAX ? -1 : deadline;
}

/* Asks each active link what to poll. Returns how many entries there are; -1: one link is ready
 * now. */
static int wait_gather(struct group *g, int count)
{
    for (int i = 0; i < g->active_count; i++) {
        int n = g->active[i]->ops->sleep(g->active[i], g->waiting.polls + count);

        if (n < 0)
            return -1;
        count += n;
    }
    return count;
}

/* What clock_poll() returns for the first `count` entries: a stop of this process, as by Ctrl-Z,
 * does not count as waiting for a peer that has ended. */
static int wait_poll(struct group *g, int count, int64_t until)
{
    struct coord_events *n = g->world->coord_events;
    int rc, err;

    g->waiting.polls[1].fd = coord_events_sleep_begin(n, g);
    rc = clock_poll(g->waiting.polls, (nfds_t)count, until);
    err = errno;
    if (rc > 0 && g->waiting.polls[1].revents)
        coord_events_read(n, g);
    coord_events_sleep_end(n, g);
    errno = err;
    return rc;
}

/* poll() takes no more entries than the process may have descriptors, so there are no empty ones
 * but the coordinator's. */
static int wait_sleep(struct group *g, int64_t until, struct fault *why)
{
    struct coord_events *n = g->world->coord_events;
    struct pollfd *p = g->waiting.polls, *door = NULL;
    int count = 2, rc = 0;

    p[0] = (struct pollfd){.fd = g->waiting.bell, .events = POLLIN};
    p[1] = (struct pollfd){.fd = -1, .events = POLLIN};
    if (g->waiting.waker >= 0)
        p[count++] = (struct pollfd){.fd = g->waiting.waker, .events = POLLIN};
    if (g->world->door) {
        door = &p[count++];
        *door = (struct pollfd){.fd = g->world->door->fd, .events = POLLIN};
    }
    count = wait_gather(g, count);
    if (count > 0 && coord_events_serial(n) == g->waiting.events_seen)
        rc = wait_poll(g, count, until);
    else
        p[0].revents = 0;
    if (rc < 0 && errno != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    for (int i = 0; i < g->active_count; i++)
        g->active[i]->ops->wake(g->active[i]);
    if (rc > 0 && p[0].revents)
        bell_silence(g->waiting.bell);
    return rc > 0 && door && door->revents ? wait_look_door(g, why) : 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Long spinning pays while messages usually arrive within it. It does not when several virtual
 * hosts share a processor, or when peers compute between calls; then it is switched off and retried
 * occasionally. */
static bool wait_may_spin_long(struct group *g)
{
    if (g->waiting.long_lost < LONG_LOST_MOST)
        return true;
    if (++g->waiting.long_skipped < LONG_SKIPS)
        return false;
    g->waiting.long_skipped = 0;
    g->waiting.long_lost--;
    return true;
}

/* Sets how long to spin: for longer than usual where waking up is expensive for a link and a short
 * message is awaited, or any message if the link's progress is a system call, since the thread
 * yields meanwhile; and not where that was mostly in vain. */
static void wait_choose_spin(struct group *g, struct waiting *w)
{
    int64_t longer = 0;

    w->spin_ns = SPIN_NS;
    for (int i = 0; i < g->active_count; i++) {
        const struct link *l = g->active[i];
        bool is_short = l->recvs && l->recvs->size <= SHORT && !g->world->is_crowded;

        if ((l->ops->asks_kernel || is_short) && l->ops->spin_ns > longer)
            longer = l->ops->spin_ns;
    }
    w->may_be_long = longer > w->spin_ns && wait_may_spin_long(g);
    if (w->may_be_long)
        w->spin_ns = longer;
}

/* How many times to look again before yielding. Ranks of several "hosts" may share a processor
 * without knowing it: if a look is a system call, the awaited rank had better run instead, and if
 * no other thread wants the processor, yielding costs no more than the look. */
static unsigned wait_pauses(const struct group *g)
{
    for (int i = 0; i < g->active_count; i++)
        if (g->active[i]->ops->asks_kernel)
            return 0;
    return g->world->is_crowded ? SPIN_PAUSES_CROWDED : SPIN_PAUSES;
}

bool wait_spin(struct group *g, struct waiting *w)
{
    int64_t now;

    if (w->steps++ < wait_pauses(g)) {
        processor_pause();
        return true;
    }
    now = clock_ns();
    if (!w->since_ns) {
        w->since_ns = now;
        wait_spread(g, now);
        wait_choose_spin(g, w);
    }
    if (now - w->since_ns >= w->spin_ns) {
        g->waiting.long_lost += w->is_long && g->waiting.long_lost < LONG_LOST_MOST;
        w->is_long = false;
        return false;
    }
    w->is_long = w->may_be_long && now - w->since_ns >= SPIN_NS;
    sched_yield();
    return true;
}

/* True if a link on which something is queued has no connection yet. */
static bool wait_connects(const struct group *g)
{
    for (int i = 0; i < g->active_count; i++)
        if (g->active[i]->is_connecting)
            return true;
    return false;
}

int wait_step(struct group *g, struct waiting *w, struct fault *why)
{
    const uint32_t seen = g->waiting.events_seen;
    int64_t deadline, silence;
    int rc;

    if (wait_spin(g, w))
        return wait_connects(g) ? wait_look_door(g, why) : 0;
    /* News are taken before the sleep and not after it: a call whose messages have come while this
     * rank slept succeeds, even if the group has been broken since. */
    rc = wait_take_news(g, why);
    /* Another thread may have read them after the links were looked at; what a dead rank sent
     * before may have come in between. */
    if (rc || g->waiting.events_seen != seen)
        return rc;
    silence = wait_look_silent(g, (clock_ns() - w->since_ns) / 1000000);
    rc = wait_check_links(g, &deadline, why);
    if (rc)
        return rc;
    if (clock_ns() - w->since_ns >= WAITING_AFTER_MS * 1000000ll) {
        rc = wait_look(g, why);
        if (rc)
            return rc;
        if (wait_may_stall(g))
            wait_report_stall(g);
    }
    return wait_sleep(g, wait_sleep_end(g, w, earlier(deadline, silence)), why);
}

/* A short wait never gets here, and so costs no look at the clock. Nobody waits while what was
 * started is under way. */
static void wait_count(struct group *g, int64_t ns)
{
    if (!g->world->counters || g->waiting.is_patient || ns <= 0)
        return;
    counters_file_wait(&g->world->counters->calls[g->call.kind], (uint64_t)ns);
    g->waiting.call_wait_ns += ns;
}

void wait_moved(struct group *g, struct waiting *w)
{
    if (w->is_long)
        g->waiting.long_lost =
            g->waiting.long_lost > LONG_WON ? g->waiting.long_lost - LONG_WON : 0;
    if (w->since_ns) {
        g->waiting.has_waited = true;
        wait_count(g, clock_ns() - w->since_ns);
    }
    *w = (struct waiting){0};
    wait_over(g);
    if (++g->waiting.moves % DOOR_MOVES == 0)
        wait_look_door(g, NULL);
}
