/* SPDX-License-Identifier: MIT */
#include "runtime/group/coord_news.h"

#include "common/clock.h"
#include "common/net/frame.h"
#include "common/net/host_table.h"
#include "common/text/parsed_json.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peer {
    enum peer_state state;
    char *text; /* if it is dead: who, where, how */
};

int coord_news_open(struct coord_news *n, int size, const char *dir, struct fault *why)
{
    n->peers = calloc((size_t)size, sizeof(*n->peers));
    n->dir = dir ? strdup(dir) : NULL;
    if (!n->peers || (dir && !n->dir)) {
        free(n->peers);
        free(n->dir);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    n->size = size;
    n->knock_fd = -1;
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

void coord_news_close(struct coord_news *n)
{
    mail_free(n->knocks);
    for (int i = 0; i < n->size; i++)
        free(n->peers[i].text);
    json_decref(n->welcome);
    json_decref(n->repaired);
    free(n->peers);
    free(n->dir);
}

void coord_news_add(struct coord_news *n, struct group *g)
{
    g->inbox.next = n->groups;
    n->groups = g;
    if (g->id >= n->groups_end && g->id <= INT_MAX) /* else it is a group of one */
        n->groups_end = g->id + 1;
}

void coord_news_remove(struct coord_news *n, struct group *g)
{
    struct group **at;

    for (at = &n->groups; *at; at = &(*at)->inbox.next) {
        if (*at == g) {
            *at = g->inbox.next;
            break;
        }
    }
    reply_clear(&g->inbox.reply);
    mail_free(g->inbox.mail);
    g->inbox.mail = NULL;
}

static struct group *news_group(struct coord_news *n, uint32_t id)
{
    struct group *g = n->groups;

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

static void news_keep_reply(struct coord_news *n, uint32_t group, uint32_t seq,
                            const struct frame *f)
{
    struct group *g = news_group(n, group);
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

static void news_on_exchanged(struct coord_news *n, const struct frame *f)
{
    uint32_t head[2];

    if (f->size < sizeof(head))
        return;
    memcpy(head, f->payload, sizeof(head));
    news_keep_reply(n, ntohl(head[0]), ntohl(head[1]), f);
}

/* The same, but its payload is in a copy that all members on this host share. If the copy can't be
 * had, nobody knows whose answer is missing, so the connection is as good as lost. */
static int news_on_copy(struct coord_news *n, const struct frame *f, struct fault *why)
{
    struct shared_copy copy;
    uint32_t number, head[2];
    struct group *g;
    int rc;

    if (f->size != sizeof(number) || !n->dir)
        return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to an exchange is damaged");
    memcpy(&number, f->payload, sizeof(number));
    rc = shared_copy_map(&copy, n->dir, ntohl(number), why);
    if (rc)
        return rc;
    if (copy.size >= sizeof(head) && copy.size <= FRAME_LIMIT) {
        memcpy(head, copy.bytes, sizeof(head));
        g = news_group(n, ntohl(head[0]));
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
static const char *news_sentence(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

/* The first word about a rank is kept. */
static void news_set_peer(struct coord_news *n, int rank, enum peer_state state, const char *text)
{
    if (n->peers[rank].state != PEER_PRESENT)
        return;
    n->peers[rank].state = state;
    atomic_store(&n->has_changed, true);
    n->concerns_all = true;
    n->peers[rank].text = text && *text ? strdup(text) : NULL;
}

static void news_on_dead(struct coord_news *n, json_t *j)
{
    int rank = -1;
    const char *text = NULL;

    if (json_unpack(j, "{s:i, s?s}", "rank", &rank, "text", &text) == 0 && rank >= 0 &&
        rank < n->size)
        news_set_peer(n, rank, PEER_DEAD, text);
}

static int news_on_left(struct coord_news *n, json_t *j, struct fault *why)
{
    int count = 0, *ranks, rc;
    json_t *list;

    if (json_unpack(j, "{s:i, s:o}", "count", &count, "ranks", &list) != 0 || count < 1 ||
        count > n->size)
        return 0;
    rc = host_table_read_numbers(&ranks, list, count, n->size);
    if (rc == ML_ERR_MEMORY)
        return fault_set(why, rc, "out of memory for the coordinator's news");
    if (rc)
        return 0;
    for (int i = 0; i < count; i++)
        news_set_peer(n, ranks[i], PEER_LEFT, NULL);
    free(ranks);
    return 0;
}

static void news_on_broken(struct coord_news *n, json_t *j)
{
    int group = -1, code = 0;
    const char *text = "";
    struct group *g;

    if (json_unpack(j, "{s:i, s:i, s:s}", "group", &group, "code", &code, "text", &text) != 0)
        return;
    g = news_group(n, (uint32_t)group);
    if (!g || g->inbox.broken.code)
        return;
    fault_set(&g->inbox.broken, code < 0 ? code : ML_ERR_PEER, "%s",
              news_sentence(text, "the coordinator ended the group and said no reason"));
    g->inbox.has_come = true;
    if (g->is_world)
        atomic_store(&n->has_changed, true);
}

static void news_on_failed(struct coord_news *n, json_t *j)
{
    int code = 0;
    const char *text = "";

    json_unpack(j, "{s?i, s?s}", "code", &code, "text", &text);
    fault_set(&n->failed, code < 0 ? code : ML_ERR_REFUSED, "%s",
              news_sentence(text, "the coordinator refuses this rank"));
    n->concerns_all = true;
}

static void news_on_answer(struct coord_news *n, json_t *j)
{
    json_int_t group = -1, value = 0;
    const char *text = "";
    struct group *g;
    int code = 0;

    if (json_unpack(j, "{s:I, s?I, s?i, s?s}", "group", &group, "value", &value, "code", &code,
                    "text", &text) != 0)
        return;
    g = news_group(n, (uint32_t)group);
    if (!g)
        return;
    g->inbox.answer = (struct answer){.has_come = true, .value = (uint64_t)value};
    if (code)
        fault_set(&g->inbox.answer.failed, code < 0 ? code : ML_ERR_PEER, "%s",
                  news_sentence(text, "the coordinator ended the call"));
    g->inbox.has_come = true;
}

static void news_on_splitted(struct coord_news *n, json_t *j, const struct frame *f)
{
    int parent = -1, seq = 0;

    if (json_unpack(j, "{s:i, s:i}", "parent", &parent, "seq", &seq) == 0)
        news_keep_reply(n, (uint32_t)parent, (uint32_t)seq, f);
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

struct mail *coord_news_mail(struct mail **list)
{
    struct mail *m = *list;

    if (m)
        *list = m->next;
    return m;
}

static void news_on_relayed(struct coord_news *n, json_t *j)
{
    int group = -1, from = -1;
    uint64_t one = 1;
    json_t *word;
    struct group *g;
    bool knocks;

    if (json_unpack(j, "{s:i, s:i, s:o}", "group", &group, "from", &from, "word", &word) != 0)
        return;
    g = news_group(n, (uint32_t)group);
    if (!g)
        return;
    knocks = n->knock_fd >= 0 && json_object_get(word, "meet");
    g->inbox.has_come |= !knocks;
    if (!mail_add(knocks ? &n->knocks : &g->inbox.mail, g->id, from, word))
        fault_set(&g->inbox.broken, ML_ERR_MEMORY, "out of memory for a message from rank %d",
                  from);
    else if (knocks && write(n->knock_fd, &one, sizeof(one)) < 0)
        fault_os(&g->inbox.broken, ML_ERR_SYSTEM, errno, "eventfd");
}

/* Members are there, also where others have been before them. The list is checked by the thread
 * that waits for it. */
static void news_on_repaired(struct coord_news *n, json_t *j)
{
    int count = 0, *members;
    json_t *list;

    json_decref(n->repaired);
    n->repaired = json_incref(j);
    atomic_store(&n->has_changed, false);
    n->concerns_all = true;
    if (json_unpack(j, "{s:i, s:o}", "count", &count, "members", &list) != 0 || count < 1 ||
        count > n->size || host_table_read_numbers(&members, list, count, n->size) != 0)
        return;
    for (int i = 0; i < count; i++) {
        free(n->peers[members[i]].text);
        n->peers[members[i]] = (struct peer){PEER_PRESENT, NULL};
    }
    free(members);
}

static void news_on_awaits(struct coord_news *n, json_t *j)
{
    int ms = 0;

    if (json_unpack(j, "{s:i}", "ms", &ms) == 0 && ms > 0)
        n->awaits_ms = clock_ms() + ms;
    n->concerns_all = true;
}

int coord_news_take(struct coord_news *n, const struct frame *f, struct fault *why)
{
    json_error_t error;
    json_t *j;
    int rc = 0;

    if (f->type == COORD_EXCHANGED) {
        news_on_exchanged(n, f);
        return 0;
    }
    if (f->type == COORD_EXCHANGED_COPY)
        return news_on_copy(n, f, why);
    j = parsed_json((const char *)f->payload, f->size, 0, &error);
    if (!j && json_error_code(&error) == json_error_out_of_memory)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the coordinator's news");
    switch (f->type) {
    case COORD_DEAD:
        news_on_dead(n, j);
        break;
    case COORD_LEFT:
        rc = news_on_left(n, j, why);
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
    case COORD_REPAIRED:
        news_on_repaired(n, j);
        break;
    case COORD_COMES:
        atomic_store(&n->has_changed, true);
        break;
    case COORD_AWAITS:
        news_on_awaits(n, j);
        break;
    case COORD_AGREED:
    case COORD_CREATED:
        news_on_answer(n, j);
        break;
    case COORD_RELAYED:
        news_on_relayed(n, j);
        break;
    default:
        break;
    }
    json_decref(j);
    return rc;
}

enum peer_state coord_news_peer(const struct coord_news *n, int rank, struct fault *why)
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
