/* SPDX-License-Identifier: MIT */
/*
 * fuzz_rails.c: any bytes as what the peer of an RDMA link says of its rails. The first line of the
 * input changes what it publishes: words OFFSET=BYTE, both in hexadecimal, or OFFSET+: the rest is
 * cut off there. Each line that follows is a message about a rail, relayed by the coordinator; one
 * that is ! makes this side's port fail. The verbs are stand-ins.
 */
#include "rdma/endpoint.h"
#include "rdma/rdma_table.h"
#include "rdma/verbs/rail_match.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/link.h"
#include "runtime/group/world.h"
#include "runtime/transport/rdma_link.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAILS = 2, PUBLISHED = RAILS * sizeof(struct rail_end) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PORT(address)                                                                              \
    {                                                                                              \
        IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, address                            \
    }
static const struct mock_device devices[] = {
    {"m", {PORT("::ffff:10.1.0.1"), PORT("::ffff:10.2.0.1")}, MOCK_ALL},
    {"n", {PORT("::ffff:10.1.0.2"), PORT("::ffff:10.2.0.2")}, MOCK_ALL},
    {NULL, {PORT(NULL), PORT(NULL)}, MOCK_ALL}};

/* The link says on standard error which rails have failed. */
static void quiet(void)
{
    static FILE *nowhere;

    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    if (nowhere)
        stderr = nowhere;
}

static struct endpoint *endpoint_of(const char *const *names, int rank)
{
    struct endpoint_config c = {.devices = names,
                                .device_count = RAILS,
                                .choice = {.gid_index = -1},
                                .tag = 5,
                                .rank = rank,
                                .peer = !rank,
                                .peer_name = "rank 1 on host b"};
    struct endpoint *e;
    struct fault why;

    if (endpoint_open(&e, &c, &why))
        abort();
    return e;
}

/* Applies the words of the first line; returns how many bytes are left. */
static size_t damage(unsigned char *published, char *words)
{
    size_t size = PUBLISHED;
    char *word, *end;

    while ((word = strsep(&words, " "))) {
        size_t at = strtoul(word, &end, 16);

        if (at >= PUBLISHED)
            continue;
        if (*end == '=')
            published[at] = (unsigned char)strtoul(end + 1, NULL, 16);
        else if (*end == '+')
            size = at;
    }
    return size;
}

/* The stand-ins for the verbs never return receives that were posted. A rail that is stopped would
 * wait 2 s for them. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)fds, (void)count, (void)timeout_ms;
    return 0;
}

static struct group *group_of(struct world *w)
{
    static const int members[] = {0, 1};
    static int host_of[] = {0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    struct group *g;
    struct fault why;

    *w = (struct world){.size = 2, .hosts = 2, .host_of = host_of, .host_names = names};
    if (coord_events_open(&w->coord_events, NULL, 2, NULL, &why) ||
        group_create(&g, w, 0, members, 2, &why))
        abort();
    return g;
}

static void relay(struct link *l, struct endpoint *theirs, char *lines)
{
    struct fault why = {0};
    char *line;
    int rc = 0;

    while ((line = strsep(&lines, "\n")) && rc >= 0) {
        json_t *word = json_loads(line, 0, NULL);

        if (*line == '!')
            mock_verbs_event("m", IBV_EVENT_PORT_ERR, line[1] == '2' ? 2 : 1);
        rc = word ? l->ops->on_relayed(l, word, &why) : 0;
        json_decref(word);
        if (!rc)
            rc = l->ops->progress(l, &why);
        l->ops->wake(l);
        endpoint_poll(theirs);
    }
    if (rc < 0 && (why.code >= 0 || !why.text[0]))
        abort();
}

/* A link whose ends have connected. */
static void link_use(struct endpoint *mine, struct endpoint *theirs, char *lines)
{
    static struct world w;
    struct group *g = group_of(&w);
    bool done = false;
    struct link *l;
    struct fault why;

    for (int i = 0; i < 2; i++) {
        endpoint_check(mine, &done, &why);
        endpoint_check(theirs, &done, &why);
    }
    if (rdma_link_open(&l, g, 1, mlaunch_rdma_table(), mine, &why))
        abort();
    relay(l, theirs, lines);
    g->broken.code = ML_ERR_LINK; /* so that close does not wait for a flush */
    l->ops->close(l);
    group_destroy(g);
    coord_events_close(w.coord_events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[][RAILS] = {{"m:1", "m:2"}, {"n:1", "n:2"}};
    unsigned char published[PUBLISHED];
    char *text = strndup((const char *)data, size), *lines = text, *words;
    struct endpoint *mine, *theirs;
    struct fault why = {0};
    size_t whole, left, ours;
    bool is_damaged;
    const void *my_own;

    if (!text)
        return 0;
    quiet();
    mock_verbs_begin(devices);
    mine = endpoint_of(names[0], 0);
    theirs = endpoint_of(names[1], 1);
    memcpy(published, endpoint_publish(theirs, &whole), PUBLISHED);
    my_own = endpoint_publish(mine, &ours);
    words = strsep(&lines, "\n");
    is_damaged = *words;
    left = damage(published, words);
    if (whole != PUBLISHED || endpoint_connect(theirs, my_own, ours, &why))
        abort();
    if (endpoint_connect(mine, published, left, &why)) {
        if (why.code >= 0 || !why.text[0])
            abort();
        endpoint_close(mine);
    } else if (is_damaged) {
        endpoint_close(mine); /* the stand-ins must not write to where it says */
    } else {
        link_use(mine, theirs, lines);
    }
    endpoint_close(theirs);
    free(text);
    return 0;
}
