/* SPDX-License-Identifier: MIT */
/*
 * fuzz_meet.c: any bytes as what a peer says about queue pairs, through the coordinator. Each line
 * of the input is one word; ! lets this side want to send, ? lets it look. The devices are
 * stand-ins; what a peer may describe them with is fuzz_rails's.
 */
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/world.h"
#include "runtime/transport/rdma_meet.h"
#include "runtime/transport/rdma_module.h"
#include "runtime/transport/rdma_topology.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENDS = 4 };

static struct endpoint {
    int opened, connected, agreed;
} endpoint;

static void fake_close(struct endpoint *e)
{
    if (e->opened-- != 1)
        abort();
}

static const void *fake_publish(struct endpoint *e, size_t *size)
{
    *size = ENDS;
    return e->opened == 1 ? "ends" : NULL;
}

static int fake_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why)
{
    unsigned sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += ((const uint8_t *)from_peer)[i];
    if (e->connected++ || e->opened != 1)
        abort();
    return size == ENDS && sum ? 0 : fault_set(why, ML_ERR_LINK, "they do not fit");
}

static uint32_t fake_connected(const struct endpoint *e)
{
    return e->connected ? 3 : 0;
}

static int fake_agree(struct endpoint *e, uint32_t peers, struct fault *why)
{
    if (e->connected != 1 || e->agreed++ || !peers)
        abort();
    return peers <= 3 ? 0 : fault_set(why, ML_ERR_REFUSED, "there are two");
}

static int fake_check(struct endpoint *e, bool *done, struct fault *why)
{
    (void)done, (void)why;
    if (e->agreed != 1)
        abort();
    return 0;
}

static int fake_descriptors(const struct endpoint *e, int *out, int most)
{
    (void)e, (void)out, (void)most;
    return 0;
}

int rdma_module_open(const struct endpoint_table **out, struct fault *why)
{
    static const struct endpoint_table table = {.close = fake_close,
                                                .publish = fake_publish,
                                                .connect = fake_connect,
                                                .connected = fake_connected,
                                                .agree = fake_agree,
                                                .check = fake_check,
                                                .descriptors = fake_descriptors};

    (void)why;
    *out = &table;
    return 0;
}

int rdma_topology_read(struct rdma_topology **out, const char *job_dir, struct fault *why)
{
    (void)job_dir, (void)why;
    *out = NULL;
    return 0;
}

void rdma_topology_destroy(struct rdma_topology *w)
{
    (void)w;
}

int rdma_topology_endpoint(struct rdma_topology *w, const struct endpoint_table *rdma,
                           const struct group *g, int peer, bool may_lack, struct endpoint **out,
                           struct fault *why)
{
    (void)w, (void)rdma, (void)g, (void)peer, (void)may_lack, (void)why;
    if (endpoint.opened++)
        abort();
    *out = &endpoint;
    return 0;
}

static void say(struct rdma_meet *m, char *lines)
{
    struct endpoint *mine = NULL;
    struct fault why = {0};
    char *line;

    while ((line = strsep(&lines, "\n"))) {
        json_t *word = json_loads(line, 0, NULL);
        int rc = 0;

        if (word)
            rdma_meet_hear(m, 1, word);
        else if (*line == '!' || *line == '?')
            rc = rdma_meet_join(m, 1, *line == '!', &mine, &why);
        json_decref(word);
        if (rc < 0 || (rc > 0 && (mine != &endpoint || endpoint.agreed != 1)))
            abort();
        if (rdma_meet_reason(m, 1) && endpoint.opened)
            abort();
    }
    if (mine)
        fake_close(mine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int members[] = {0, 1};
    static int host_of[] = {0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    static const bool needed[] = {false, true};
    struct world w = {.size = 2, .hosts = 2, .host_of = host_of, .host_names = names};
    char *lines = strndup((const char *)data, size);
    struct rdma_meet *m;
    struct group *g;
    struct fault why;

    if (!lines)
        return 0;
    endpoint = (struct endpoint){0};
    if (coord_events_open(&w.coord_events, NULL, 2, NULL, &why) ||
        group_create(&g, &w, 1, members, 2, &why) || rdma_meet_open(&m, g, needed, &why))
        abort();
    say(m, lines);
    rdma_meet_close(m);
    if (endpoint.opened)
        abort();
    w.door->close(w.door);
    group_destroy(g);
    coord_events_close(w.coord_events);
    free(lines);
    return 0;
}
