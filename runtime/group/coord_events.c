/* SPDX-License-Identifier: MIT */
#include "runtime/group/coord_events.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/host_table.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/door.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/process/fork_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOOR_MS = 10 };

struct peer {
    enum peer_state state;
    char *text; /* if it is dead: who, where, how */
};

struct mail {
    struct mail *next;
    uint32_t group;
    int from;
    json_t *word;
};

struct coord_events {
    pthread_mutex_t lock; /* over all of the below and the groups' inboxes */
    struct client *client;
    char *dir;            /* the job's; NULL: no copies are shared */
    struct fault lost;    /* code != 0: the connection is gone */
    _Atomic bool is_lost; /* the same, for threads without the lock */
    struct group *groups;
    struct group *watcher; /* whose sleeping thread polls the connection; NULL: none */
    bool concerns_all;     /* what has been read does */
    struct peer *peers;    /* per world rank */
    int size;
    struct mail *knocks; /* oldest first */
    int knock_fd;        /* counts them; -1: the process has no door for them */
    json_t *welcome, *repaired;
    struct fault failed;      /* why the coordinator refused this rank */
    uint32_t groups_end;      /* every number of a group that the coordinator has given is below */
    _Atomic bool has_changed; /* a member of the world has gone, or repairs it, or may come */
    int64_t awaits_ms;        /* until when the coordinator waits for such; clock_ms() */
    _Atomic uint32_t serial;
};

static void coord_events_free(struct coord_events *e)
{
    if (!e)
        return;
    free(e->peers);
    free(e->dir);
    free(e);
}

int coord_events_open(struct coord_events **out, struct client *c, int size, const char *dir,
                      struct fault *why)
{
    struct coord_events *e = calloc(1, sizeof(*e));

    if (e) {
        e->peers = calloc((size_t)size, sizeof(*e->peers));
        e->dir = dir ? strdup(dir) : NULL;
    }
    if (!e || !e->peers || (dir && !e->dir)) {
        coord_events_free(e);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    pthread_mutex_init(&e->lock, NULL);
    e->client = c;
    e->size = size;
    e->knock_fd = -1;
    if (c)
        fork_guard_add(client_fd(c));
    *out = e;
    return 0;
}

static void mail_free(struct mail *m)
{
    for (struct mail *after; m; m = after) {
        after = m->next;
        json_decref(m->word);
        free(m);
    }
}

void coord_events_close(struct coord_events *e)
{
    if (!e)
        return;
    mail_free(e->knocks);
    if (e->client) {
        fork_guard_forget(client_fd(e->client));
        client_close(e->client);
    }
    for (int i = 0; i < e->size; i++)
        free(e->peers[i].text);
    json_decref(e->welcome);
    json_decref(e->repaired);
    pthread_mutex_destroy(&e->lock);
    coord_events_free(e);
}

/* A lost connection would be readable for ever. */
int coord_events_fd(const struct coord_events *e)
{
    return e->client && !atomic_load(&e->is_lost) ? client_fd(e->client) : -1;
}

uint32_t coord_events_serial(const struct coord_events *e)
{
    return atomic_load_explicit(&e->serial, memory_order_acquire);
}

void coord_events_add(struct coord_events *e, struct group *g)
{
    pthread_mutex_lock(&e->lock);
    g->inbox.next = e->groups;
    e->groups = g;
    if (g->id >= e->groups_end && g->id <= INT_MAX) /* else it is a group of one */
        e->groups_end = g->id + 1;
    pthread_mutex_unlock(&e->lock);
}

int coord_events_remove(struct coord_events *e, struct group *g)
{
    struct group **at;
    int bell;

    pthread_mutex_lock(&e->lock);
    for (at = &e->groups; *at; at = &(*at)->inbox.next) {
        if (*at == g) {
            *at = g->inbox.next;
            break;
        }
    }
    reply_clear(&g->inbox.reply);
    mail_free(g->inbox.mail);
    g->inbox.mail = NULL;
    bell = g->waiting.bell;
    g->waiting.bell = -1;
    pthread_mutex_unlock(&e->lock);
    return bell;
}

struct group *coord_events_other_group(struct coord_events *e, const struct group *than)
{
    struct group *g;

