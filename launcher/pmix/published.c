/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/published.h"

#include "common/clock.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = 4096, BYTES_MOST = 16 << 20, NUMBER = 4 };

/* A value, or a rank that waits for one. */
struct published {
    char *name;
    char *
        value; /* its owner's rank, 4 bytes, enum forwarder_value, its bytes; NULL: it is awaited */
    size_t size;
    bool is_once;          /* it goes with the first look */
    uint32_t host, number; /* the question that waits */
    int64_t until_ms;      /* for how long; 0: for ever */
    struct published *next;
};

/* One for the process, as the server is. */
static struct {
    struct published *first;
    int count;
    size_t size; /* all names and values */
} published;

static struct published *find(const char *name, bool is_value)
{
    struct published *p = published.first;

    while (p && (!p->value == is_value || strcmp(p->name, name) != 0))
        p = p->next;
    return p;
}

static void entry_remove(struct published *p)
{
    struct published **at = &published.first;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    published.count--;
    published.size -= strlen(p->name) + p->size;
    free(p->name);
    free(p->value);
    free(p);
}

/* NULL: there is no room for it. */
static struct published *entry_add(const char *name, size_t size)
{
    size_t all = strlen(name) + size;
    struct published *p;

    if (published.count == ENTRIES_MOST || all > BYTES_MOST - published.size)
        return NULL;
    p = calloc(1, sizeof(*p));
    if (p)
        p->name = strdup(name);
    if (!p || !p->name) {
        free(p);
        return NULL;
    }
    p->size = size;
    p->next = published.first;
    published.first = p;
    published.count++;
    published.size += all;
    return p;
}

/* Answers with a value, which goes if it is for one look. */
static int value_tell(struct published *p, uint32_t host, uint32_t number, struct fault *why)
{
    int rc = forwarder_answer(host, number, true, p->value, p->size, why);

    if (p->is_once)
        entry_remove(p);
    return rc;
}

/* Answers all that wait for the name, as far as its value is there. */
static int waiting_answer(const char *name, struct fault *why)
{
    struct published *waiting, *p;
    int rc = 0;

    while (!rc && (waiting = find(name, false)) && (p = find(name, true))) {
        rc = value_tell(p, waiting->host, waiting->number, why);
        entry_remove(waiting);
    }
    return rc;
}

/* The value follows the name's NUL. */
static int publish(const struct forwarder_question *q, const char *name, struct fault *why)
{
    size_t skip = strlen(name) + 1, size = q->size > skip ? q->size - skip : 0;
    struct published *p = find(name, true) ? NULL : entry_add(name, NUMBER + size);
    uint32_t owner = htonl(q->rank);
    int rc;

    if (p && !(p->value = malloc(NUMBER + size))) {
        entry_remove(p);
        p = NULL;
    }
    if (!p)
        return forwarder_answer(q->host, q->number, false, NULL, 0, why);
    memcpy(p->value, &owner, NUMBER);
    if (size)
        memcpy(p->value + NUMBER, q->bytes + skip, size);
    p->is_once = q->kind == FORWARDER_PUBLISH_ONCE;
    rc = forwarder_answer(q->host, q->number, true, NULL, 0, why);
    return rc ? rc : waiting_answer(name, why);
}

static int look(const struct forwarder_question *q, const char *name, struct fault *why)
{
    struct published *p = find(name, true), *waiting;

    if (p)
        return value_tell(p, q->host, q->number, why);
    waiting = q->kind == FORWARDER_AWAIT ? entry_add(name, 0) : NULL;
    if (!waiting)
        return forwarder_answer(q->host, q->number, false, NULL, 0, why);
    waiting->host = q->host;
    waiting->number = q->number;
    waiting->until_ms = q->rank ? clock_ms() + (int64_t)q->rank * 1000 : 0;
    return 0;
}

static int unpublish(const struct forwarder_question *q, const char *name, struct fault *why)
{
    struct published *p = find(name, true);

    if (p)
        entry_remove(p);
    return forwarder_answer(q->host, q->number, p != NULL, NULL, 0, why);
}

int published_take(const struct forwarder_question *q, struct fault *why)
{
    char *name = strndup(q->bytes, q->size);
    int rc;

    if (!name)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (q->kind == FORWARDER_LOOKUP || q->kind == FORWARDER_AWAIT)
        rc = look(q, name, why);
    else if (q->kind == FORWARDER_UNPUBLISH)
        rc = unpublish(q, name, why);
    else
        rc = publish(q, name, why);
    free(name);
    return rc;
}

int published_wait_ms(void)
{
    int64_t first_ms = 0;

    for (const struct published *p = published.first; p; p = p->next) {
        if (p->until_ms && (!first_ms || p->until_ms < first_ms))
            first_ms = p->until_ms;
    }
    return first_ms ? clock_left_ms(first_ms) : -1;
}

int published_expire(struct fault *why)
{
    int64_t now = clock_ms();
    int rc = 0;

    for (struct published *p = published.first, *next; !rc && p; p = next) {
        next = p->next;
        if (!p->until_ms || p->until_ms > now)
            continue;
        rc = forwarder_answer(p->host, p->number, false, NULL, 0, why);
        entry_remove(p);
    }
    return rc;
}
