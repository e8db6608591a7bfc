/* SPDX-License-Identifier: MIT */
#include "common/net/strangers.h"

#include "common/clock.h"
#include "common/failure_times.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* The connections of one address; there is at least one. */
struct stranger_source {
    uint64_t key;
    int count;
    struct stranger_list silent, begun; /* the oldest first */
    TAILQ_ENTRY(stranger_source) entry;
};

/* The address without what one stranger can choose freely: of an IPv6 address the network, and
 * 127.0.0.0/8 is one address. */
static uint64_t source_key(const struct address *from)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from->storage;
    uint64_t key = 0;

    if (from->storage.ss_family == AF_INET6)
        memcpy(&key, &v6->sin6_addr, sizeof(key));
    else if (from->storage.ss_family == AF_INET)
        key = ntohl(v4->sin_addr.s_addr);
    return from->storage.ss_family == AF_INET && key >> 24 == 127 ? 127 : key;
}

static struct stranger_source *source_find(const struct strangers *l, const struct address *from)
{
    uint64_t key = source_key(from);
    struct stranger_source *s;

    TAILQ_FOREACH(s, &l->sources, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (s->key == key)
            return s;
    }
    return NULL;
}

static struct stranger_source *source_fullest(const struct strangers *l)
{
    struct stranger_source *s, *most = TAILQ_FIRST(&l->sources);

    TAILQ_FOREACH(s, &l->sources, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        if (s->count > most->count)
            most = s;
    }
    return most;
}

static struct stranger *begun_oldest(const struct strangers *l)
{
    struct stranger *oldest = NULL;
    struct stranger_source *s;

    TAILQ_FOREACH(s, &l->sources, entry)
    {
        /* cppcheck-suppress uninitvar; it does not know TAILQ_FOREACH */
        struct stranger *first = TAILQ_FIRST(&s->begun);

        if (first && (!oldest || first->since_ms < oldest->since_ms))
            oldest = first;
    }
    return oldest;
}

void strangers_init(struct strangers *l, int most)
{
    TAILQ_INIT(&l->sources);
    l->count = 0;
    l->most = most;
}

bool strangers_room(const struct strangers *l, const struct address *from, struct stranger **out)
{
    struct stranger_source *fullest, *own;
    struct stranger *late;

    *out = NULL;
    if (l->count < l->most)
        return true;
    fullest = source_fullest(l);
    *out = fullest ? TAILQ_FIRST(&fullest->silent) : NULL;
    if (*out)
        return true;
    late = begun_oldest(l);
    if (late && clock_ms() - late->since_ms >= STRANGER_YIELDS_MS) {
        *out = late;
        return true;
    }
    own = source_find(l, from);
    if (fullest && (own ? own->count : 0) < fullest->count)
        *out = TAILQ_LAST(&fullest->begun, stranger_list);
    return *out != NULL;
}

struct stranger *strangers_first_out(const struct strangers *l)
{
    struct stranger_source *fullest = source_fullest(l);

    if (!fullest)
        return NULL;
    return TAILQ_EMPTY(&fullest->silent) ? TAILQ_FIRST(&fullest->begun)
                                         : TAILQ_FIRST(&fullest->silent);
}

int strangers_add(struct strangers *l, struct stranger *s, const struct address *from,
                  struct fault *why)
{
    struct stranger_source *source = source_find(l, from);

    if (!source) {
        source = calloc(1, sizeof(*source));
        if (!source)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        source->key = source_key(from);
        TAILQ_INIT(&source->silent);
        TAILQ_INIT(&source->begun);
        TAILQ_INSERT_TAIL(&l->sources, source, entry);
    }
    s->source = source;
    s->since_ms = clock_ms();
    s->has_begun = false;
    TAILQ_INSERT_TAIL(&source->silent, s, entry);
    source->count++;
    l->count++;
    return 0;
}

static struct stranger_list *list_of(struct stranger *s)
{
    return s->has_begun ? &s->source->begun : &s->source->silent;
}

void strangers_begin(struct stranger *s)
{
    TAILQ_REMOVE(list_of(s), s, entry);
    s->has_begun = true;
    s->since_ms = clock_ms();
    TAILQ_INSERT_TAIL(list_of(s), s, entry);
}

void strangers_idle(struct stranger *s)
{
    TAILQ_REMOVE(list_of(s), s, entry);
    s->has_begun = false;
    TAILQ_INSERT_HEAD(list_of(s), s, entry);
}

void strangers_remove(struct strangers *l, struct stranger *s)
{
    struct stranger_source *source = s->source;

    if (!source)
        return;
    TAILQ_REMOVE(list_of(s), s, entry);
    s->source = NULL;
    l->count--;
    if (--source->count > 0)
        return;
    TAILQ_REMOVE(&l->sources, source, entry);
    free(source);
}