    pthread_mutex_lock(&e->lock);
    for (g = e->groups; g && g == than; g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&e->lock);
    return g;
}

struct group *coord_events_busy_group(struct coord_events *e)
{
    struct group *g;

    pthread_mutex_lock(&e->lock);
    for (g = e->groups; g && !group_is_busy(g); g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&e->lock);
    return g;
}

static struct group *coord_events_group(struct coord_events *e, uint32_t id)
{
    struct group *g = e->groups;

    while (g && g->id != id)
        g = g->inbox.next;
    return g;
}

void reply_clear(struct reply *r)
{
    if (r->copy.map)
        shared_copy_unmap(&r->copy);
    else
        free(r->payload);
    *r = (struct reply){0};
}

static void coord_events_keep_reply(struct coord_events *e, uint32_t group, uint32_t seq,
                                    const struct frame *f)
{
    struct group *g = coord_events_group(e, group);
    void *copy;

    if (!g)
        return;
    copy = malloc((size_t)f->size + 1);
    g->inbox.has_come = true;
    if (!copy) {
        fault_set(&g->inbox.broken, ML_ERR_MEMORY, "out of memory for the coordinator's answer");
        return;
    }
    memcpy(copy, f->payload, f->size);
    ((char *)copy)[f->size] = '\0';
    reply_clear(&g->inbox.reply);
    g->inbox.reply = (struct reply){.seq = seq, .payload = copy, .size = f->size};
    g->inbox.has_come = true;
    /* cppcheck-suppress memleak ; g->inbox.reply owns it */
}

static void coord_events_on_exchanged(struct coord_events *e, const struct frame *f)
{
    uint32_t head[2];

    if (f->size < sizeof(head))
        return;
    memcpy(head, f->payload, sizeof(head));
    coord_events_keep_reply(e, ntohl(head[0]), ntohl(head[1]), f);
}

/* The same, but its payload is in a copy that all members on this host share. If the copy can't be
 * had, nobody knows whose answer is missing, so the connection is as good as lost. */
static int coord_events_on_copy(struct coord_events *e, const struct frame *f, struct fault *why)
{
    struct shared_copy copy;
    uint32_t number, head[2];
    struct group *g;
    int rc;

    if (f->size != sizeof(number) || !e->dir)
        return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to an exchange is damaged");
    memcpy(&number, f->payload, sizeof(number));
    rc = shared_copy_map(&copy, e->dir, ntohl(number), why);
    if (rc)
        return rc;
    if (copy.size >= sizeof(head) && copy.size <= FRAME_LIMIT) {
        memcpy(head, copy.bytes, sizeof(head));
        g = coord_events_group(e, ntohl(head[0]));
        if (g) {
            reply_clear(&g->inbox.reply);
            g->inbox.reply =
                (struct reply){ntohl(head[1]), (void *)copy.bytes, (uint32_t)copy.size, copy};
            g->inbox.has_come = true;
            return 0;
        }
    }
    shared_copy_unmap(&copy);
    return 0;
}

/* Every error has a sentence. */
static const char *coord_events_sentence(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

/* The first word about a rank is kept. */
static void coord_events_set_peer(struct coord_events *e, int rank, enum peer_state state,
                                  const char *text)
{
    if (e->peers[rank].state != PEER_PRESENT)
        return;
    e->peers[rank].state = state;
    atomic_store(&e->has_changed, true);
    e->concerns_all = true;
    e->peers[rank].text = text && *text ? strdup(text) : NULL;
}

static void coord_events_on_dead(struct coord_events *e, json_t *j)
{
    int rank = -1;
    const char *text = NULL;

    if (json_unpack(j, "{s:i, s?s}", "rank", &rank, "text", &text) == 0 && rank >= 0 &&
        rank < e->size)
        coord_events_set_peer(e, rank, PEER_DEAD, text);
}

static int coord_events_on_left(struct coord_events *e, json_t *j, struct fault *why)
{
    int count = 0, *ranks, rc;
    json_t *list;

    if (json_unpack(j, "{s:i, s:o}", "count", &count, "ranks", &list) != 0 || count < 1 ||
        count > e->size)
        return 0;
    rc = host_table_read_numbers(&ranks, list, count, e->size);
    if (rc == ML_ERR_MEMORY)
        return fault_set(why, rc, "out of memory for the coordinator's news");
    if (rc)
        return 0;
    for (int i = 0; i < count; i++)
        coord_events_set_peer(e, ranks[i], PEER_LEFT, NULL);
    free(ranks);
    return 0;
}

static void coord_events_on_broken(struct coord_events *e, json_t *j)
{
    int group = -1, code = 0;
    const char *text = "";
    struct group *g;

    if (json_unpack(j, "{s:i, s:i, s:s}", "group", &group, "code", &code, "text", &text) != 0)
        return;
    g = coord_events_group(e, (uint32_t)group);
    if (!g || g->inbox.broken.code)
        return;
    fault_set(&g->inbox.broken, code < 0 ? code : ML_ERR_PEER, "%s",
              coord_events_sentence(text, "the coordinator ended the group and said no reason"));
    g->inbox.has_come = true;
    if (g->is_world)
        atomic_store(&e->has_changed, true);
}

static void coord_events_on_failed(struct coord_events *e, json_t *j)
{
    int code = 0;
    const char *text = "";

    json_unpack(j, "{s?i, s?s}", "code", &code, "text", &text);
    fault_set(&e->failed, code < 0 ? code : ML_ERR_REFUSED, "%s",
              coord_events_sentence(text, "the coordinator refuses this rank"));
    e->concerns_all = true;
}

static void coord_events_on_answer(struct coord_events *e, json_t *j)
{
    json_int_t group = -1, value = 0;
    const char *text = "";
    struct group *g;
    int code = 0;

    if (json_unpack(j, "{s:I, s?I, s?i, s?s}", "group", &group, "value", &value, "code", &code,
                    "text", &text) != 0)
        return;
    g = coord_events_group(e, (uint32_t)group);
    if (!g)
        return;
    g->inbox.answer = (struct answer){.has_come = true, .value = (uint64_t)value};
    if (code)
        fault_set(&g->inbox.answer.failed, code < 0 ? code : ML_ERR_PEER, "%s",
                  coord_events_sentence(text, "the coordinator ended the call"));
    g->inbox.has_come = true;
}

static void coord_events_on_splitted(struct coord_events *e, json_t *j, const struct frame *f)
{
    int parent = -1, seq = 0;

    if (json_unpack(j, "{s:i, s:i}", "parent", &parent, "seq", &seq) == 0)
        coord_events_keep_reply(e, (uint32_t)parent, (uint32_t)seq, f);
}

/* False: out of memory. */
static bool mail_add(struct mail **list, uint32_t group, int from, json_t *word)
{
    struct mail *m = calloc(1, sizeof(*m));

    if (!m)
        return false;
    *m = (struct mail){.group = group, .from = from, .word = json_incref(word)};
    while (*list)
        list = &(*list)->next;
    *list = m;
    return true;
}

static struct mail *mail_take(struct mail **list)
{
    struct mail *m = *list;

    if (m)
        *list = m->next;
    return m;
}

static void coord_events_on_relayed(struct coord_events *e, json_t *j)
{
    int group = -1, from = -1;
    uint64_t one = 1;
    json_t *word;
    struct group *g;
    bool knocks;

    if (json_unpack(j, "{s:i, s:i, s:o}", "group", &group, "from", &from, "word", &word) != 0)
        return;
    g = coord_events_group(e, (uint32_t)group);
    if (!g)
        return;
    knocks = e->knock_fd >= 0 && json_object_get(word, "meet");
    g->inbox.has_come |= !knocks;
    if (!mail_add(knocks ? &e->knocks : &g->inbox.mail, g->id, from, word))
        fault_set(&g->inbox.broken, ML_ERR_MEMORY, "out of memory for a message from rank %d",
                  from);
    else if (knocks && write(e->knock_fd, &one, sizeof(one)) < 0)
        fault_os(&g->inbox.broken, ML_ERR_SYSTEM, errno, "eventfd");
}

/* Members are there, also where others have been before them. The list is checked by the thread
 * that waits for it. */
static void coord_events_on_repaired(struct coord_events *e, json_t *j)
{
    int count = 0, *members;
    json_t *list;

    json_decref(e->repaired);
    e->repaired = json_incref(j);
    atomic_store(&e->has_changed, false);
    e->concerns_all = true;
    if (json_unpack(j, "{s:i, s:o}", "count", &count, "members", &list) != 0 || count < 1 ||
        count > e->size || host_table_read_numbers(&members, list, count, e->size) != 0)
        return;
    for (int i = 0; i < count; i++) {
        free(e->peers[members[i]].text);
        e->peers[members[i]] = (struct peer){PEER_PRESENT, NULL};
    }
    free(members);
}

static void coord_events_on_awaits(struct coord_events *e, json_t *j)
{
    int ms = 0;

    if (json_unpack(j, "{s:i}", "ms", &ms) == 0 && ms > 0)
        e->awaits_ms = clock_ms() + ms;
    e->concerns_all = true;
}

/* A frame that does not parse is dropped: a thread that waits for it ends by the coordinator's next
 * frame, or by its end. Types that this build does not know are ignored. Without memory for a frame
 * nothing is known of the peers any more. */
static int coord_events_take_frame(struct coord_events *e, const struct frame *f, struct fault *why)
{
    json_error_t error;
    json_t *j;
    int rc = 0;

    if (f->type == COORD_EXCHANGED) {
        coord_events_on_exchanged(e, f);
        return 0;
    }
    if (f->type == COORD_EXCHANGED_COPY)
        return coord_events_on_copy(e, f, why);
    j = parsed_json((const char *)f->payload, f->size, 0, &error);
    if (!j && json_error_code(&error) == json_error_out_of_memory)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the coordinator's news");
    switch (f->type) {
    case COORD_DEAD:
        coord_events_on_dead(e, j);
        break;
    case COORD_LEFT:
        rc = coord_events_on_left(e, j, why);
        break;
    case COORD_BROKEN:
        coord_events_on_broken(e, j);
        break;
    case COORD_SPLITTED:
        coord_events_on_splitted(e, j, f);
        break;
    case COORD_WELCOME:
        if (!e->welcome)
            e->welcome = json_incref(j);
        break;
    case COORD_FAILED:
        coord_events_on_failed(e, j);
        break;
    case COORD_REPAIRED:
        coord_events_on_repaired(e, j);
        break;
    case COORD_COMES:
        atomic_store(&e->has_changed, true);
        break;
    case COORD_AWAITS:
        coord_events_on_awaits(e, j);
        break;
    case COORD_AGREED:
    case COORD_CREATED:
        coord_events_on_answer(e, j);
        break;
    case COORD_RELAYED:
        coord_events_on_relayed(e, j);
        break;
    default:
        break;
    }
    json_decref(j);
    return rc;
}

/* Wakes those whom what has been read concerns, and no others: a window's thread sleeps for its
 * whole life, and there may be a thousand of them. */
static void coord_events_ring(struct coord_events *e, const struct group *reader)
{
    for (struct group *g = e->groups; g; g = g->inbox.next) {
        bool is_due = g->inbox.has_come || e->concerns_all;

        g->inbox.has_come = false;
        if (is_due && g != reader && g->waiting.bell >= 0)
            bell_ring(g->waiting.bell);
    }
    e->concerns_all = false;
}

void coord_events_move(struct coord_events *e, struct client *c)
{
    struct client *lost;

    pthread_mutex_lock(&e->lock);
    lost = e->client;
    e->client = c;
    /* Nobody tells them any more, and they may not have seen the loss yet. */
    for (struct group *g = e->groups; g; g = g->inbox.next) {
        g->inbox.answer = (struct answer){.has_come = true, .failed = e->lost};
        if (!g->inbox.broken.code)
            g->inbox.broken = e->lost;
    }
    e->concerns_all = true;
    e->lost = e->failed = (struct fault){0};
    atomic_store(&e->is_lost, false);
    fork_guard_forget(client_fd(lost));
    fork_guard_add(client_fd(c));
    pthread_mutex_unlock(&e->lock);
    client_close(lost);
}

static void coord_events_read_locked(struct coord_events *e, const struct group *reader)
{
    struct frame f;
    struct fault why = {0};
    bool any = false;
    int rc;

    if (!e->client || e->lost.code)
        return;
    while ((rc = client_poll(e->client, &f, &why)) > 0) {
        rc = coord_events_take_frame(e, &f, &why);
        if (rc < 0)
            break;
        any = true;
    }
    if (rc < 0) {
        fault_set(&e->lost, rc == ML_ERR_MEMORY ? rc : ML_ERR_PEER, "%s", why.text);
        atomic_store(&e->is_lost, true);
        e->concerns_all = any = true;
    }
    if (!any)
        return;
    atomic_fetch_add_explicit(&e->serial, 1, memory_order_release);
    coord_events_ring(e, reader);
}

void coord_events_read(struct coord_events *e, const struct group *reader)
{
    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, reader);
    pthread_mutex_unlock(&e->lock);
}

int coord_events_sleep_begin(struct coord_events *e, struct group *g)
{
    int fd = coord_events_fd(e);

    if (fd < 0 || g->waiting.bell < 0)
        return fd;
    pthread_mutex_lock(&e->lock);
    g->inbox.sleeps = true;
    if (!e->watcher)
        e->watcher = g;
    if (e->watcher != g)
        fd = -1;
    pthread_mutex_unlock(&e->lock);
    return fd;
}

void coord_events_sleep_end(struct coord_events *e, struct group *g)
{
    struct group *heir = NULL;

    if (!e->client || g->waiting.bell < 0)
        return;
    pthread_mutex_lock(&e->lock);
    g->inbox.sleeps = false;
    if (e->watcher == g)
        e->watcher = NULL;
    if (!e->watcher)
        heir = e->groups;
    while (heir && !heir->inbox.sleeps)
        heir = heir->inbox.next;
    if (heir)
        bell_ring(heir->waiting.bell); /* it begins to sleep again, as the watcher */
    pthread_mutex_unlock(&e->lock);
}

static int coord_events_broken_locked(const struct coord_events *e, const struct group *g,
                                      struct fault *why)
{
    const struct fault *f = g->inbox.broken.code ? &g->inbox.broken : &e->lost;

