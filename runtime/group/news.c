/* SPDX-License-Identifier: MIT */
#include "runtime/group/news.h"

#include "common/clock.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/bell.h"
#include "runtime/process/fork_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct peer {
    enum peer_state state;
    char *text; /* if it is dead: who, where, how */
};

struct mail {
    struct mail *next;
    int from;
    json_t *word;
};

struct news {
    pthread_mutex_t lock; /* over all of the below and the groups' inboxes */
    struct client *client;
    struct fault lost;    /* code != 0: the connection is gone */
    _Atomic bool is_lost; /* the same, for threads without the lock */
    struct group *groups;
    struct peer *peers; /* per world rank */
    int size;
    json_t *welcome;
    struct fault failed; /* why the coordinator refused this rank */
    _Atomic uint32_t serial;
};

int news_open(struct news **out, struct client *c, int size, struct fault *why)
{
    struct news *n = calloc(1, sizeof(*n));

    if (n)
        n->peers = calloc((size_t)size, sizeof(*n->peers));
    if (!n || !n->peers) {
        free(n);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    pthread_mutex_init(&n->lock, NULL);
    n->client = c;
    n->size = size;
    if (c)
        fork_guard_add(client_fd(c));
    *out = n;
    return 0;
}

void news_close(struct news *n)
{
    if (!n)
        return;
    if (n->client) {
        fork_guard_forget(client_fd(n->client));
        client_close(n->client);
    }
    for (int i = 0; i < n->size; i++)
        free(n->peers[i].text);
    free(n->peers);
    json_decref(n->welcome);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

/* A lost connection would be readable for ever. */
int news_fd(const struct news *n)
{
    return n->client && !atomic_load(&n->is_lost) ? client_fd(n->client) : -1;
}

uint32_t news_serial(const struct news *n)
{
    return atomic_load_explicit(&n->serial, memory_order_acquire);
}

void news_add(struct news *n, struct group *g)
{
    pthread_mutex_lock(&n->lock);
    g->inbox.next = n->groups;
    n->groups = g;
    pthread_mutex_unlock(&n->lock);
}

void news_remove(struct news *n, struct group *g)
{
    struct group **at;

    pthread_mutex_lock(&n->lock);
    for (at = &n->groups; *at; at = &(*at)->inbox.next) {
        if (*at == g) {
            *at = g->inbox.next;
            break;
        }
    }
    free(g->inbox.reply.payload);
    g->inbox.reply.payload = NULL;
    for (struct mail *m = g->inbox.mail, *after; m; m = after) {
        after = m->next;
        json_decref(m->word);
        free(m);
    }
    g->inbox.mail = NULL;
    pthread_mutex_unlock(&n->lock);
}

struct group *news_other_group(struct news *n, const struct group *than)
{
    struct group *g;

    pthread_mutex_lock(&n->lock);
    for (g = n->groups; g && g == than; g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&n->lock);
    return g;
}

struct group *news_busy_group(struct news *n)
{
    struct group *g;

    pthread_mutex_lock(&n->lock);
    for (g = n->groups; g && !group_is_busy(g); g = g->inbox.next)
        continue;
    pthread_mutex_unlock(&n->lock);
    return g;
}

static struct group *news_group(struct news *n, uint32_t id)
{
    struct group *g = n->groups;

    while (g && g->id != id)
        g = g->inbox.next;
    return g;
}

static void news_keep_reply(struct news *n, uint32_t group, uint32_t seq, const struct frame *f)
{
    struct group *g = news_group(n, group);
    void *copy;

    if (!g)
        return;
    copy = malloc((size_t)f->size + 1);
    if (!copy) {
        fault_set(&g->inbox.broken, ML_ERR_MEMORY, "out of memory for the coordinator's answer");
        return;
    }
    memcpy(copy, f->payload, f->size);
    ((char *)copy)[f->size] = '\0';
    free(g->inbox.reply.payload);
    g->inbox.reply = (struct reply){seq, copy, f->size};
    /* cppcheck-suppress memleak ; g->inbox.reply owns it */
}

static void news_on_exchanged(struct news *n, const struct frame *f)
{
    uint32_t head[2];

    if (f->size < sizeof(head))
        return;
    memcpy(head, f->payload, sizeof(head));
    news_keep_reply(n, ntohl(head[0]), ntohl(head[1]), f);
}

/* Every error has a sentence. */
static const char *news_sentence(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

static void news_on_peer(struct news *n, json_t *j, enum peer_state state)
{
    int rank = -1;
    const char *text = NULL;

    if (json_unpack(j, "{s:i, s?s}", "rank", &rank, "text", &text) != 0 || rank < 0 ||
        rank >= n->size || n->peers[rank].state != PEER_PRESENT)
        return;
    n->peers[rank].state = state;
    n->peers[rank].text = text && *text ? strdup(text) : NULL;
}

static void news_on_broken(struct news *n, json_t *j)
{
    int group = -1, code = 0;
    const char *text = "";
    struct group *g;

    if (json_unpack(j, "{s:i, s:i, s:s}", "group", &group, "code", &code, "text", &text) != 0)
        return;
    g = news_group(n, (uint32_t)group);
    if (g && !g->inbox.broken.code)
        fault_set(&g->inbox.broken, code < 0 ? code : ML_ERR_PEER, "%s",
                  news_sentence(text, "the coordinator ended the group and said no reason"));
}

static void news_on_failed(struct news *n, json_t *j)
{
    int code = 0;
    const char *text = "";

    json_unpack(j, "{s?i, s?s}", "code", &code, "text", &text);
    fault_set(&n->failed, code < 0 ? code : ML_ERR_REFUSED, "%s",
              news_sentence(text, "the coordinator refuses this rank"));
}

static void news_on_splitted(struct news *n, json_t *j, const struct frame *f)
{
    int parent = -1, seq = 0;

    if (json_unpack(j, "{s:i, s:i}", "parent", &parent, "seq", &seq) == 0)
        news_keep_reply(n, (uint32_t)parent, (uint32_t)seq, f);
}

static void news_on_relayed(struct news *n, json_t *j)
{
    int group = -1, from = -1;
    json_t *word;
    struct mail *m, **end;
    struct group *g;

    if (json_unpack(j, "{s:i, s:i, s:o}", "group", &group, "from", &from, "word", &word) != 0)
        return;
    g = news_group(n, (uint32_t)group);
    if (!g)
        return;
    m = calloc(1, sizeof(*m));
    if (!m) {
        fault_set(&g->inbox.broken, ML_ERR_MEMORY, "out of memory for a message from rank %d",
                  from);
        return;
    }
    m->from = from;
    m->word = json_incref(word);
    for (end = &g->inbox.mail; *end; end = &(*end)->next)
        continue;
    *end = m;
}

/* A frame that does not parse is dropped: a thread that waits for it ends by the coordinator's next
 * frame, or by its end. Types that this build does not know are ignored. Without memory for a frame
 * nothing is known of the peers any more. */
static int news_take_frame(struct news *n, const struct frame *f, struct fault *why)
{
    json_error_t error;
    json_t *j;

    if (f->type == COORD_EXCHANGED) {
        news_on_exchanged(n, f);
        return 0;
    }
    j = parsed_json((const char *)f->payload, f->size, 0, &error);
    if (!j && json_error_code(&error) == json_error_out_of_memory)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the coordinator's news");
    switch (f->type) {
    case COORD_DEAD:
        news_on_peer(n, j, PEER_DEAD);
        break;
    case COORD_LEFT:
        news_on_peer(n, j, PEER_LEFT);
        break;
    case COORD_BROKEN:
        news_on_broken(n, j);
        break;
    case COORD_SPLITTED:
        news_on_splitted(n, j, f);
        break;
    case COORD_WELCOME:
        if (!n->welcome)
            n->welcome = json_incref(j);
        break;
    case COORD_FAILED:
        news_on_failed(n, j);
        break;
    case COORD_RELAYED:
        news_on_relayed(n, j);
        break;
    default:
        break;
    }
    json_decref(j);
    return 0;
}

static void news_read_locked(struct news *n, const struct group *reader)
{
    struct frame f;
    struct fault why = {0};
    bool any = false;
    int rc;

    if (!n->client || n->lost.code)
        return;
    while ((rc = client_poll(n->client, &f, &why)) > 0) {
        rc = news_take_frame(n, &f, &why);
        if (rc < 0)
            break;
        any = true;
    }
    if (rc < 0) {
        fault_set(&n->lost, rc == ML_ERR_MEMORY ? rc : ML_ERR_PEER, "%s", why.text);
        atomic_store(&n->is_lost, true);
        any = true;
    }
    if (!any)
        return;
    atomic_fetch_add_explicit(&n->serial, 1, memory_order_release);
    for (struct group *g = n->groups; g; g = g->inbox.next)
        if (g != reader && g->waiting.bell >= 0)
            bell_ring(g->waiting.bell);
}

void news_read(struct news *n, const struct group *reader)
{
    pthread_mutex_lock(&n->lock);
    news_read_locked(n, reader);
    pthread_mutex_unlock(&n->lock);
}

static int news_broken_locked(const struct news *n, const struct group *g, struct fault *why)
{
    const struct fault *f = g->inbox.broken.code ? &g->inbox.broken : &n->lost;

    if (f->code && why)
        *why = *f;
    return f->code;
}

int news_broken(struct news *n, const struct group *g, struct fault *why)
{
    int rc;

    pthread_mutex_lock(&n->lock);
    rc = news_broken_locked(n, g, why);
    pthread_mutex_unlock(&n->lock);
    return rc;
}

static enum peer_state news_peer_locked(const struct news *n, int rank, struct fault *why)
{
    const struct peer *p = &n->peers[rank];

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

enum peer_state news_peer(struct news *n, int rank, struct fault *why)
{
    enum peer_state state;

    pthread_mutex_lock(&n->lock);
    state = news_peer_locked(n, rank, why);
    pthread_mutex_unlock(&n->lock);
    return state;
}

json_t *news_mail(struct news *n, struct group *g, int *from)
{
    struct mail *m;
    json_t *word = NULL;

    pthread_mutex_lock(&n->lock);
    m = g->inbox.mail;
    if (m) {
        word = m->word;
        *from = m->from;
        g->inbox.mail = m->next;
    }
    pthread_mutex_unlock(&n->lock);
    free(m);
    return word;
}

int news_tell_bytes(struct news *n, uint8_t type, const void *payload, uint32_t size,
                    struct fault *why)
{
    int rc;

    if (!n->client)
        return 0;
    pthread_mutex_lock(&n->lock);
    if (n->lost.code) {
        if (why)
            *why = n->lost;
        rc = n->lost.code;
    } else {
        rc = client_send(n->client, type, payload, size, why);
    }
    pthread_mutex_unlock(&n->lock);
    return rc;
}

int news_tell(struct news *n, uint8_t type, json_t *payload, struct fault *why)
{
    char *text = json_dumps(payload, JSON_COMPACT);
    int rc;

    json_decref(payload);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = news_tell_bytes(n, type, text, (uint32_t)strlen(text), why);
    free(text);
    return rc;
}

void news_break(struct news *n, const struct group *g, const struct fault *why)
{
    if (g->size > 1)
        news_tell(n, COORD_BREAK,
                  json_pack("{s:I, s:i, s:o}", "group", (json_int_t)g->id, "code", why->code,
                            "text", text_json(why->text)),
                  NULL);
}

/* Sleeps until the coordinator or another thread has news, at most until deadline_ms (-1: without
 * end). */
static int news_sleep(struct news *n, const struct group *g, int64_t deadline_ms, struct fault *why)
{
    struct pollfd p[2] = {{.fd = news_fd(n), .events = POLLIN},
                          {.fd = g ? g->waiting.bell : -1, .events = POLLIN}};
    int rc = poll(p, 2, deadline_ms < 0 ? -1 : clock_left_ms(deadline_ms));

    if (rc < 0 && errno != EINTR)
        return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    if (g && p[1].revents)
        bell_silence(g->waiting.bell);
    if (rc == 0)
        return fault_set(why, ML_ERR_TIMEOUT, "no answer from the coordinator in time");
    return 0;
}

/* 1: out is filled; 0: not yet; otherwise the code for which it will never come. */
static int news_take_reply(struct news *n, struct group *g, struct reply *out, struct fault *why)
{
    int rc;

    pthread_mutex_lock(&n->lock);
    news_read_locked(n, g);
    rc = 0;
    if (g->inbox.reply.payload && g->inbox.reply.seq == g->exchanges) {
        *out = g->inbox.reply;
        g->inbox.reply = (struct reply){0};
        rc = 1;
    }
    if (!rc)
        rc = news_broken_locked(n, g, why);
    /* The coordinator sends in order: if the answer had been complete before that member went, it
     * would be here. */
    for (int i = 0; i < g->size && !rc; i++)
        if (news_peer_locked(n, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    pthread_mutex_unlock(&n->lock);
    return rc;
}

int news_await(struct news *n, struct group *g, int64_t deadline_ms, struct reply *out,
               struct fault *why)
{
    for (;;) {
        int rc = news_take_reply(n, g, out, why);

        if (rc != 0)
            return rc > 0 ? 0 : rc;
        rc = news_sleep(n, g, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int news_await_welcome(struct news *n, int64_t deadline_ms, json_t **welcome, struct fault *why)
{
    for (;;) {
        struct fault bad;
        json_t *j;
        int rc;

        pthread_mutex_lock(&n->lock);
        news_read_locked(n, NULL);
        j = json_incref(n->welcome);
        bad = n->failed.code ? n->failed : n->lost;
        pthread_mutex_unlock(&n->lock);
        if (j) {
            *welcome = j;
            return 0;
        }
        if (bad.code) {
            *why = bad;
            return bad.code;
        }
        rc = news_sleep(n, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}

int news_await_left(struct news *n, int rank, int64_t deadline_ms, struct fault *why)
{
    for (;;) {
        int rc;

        pthread_mutex_lock(&n->lock);
        news_read_locked(n, NULL);
        rc = n->peers[rank].state == PEER_LEFT ? 1 : n->lost.code;
        pthread_mutex_unlock(&n->lock);
        if (rc)
            return rc > 0 ? 0 : fault_set(why, rc, "lost the job's coordinator");
        rc = news_sleep(n, NULL, deadline_ms, why);
        if (rc)
            return rc;
    }
}
