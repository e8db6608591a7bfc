/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/rank_counts.h"

#include "common/rank_counters.h"
#include "common/text/text_json.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the rank has filled in the head. What is read after this is no older. */
static bool file_is_made(int fd)
{
    uint32_t magic;

    if (pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
        return false;
    atomic_thread_fence(memory_order_acquire);
    return magic == RANK_COUNTERS_MAGIC;
}

/* A copy of the file, which anyone may have put there. NULL: it is not what a rank of that user's
 * makes. The caller frees it. */
static struct rank_counters *file_read(const char *path, uid_t user)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct rank_counters *c = NULL;
    struct stat st;
    size_t size;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == user &&
        st.st_size >= (off_t)rank_counters_size(0) &&
        st.st_size <= (off_t)rank_counters_size(RANK_COUNTERS_HOSTS) && file_is_made(fd)) {
        size = (size_t)st.st_size;
        c = malloc(size);
        if (c && (read(fd, c, size) != (ssize_t)size || c->hosts > RANK_COUNTERS_HOSTS ||
                  rank_counters_size(c->hosts) != size)) {
            free(c);
            c = NULL;
        }
    }
    close(fd);
    return c;
}

static json_t *whole(const rank_counter *c)
{
    return json_integer((json_int_t)(atomic_load_explicit(c, memory_order_relaxed) & INT64_MAX));
}

/* By name, as far as there were calls; NULL: of a kind that has no choice. */
static json_t *algorithms_describe(const struct call_counters *call)
{
    static const char *const names[RANK_COUNTERS_ALGORITHMS] = RANK_COUNTERS_ALGORITHM_NAMES;
    json_t *out = NULL;

    for (int i = 0; i < RANK_COUNTERS_ALGORITHMS; i++) {
        if (!call->algorithms[i])
            continue;
        out = out ? out : json_object();
        json_object_set_new(out, names[i], whole(&call->algorithms[i]));
    }
    return out;
}

static json_t *calls_describe(const struct rank_counters *c)
{
    json_t *list = json_array();

    for (int i = 1; i < CALL_KINDS; i++) {
        const struct call_counters *call = &c->calls[i];
        json_t *waits = json_array();

        for (int k = 0; k < RANK_COUNTERS_WAITS; k++)
            json_array_append_new(waits, whole(&call->waits[k]));
        if (call->count)
            json_array_append_new(list,
                                  json_pack("{ss so so* so so sf}", "call", call_names[i], "count",
                                            whole(&call->count), "algorithms",
                                            algorithms_describe(call), "bytes", whole(&call->bytes),
                                            "waits", waits, "wait_s", (double)call->wait_ns / 1e9));
        else
            json_decref(waits);
    }
    return list;
}

static json_t *links_describe(const struct rank_counters *c)
{
    static const char *const names[RANK_COUNTERS_LINKS] = RANK_COUNTERS_LINK_NAMES;
    json_t *list = json_array();

    for (uint32_t i = 0; i < c->hosts; i++) {
        const struct host_counters *h = &c->host[i];
        char name[RANK_COUNTERS_HOST];

        snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, h->name);
        for (int k = 0; k < RANK_COUNTERS_LINKS; k++) {
            if (h->links[k].sent || h->links[k].received)
                json_array_append_new(list,
                                      json_pack("{so ss so so}", "host", text_json(name), "link",
                                                names[k], "sent", whole(&h->links[k].sent),
                                                "received", whole(&h->links[k].received)));
        }
    }
    return list;
}

/* The file of the rank; NULL as file_read. */
static struct rank_counters *rank_file_read(const char *dir, uid_t user, int rank)
{
    char path[RANK_COUNTERS_PATH];
    const char *name = strrchr(dir, '/');

    snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-%s.counters.%d", (unsigned)user,
             name ? name + 1 : dir, rank);
    return file_read(path, user);
}

json_t *rank_counts_read(const char *dir, uid_t user, int rank)
{
    struct rank_counters *c = rank_file_read(dir, user, rank);
    json_t *out;

    if (!c)
        return NULL;
    out = json_pack("{so so}", "calls", calls_describe(c), "links", links_describe(c));
    free(c);
    return out;
}

/* The rank writes what it likes into its file. */
static json_int_t bounded(uint64_t value)
{
    const uint64_t most = ((uint64_t)1 << 50) - 1;

    return (json_int_t)(value < most ? value : most);
}

json_t *rank_counts_sum(const char *dir, uid_t user, int rank)
{
    struct rank_counters *c = rank_file_read(dir, user, rank);
    uint64_t calls = 0, bytes = 0, wait_ns = 0, kept_waiting;

    if (!c)
        return NULL;
    for (int i = 1; i < CALL_KINDS; i++) {
        calls += c->calls[i].count;
        bytes += c->calls[i].bytes;
        wait_ns += c->calls[i].wait_ns;
    }
    kept_waiting = c->kept_waiting;
    free(c);
    return json_pack("{sI sI sI sI}", "calls", bounded(calls), "bytes", bounded(bytes), "wait_ms",
                     bounded(wait_ns / 1000000), "kept_waiting", bounded(kept_waiting));
}

bool rank_counts_world(const char *dir, uid_t user, int rank, int64_t *membership, int64_t *members)
{
    struct rank_counters *c = rank_file_read(dir, user, rank);

    if (!c)
        return false;
    *membership = bounded(c->membership);
    *members = bounded(c->members);
    free(c);
    return *members > 0;
}