    if (f->code && why)
        *why = *f;
    return f->code;
}

int coord_events_broken(struct coord_events *e, const struct group *g, struct fault *why)
{
    int rc;

    pthread_mutex_lock(&e->lock);
    rc = coord_events_broken_locked(e, g, why);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

static enum peer_state coord_events_peer_locked(const struct coord_events *e, int rank,
                                                struct fault *why)
{
    const struct peer *p = &e->peers[rank];

    if (p->state == PEER_LEFT)
        fault_set(why, ML_ERR_PEER, "rank %d has left the job (ml_finalize)", rank);
    else if (p->state == PEER_DEAD && !p->text)
        fault_set(why, ML_ERR_PEER, "rank %d is gone", rank);
    else if (p->state == PEER_DEAD && strncmp(p->text, "rank ", 5) == 0)
        fault_set(why, ML_ERR_PEER, "%s", p->text);
    else if (p->state == PEER_DEAD)
        fault_set(why, ML_ERR_PEER, "rank %d %s", rank, p->text);
    return p->state;
}

enum peer_state coord_events_peer(struct coord_events *e, int rank, struct fault *why)
{
    enum peer_state state;

    pthread_mutex_lock(&e->lock);
    state = coord_events_peer_locked(e, rank, why);
    pthread_mutex_unlock(&e->lock);
    return state;
}

json_t *coord_events_mail(struct coord_events *e, struct group *g, int *from)
{
    struct mail *m;
    json_t *word = NULL;

    pthread_mutex_lock(&e->lock);
    m = mail_take(&g->inbox.mail);
    pthread_mutex_unlock(&e->lock);
    if (m) {
        word = m->word;
        *from = m->from;
    }
    free(m);
    return word;
}

void coord_events_knocks(struct coord_events *e, int fd)
{
    pthread_mutex_lock(&e->lock);
    e->knock_fd = fd;
    pthread_mutex_unlock(&e->lock);
}

bool coord_events_knock(struct coord_events *e, struct knock *out)
{
    struct mail *m;

    pthread_mutex_lock(&e->lock);
    m = mail_take(&e->knocks);
    pthread_mutex_unlock(&e->lock);
    if (!m)
        return false;
    *out = (struct knock){m->group, m->from, m->word};
    free(m);
    return true;
}

int coord_events_send_bytes(struct coord_events *e, uint8_t type, const void *payload,
                            uint32_t size, struct fault *why)
{
    int rc;

    if (!e->client)
        return 0;
    pthread_mutex_lock(&e->lock);
    if (e->lost.code) {
        if (why)
            *why = e->lost;
        rc = e->lost.code;
    } else {
        rc = client_send(e->client, type, payload, size, why);
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

int coord_events_send(struct coord_events *e, uint8_t type, json_t *payload, struct fault *why)
{
    char *text = json_dumps(payload, JSON_COMPACT);
    int rc;

    json_decref(payload);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = coord_events_send_bytes(e, type, text, (uint32_t)strlen(text), why);
    free(text);
    return rc;
}

void coord_events_break(struct coord_events *e, const struct group *g, const struct fault *why)
{
    if (g->size > 1)
        coord_events_send(e, COORD_BREAK,
                          json_pack("{s:I, s:i, s:o}", "group", (json_int_t)g->id, "code",
                                    why->code, "text", text_json(why->text)),
                          NULL);
}

void coord_events_end_call(struct coord_events *e, struct group *g, const struct fault *why)
{
    pthread_mutex_lock(&e->lock);
    if (!g->inbox.broken.code)
        g->inbox.broken = *why;
    if (!g->inbox.answer.has_come)
        g->inbox.answer = (struct answer){.has_come = true, .failed = *why};
    atomic_fetch_add_explicit(&e->serial, 1, memory_order_release);
    if (g->waiting.bell >= 0)
        bell_ring(g->waiting.bell);
    pthread_mutex_unlock(&e->lock);
}

/* Sleeps until the coordinator or another thread has news, at most until deadline_ms (-1: without
 * end). */
static int coord_events_sleep(struct coord_events *e, struct group *g, int64_t deadline_ms,
                              struct fault *why)
{
    struct door *door = g ? g->world->door : NULL;
    struct pollfd p[3] = {
        {.fd = g ? coord_events_sleep_begin(e, g) : coord_events_fd(e), .events = POLLIN},
        {.fd = g ? g->waiting.bell : -1, .events = POLLIN},
        {.fd = door ? door->fd : -1, .events = POLLIN}};
    int rc = clock_poll(p, door ? 3 : 2, deadline_ms);
    int err = errno;

    if (rc > 0 && p[0].revents)
        coord_events_read(e, g);
    if (rc > 0 && p[1].revents)
        bell_silence(g->waiting.bell);
    if (g)
        coord_events_sleep_end(e, g);
    if (rc < 0 && err != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, err, "poll");
    if (rc == 0)
        return fault_set(why, ML_ERR_TIMEOUT, "no answer from the coordinator in time");
    /* If there is no descriptor to answer others with, the door is left alone for a moment. */
    if (rc > 0 && door && p[2].revents && door->look(door, g, NULL) != 0)
        poll(p, 2, DOOR_MS);
    return 0;
}

/* 1: out is filled; 0: not yet; otherwise the code for which it will never come. */
static int coord_events_take_reply(struct coord_events *e, struct group *g, struct reply *out,
                                   struct fault *why)
{
    int rc;

    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, g);
    rc = 0;
    if (g->inbox.reply.payload && g->inbox.reply.seq == g->exchanges) {
        *out = g->inbox.reply;
        g->inbox.reply = (struct reply){0};
        rc = 1;
    }
    if (!rc)
        rc = coord_events_broken_locked(e, g, why);
    /* The coordinator sends in order: if the answer had been complete before that member went, it
     * would be here. */
    for (int i = 0; i < g->size && !rc; i++)
        if (coord_events_peer_locked(e, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    pthread_mutex_unlock(&e->lock);
    return rc;
}

int coord_events_await(struct coord_events *e, struct group *g, int64_t deadline_ms,
                       struct reply *out, struct fault *why)
{
    struct wait_noted noted = {0};
    int rc;

    do {
        rc = coord_events_take_reply(e, g, out, why);
        if (rc != 0)
            break;
        rc = coord_events_sleep(e, g, wait_noted_deadline(&noted, deadline_ms), why);
        if (rc == ML_ERR_TIMEOUT && wait_noted_look(&noted, g))
            rc = 0;
    } while (!rc);
    wait_noted_end(&noted, g);
    return rc > 0 ? 0 : rc;
}

int coord_events_break_first(struct coord_events *e, struct group *g, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + PEER_WORD_MS;
    struct fault first;

    if (g->size == 1)
        return why->code;
    coord_events_break(e, g, why);
    do {
        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, g);
        first = g->inbox.broken;
        pthread_mutex_unlock(&e->lock);
        if (first.code)
            *why = first;
    } while (!first.code && coord_events_fd(e) >= 0 &&
             coord_events_sleep(e, g, deadline_ms, &first) == 0);
    return why->code;
}

int coord_events_await_welcome(struct coord_events *e, int64_t deadline_ms, json_t **welcome,
                               struct fault *why)
{
    for (;;) {
        struct fault bad;
        json_t *j;
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, NULL);
        j = json_incref(e->welcome);
        bad = e->failed.code ? e->failed : e->lost;
        pthread_mutex_unlock(&e->lock);
        if (j) {
            *welcome = j;
            return 0;
        }
        if (bad.code) {
            *why = bad;
            return bad.code;
        }
        rc = coord_events_sleep(e, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int coord_events_await_left(struct coord_events *e, int rank, int64_t deadline_ms,
                            struct fault *why)
{
    for (;;) {
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, NULL);
        rc = e->peers[rank].state == PEER_LEFT ? 1 : e->lost.code;
        pthread_mutex_unlock(&e->lock);
        if (rc)
            return rc > 0 ? 0 : fault_set(why, rc, "lost the job's coordinator");
        rc = coord_events_sleep(e, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int coord_events_await_repaired(struct coord_events *e, struct group *g, int64_t deadline_ms,
                                int margin_ms, json_t **repaired, struct fault *why)
{
    for (;;) {
        struct fault bad;
        int rc;

        pthread_mutex_lock(&e->lock);
        coord_events_read_locked(e, g);
        *repaired = e->repaired;
        e->repaired = NULL;
        bad = e->failed.code ? e->failed : e->lost;
        e->failed = (struct fault){0};
        if (deadline_ms < e->awaits_ms + margin_ms)
            deadline_ms = e->awaits_ms + margin_ms;
        pthread_mutex_unlock(&e->lock);
        if (*repaired)
            return 0;
        if (bad.code) {
            *why = bad;
            return bad.code;
        }
        rc = coord_events_sleep(e, g, deadline_ms, why);
        if (rc)
            return rc;
    }
}

void coord_events_keeps_alone(struct coord_events *e, const char *why)
{
    /* If the coordinator is lost, calls notice it. */
    coord_events_send(e, COORD_ALONE, json_pack("{s:o}", "text", text_json(why)), NULL);
}

/* 1: it is there. 0: not yet. */
static int coord_events_take_answer(struct coord_events *e, struct group *g, uint64_t *value,
                                    struct fault *why)
{
    struct answer a;
    struct fault lost;

    pthread_mutex_lock(&e->lock);
    coord_events_read_locked(e, g);
    a = g->inbox.answer;
    g->inbox.answer = (struct answer){0};
    lost = e->lost;
    pthread_mutex_unlock(&e->lock);
    if (!a.has_come)
        a.failed = lost;
    if (a.failed.code) {
        *why = a.failed;
        return why->code;
    }
    if (a.has_come)
        *value = a.value;
    return a.has_come;
}

int coord_events_await_answer(struct coord_events *e, struct group *g, const char *call,
                              uint64_t *value, struct fault *why)
{
    struct waiting_call waits = {call, call, 0, json_array()};
    struct wait_noted noted = {0};
    int rc;

    while ((rc = coord_events_take_answer(e, g, value, why)) == 0) {
        rc = coord_events_sleep(e, g, wait_noted_deadline(&noted, -1), why);
        if (rc && rc != ML_ERR_TIMEOUT)
            break;
        wait_noted_look_call(&noted, g, &waits);
    }
    wait_noted_end(&noted, g);
    json_decref(waits.peers);
    return rc > 0 ? 0 : rc;
}

uint32_t coord_events_groups_end(struct coord_events *e)
{
    uint32_t end;

    pthread_mutex_lock(&e->lock);
    end = e->groups_end;
    pthread_mutex_unlock(&e->lock);
    return end;
}

bool coord_events_has_changed(const struct coord_events *e)
{
    return atomic_load_explicit(&e->has_changed, memory_order_relaxed);
}
