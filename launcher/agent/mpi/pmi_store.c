/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmi_store.h"

#include "launcher/agent/mpi/pmi_line.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 64 };

struct pair {
    struct pair *next;
    uint32_t hash;
    char *value;
    char key[];
};

struct pmi_store {
    struct pair **buckets; /* a power of two of them */
    size_t bucket_count, pair_count;
    char *fresh; /* lines KEY=VALUE */
    size_t fresh_size, fresh_room;
};

static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    return hash;
}

static int out_of_memory(struct fault *why)
{
    return fault_set(why, ML_ERR_MEMORY, "out of memory for what MPI's ranks tell each other");
}

int pmi_store_create(struct pmi_store **out, struct fault *why)
{
    struct pmi_store *s = calloc(1, sizeof(*s));

    if (s)
        s->buckets = calloc(BUCKETS_FIRST, sizeof(struct pair *));
    if (!s || !s->buckets) {
        free(s);
        return out_of_memory(why);
    }
    s->bucket_count = BUCKETS_FIRST;
    *out = s;
    return 0;
}

void pmi_store_destroy(struct pmi_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->bucket_count; i++) {
        struct pair *p = s->buckets[i], *next;

        for (; p; p = next) {
            next = p->next;
            free(p->value);
            free(p);
        }
    }
    free(s->buckets);
    free(s->fresh);
    free(s);
}

static struct pair *pair_find(const struct pmi_store *s, const char *key, uint32_t hash)
{
    struct pair *p = s->buckets[hash & (s->bucket_count - 1)];

    while (p && (p->hash != hash || strcmp(p->key, key) != 0))
        p = p->next;
    return p;
}

static void buckets_grow(struct pmi_store *s)
{
    size_t count = s->bucket_count * 2;
    struct pair **more = calloc(count, sizeof(struct pair *));

    if (!more)
        return; /* the chains become longer */
    for (size_t i = 0; i < s->bucket_count; i++) {
        struct pair *p = s->buckets[i], *next;

        for (; p; p = next) {
            next = p->next;
            p->next = more[p->hash & (count - 1)];
            more[p->hash & (count - 1)] = p;
        }
    }
    free(s->buckets);
    s->buckets = more;
    s->bucket_count = count;
}

static int pair_set(struct pmi_store *s, const char *key, size_t key_size, const char *value,
                    size_t value_size, struct fault *why)
{
    struct pair *p = malloc(sizeof(*p) + key_size + 1), *old;
    char *copy = strndup(value, value_size);

    if (!p || !copy) {
        free(p);
        free(copy);
        return out_of_memory(why);
    }
    memcpy(p->key, key, key_size);
    p->key[key_size] = '\0';
    p->hash = hash_of(p->key);
    p->value = copy;
    old = pair_find(s, p->key, p->hash);
    if (old) {
        free(old->value);
        old->value = copy;
        free(p);
        return 0;
    }
    if (s->pair_count++ > s->bucket_count)
        buckets_grow(s);
    p->next = s->buckets[p->hash & (s->bucket_count - 1)];
    s->buckets[p->hash & (s->bucket_count - 1)] = p;
    return 0;
}

static int fresh_add(struct pmi_store *s, const char *key, const char *value, struct fault *why)
{
    size_t size = strlen(key) + strlen(value) + 2; /* with '=' and a newline */
    char *at;

    if (s->fresh_size + size > s->fresh_room) {
        size_t room = (s->fresh_size + size) * 2;
        char *more = realloc(s->fresh, room);

        if (!more)
            return out_of_memory(why);
        s->fresh = more;
        s->fresh_room = room;
    }
    at = stpcpy(s->fresh + s->fresh_size, key);
    *at = '=';
    at = stpcpy(at + 1, value);
    *at = '\n';
    s->fresh_size += size;
    return 0;
}

int pmi_store_put(struct pmi_store *s, const char *key, const char *value, struct fault *why)
{
    int rc = fresh_add(s, key, value, why);

    return rc ? rc : pair_set(s, key, strlen(key), value, strlen(value), why);
}

const char *pmi_store_get(const struct pmi_store *s, const char *key)
{
    const struct pair *p = pair_find(s, key, hash_of(key));

    return p ? p->value : NULL;
}

const char *pmi_store_fresh(const struct pmi_store *s, size_t *size)
{
    *size = s->fresh_size;
    return s->fresh ? s->fresh : "";
}

int pmi_store_merge(struct pmi_store *s, const char *lines, size_t size, struct fault *why)
{
    const char *end = lines + size;
    int rc = 0;

    while (lines < end && !rc) {
        const char *newline = memchr(lines, '\n', (size_t)(end - lines));
        const char *equals = newline ? memchr(lines, '=', (size_t)(newline - lines)) : NULL;

        if (!equals || equals == lines || newline - lines > PMI_LINE ||
            memchr(lines, '\0', (size_t)(newline - lines)))
            return fault_set(why, ML_ERR_REFUSED, "the hosts' exchange for MPI is malformed");
        rc = pair_set(s, lines, (size_t)(equals - lines), equals + 1,
                      (size_t)(newline - equals - 1), why);
        lines = newline + 1;
    }
    free(s->fresh);
    s->fresh = NULL;
    s->fresh_size = s->fresh_room = 0;
    return rc;
}
