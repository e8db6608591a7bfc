/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_names.h"

#include "common/net/address.h"
#include "common/text/text_json.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Not getaddrinfo_a(): with its threads, which have small stacks, agents were killed by SIGSEGV. */
enum { WAIT_S = 3, THREADS_MOST = 32, ADDRESSES_MOST = 16 };

struct looked_up {
    char *name; /* NULL: nothing to look up */
    bool is_over;
    int error; /* from getaddrinfo() */
    struct addrinfo *found;
};

/* A thread may still wait for a name when the agent ends, so nothing of this is freed. */
static struct names_lookup {
    pthread_mutex_t lock;
    pthread_cond_t over; /* signalled with each name; made with `names` */
    struct looked_up *names;
    size_t count, next, left; /* the next one to look up; those that are not over */
} lookup = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Makes room for the names, once in a process. */
static void names_make(size_t count)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lookup.over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    lookup.names = calloc(count + 1, sizeof(*lookup.names));
}

static void *names_work(void *unused)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

    (void)unused;
    pthread_mutex_lock(&lookup.lock);
    while (lookup.next < lookup.count) {
        struct looked_up *one = &lookup.names[lookup.next++];
        struct addrinfo *found = NULL;
        int error;

        if (one->is_over)
            continue;
        pthread_mutex_unlock(&lookup.lock);
        error = getaddrinfo(one->name, NULL, &hints, &found);
        pthread_mutex_lock(&lookup.lock);
        one->error = error;
        one->found = error ? NULL : found;
        one->is_over = true;
        lookup.left--;
        pthread_cond_signal(&lookup.over);
    }
    pthread_mutex_unlock(&lookup.lock);
    return NULL;
}

static void threads_start(void)
{
    pthread_attr_t detached;
    pthread_t thread;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (size_t i = 0; i < lookup.left && i < THREADS_MOST; i++)
        if (pthread_create(&thread, &detached, names_work, NULL))
            break;
    pthread_attr_destroy(&detached);
}

/* Until all names are looked up, or for WAIT_S; called with the lock held. */
static void names_wait(void)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    while (lookup.left > 0 && !error)
        error = pthread_cond_timedwait(&lookup.over, &lookup.lock, &until);
}

static json_t *addresses_list(const struct addrinfo *found)
{
    json_t *all = json_array();

    for (; found && json_array_size(all) < ADDRESSES_MOST; found = found->ai_next) {
        struct address a = {.length = found->ai_addrlen};
        char text[ADDRESS_TEXT];

        if (found->ai_addrlen > sizeof(a.storage))
            continue;
        memcpy(&a.storage, found->ai_addr, found->ai_addrlen);
        address_format_ip(&a, text);
        json_array_append_new(all, text_json(text));
    }
    return all;
}

static json_t *name_conclude(const struct looked_up *one)
{
    if (!one->name)
        return json_object();
    if (!one->is_over)
        return json_pack("{ss}", "error", "no answer in 3 s");
    if (one->error)
        return json_pack("{so}", "error", text_json(gai_strerror(one->error)));
    return json_pack("{so}", "addresses", addresses_list(one->found));
}

void facts_names_resolve(const json_t *names, json_t *out)
{
    json_t *resolved = json_array();

    pthread_mutex_lock(&lookup.lock);
    if (!lookup.names)
        names_make(json_array_size(names));
    else
        names = NULL;
    lookup.count = lookup.names ? json_array_size(names) : 0;
    for (size_t i = 0; i < lookup.count; i++) {
        const char *name = json_string_value(json_array_get(names, i));

        lookup.names[i].name = name && *name ? strdup(name) : NULL;
        lookup.names[i].is_over = !lookup.names[i].name;
        lookup.left += !lookup.names[i].is_over;
    }
    threads_start();
    names_wait();
    for (size_t i = 0; i < lookup.count; i++)
        json_array_append_new(resolved, name_conclude(&lookup.names[i]));
    pthread_mutex_unlock(&lookup.lock);
    json_object_set_new(out, "resolved", resolved);
}
