/* SPDX-License-Identifier: MIT */
/* test_tcp_mesh.c: what ends a mesh that never comes up. The coordinator is a stand-in, whose
 * frames the test lists. */
#include "runtime/tcp/tcp_mesh.h"

#include "common/clock.h"
#include "coordinator/client.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/exchange.h"
#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/world.h"
#include "runtime/tcp/tcp_door.h"
#include "runtime/tcp/tcp_eager.h"
#include "runtime/tcp/tcp_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 2, ME = 1, FRAMES = 2, PATIENCE_MS = 5000 };

/* --- the stand-in for client.c: a coordinator that has written all its frames at once --------- */

static struct client {
    int fds[2]; /* a pipe, in which nothing ever comes: all has been read from the socket already */
    struct frame frames[FRAMES];
    int next;
} coordinator;

int client_open(struct client **out, const char *where, const char *directory, const char *job,
                const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why)
{
    (void)out, (void)where, (void)directory, (void)job, (void)secret, (void)rank;
    (void)generation;
    (void)deadline_ms, (void)why;
    return ML_ERR_PEER;
}

void client_close(struct client *c)
{
    close(c->fds[0]);
    close(c->fds[1]);
}

int client_fd(const struct client *c)
{
    return c->fds[0];
}

int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why)
{
    (void)c, (void)type, (void)payload, (void)size, (void)why;
    return 0;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    (void)why;
    if (c->next == FRAMES)
        return 0;
    *out = c->frames[c->next++];
    return 1;
}

/* --- the answer and the news in one piece ----------------------------------------------------- */

/* EXCHANGED of group 1, exchange 1, two empty blobs. */
static uint8_t answer[20] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2};

/* Rank 0, which is to connect to this rank, never will. */
static int meet(const struct frame *news, struct fault *why)
{
    char host[] = "here", *host_names[] = {host};
    const char *where;
    int host_of[SIZE] = {0, 0}, members[SIZE] = {0, 1};
    struct world world = {.is_launched = true,
                          .rank = ME,
                          .size = SIZE,
                          .hosts = 1,
                          .host_of = host_of,
                          .host_names = host_names};
    bool needed[SIZE] = {true, false};
    struct tcp_mesh *mesh = NULL;
    struct exchange *x = NULL;
    struct group *g = NULL;
    int64_t deadline_ms = clock_ms() + PATIENCE_MS;
    int rc;

    snprintf(world.job.host, sizeof(world.job.host), "%s", host);
    coordinator = (struct client){
        .frames = {{.type = COORD_EXCHANGED, .payload = answer, .size = sizeof(answer)}, *news}};
    assert_int_equal(pipe(coordinator.fds), 0);
    assert_int_equal(coord_events_open(&world.coord_events, &coordinator, SIZE, NULL, why), 0);
    assert_int_equal(group_create(&g, &world, 1, members, SIZE, why), 0);
    coord_events_add(world.coord_events, g);
    assert_int_equal(tcp_mesh_open(&mesh, g, needed, &where, why), 0);
    assert_int_equal(exchange_run(&x, g, (struct blob){NULL, 0}, deadline_ms, why), 0);
    assert_int_equal(coordinator.next, FRAMES);
    g->mesh = mesh;
    tcp_mesh_found(mesh, x);
    assert_int_equal(tcp_link_open_later(&g->links[0], g, 0, mesh, why), 0);
    rc = tcp_eager_run(g, deadline_ms, why);
    g->links[0]->ops->close(g->links[0]);
    tcp_mesh_close(mesh);
    tcp_door_close(world.door);
    coord_events_remove(world.coord_events, g);
    coord_events_close(world.coord_events);
    group_destroy(g);
    return rc;
}

static void test_death_with_the_answer(void **state)
{
    static char text[] = "{\"rank\": 0, \"text\": \"was killed by signal 9\"}";
    struct fault why = {0};

    (void)state;
    assert_int_equal(meet(&(struct frame){.type = COORD_DEAD,
                                          .payload = (uint8_t *)text,
                                          .size = sizeof(text) - 1},
                          &why),
                     ML_ERR_PEER);
    assert_string_equal(why.text, "rank 0 was killed by signal 9");
}

static void test_failure_with_the_answer(void **state)
{
    static char text[] = "{\"group\": 1, \"code\": -10, \"text\": \"no descriptors\"}";
    struct fault why = {0};

    (void)state;
    assert_int_equal(meet(&(struct frame){.type = COORD_BROKEN,
                                          .payload = (uint8_t *)text,
                                          .size = sizeof(text) - 1},
                          &why),
                     ML_ERR_SYSTEM);
    assert_string_equal(why.text, "no descriptors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_death_with_the_answer),
        cmocka_unit_test(test_failure_with_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
