/* SPDX-License-Identifier: MIT */
/* test_tcp_mesh.c: what ends a mesh that never comes up, and two connections at once. The
 * coordinator is a stand-in, whose frames the test lists. */
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
#include "runtime/tcp/tcp_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

struct meeting {
    struct world world;
    char host[8], *host_names[1];
    int host_of[SIZE];
    struct group *group;
    struct tcp_mesh *mesh;
};

static void meeting_begin(struct meeting *m, uint8_t *exchanged, uint32_t size,
                          const struct frame *news)
{
    static const int members[SIZE] = {0, 1};
    static const bool needed[SIZE] = {true, false};
    struct exchange *x = NULL;
    struct fault why = {0};
    const char *where;
    struct group *g;

    *m = (struct meeting){.host = "here"};
    m->host_names[0] = m->host;
    m->world = (struct world){.is_launched = true,
                              .rank = ME,
                              .size = SIZE,
                              .hosts = 1,
                              .host_of = m->host_of,
                              .host_names = m->host_names};
    snprintf(m->world.job.host, sizeof(m->world.job.host), "%s", m->host);
    coordinator = (struct client){
        .frames = {{.type = COORD_EXCHANGED, .payload = exchanged, .size = size}, *news}};
    assert_int_equal(pipe(coordinator.fds), 0);
    assert_int_equal(coord_events_open(&m->world.coord_events, &coordinator, SIZE, NULL, &why), 0);
    assert_int_equal(group_create(&m->group, &m->world, 1, members, SIZE, &why), 0);
    g = m->group;
    coord_events_add(m->world.coord_events, g);
    assert_int_equal(tcp_mesh_open(&m->mesh, g, needed, &where, &why), 0);
    assert_int_equal(exchange_run(&x, g, (struct blob){NULL, 0}, clock_ms() + PATIENCE_MS, &why),
                     0);
    assert_int_equal(coordinator.next, FRAMES);
    g->mesh = m->mesh;
    tcp_mesh_found(m->mesh, x);
}

static void meeting_end(struct meeting *m)
{
    tcp_mesh_close(m->mesh);
    tcp_door_close(m->world.door);
    coord_events_remove(m->world.coord_events, m->group);
    coord_events_close(m->world.coord_events);
    group_destroy(m->group);
}

/* Rank 0, which is to connect to this rank, never will. */
static int meet(const struct frame *news, struct fault *why)
{
    struct meeting m;
    struct group *g;
    int rc;

    meeting_begin(&m, answer, sizeof(answer), news);
    g = m.group;
    assert_int_equal(tcp_link_open_later(&g->links[0], g, 0, m.mesh, why), 0);
    rc = tcp_eager_run(g, clock_ms() + PATIENCE_MS, why);
    g->links[0]->ops->close(g->links[0]);
    meeting_end(&m);
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

/* --- two connections at once ------------------------------------------------------------------ */

/* EXCHANGED, in which rank 0 says where it listens. */
static uint8_t listens[31] = {0, 0,  0,   1,   0,   0,   0,   1,   0,   0,   0,   2,   0,  0,
                              0, 11, '1', '2', '7', '.', '0', '.', '0', '.', '1', ':', '1'};

/* The connection of rank 0 that another thread, at the door, takes when this thread's own fails;
 * NULL: it does not. */
static struct tcp_mesh *admits;
static int theirs[2];

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    struct tcp_entry *e = (struct tcp_entry *)admits;
    struct tcp_wire w;

    if (e && name == SO_ERROR) {
        w = (struct tcp_wire){.fd = theirs[0], .peer = 0};
        admits = NULL;
        tcp_door_lock(e->group->world->door);
        assert_true(e->admit(e, 0, &w));
        tcp_door_unlock(e->group->world->door);
    }
    return __real_getsockopt(fd, level, name, value, size);
}

static void test_taken_meanwhile(void **state)
{
    static char text[] = "{}";
    struct fault why = {0};
    struct tcp_seal *seal = NULL;
    struct meeting m;
    int fd = -1, rc = 0;

    (void)state;
    meeting_begin(
        &m, listens, sizeof(listens),
        &(struct frame){.type = COORD_COMES, .payload = (uint8_t *)text, .size = sizeof(text) - 1});
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, theirs), 0);
    assert_int_equal(tcp_mesh_join(m.mesh, 0, true, &fd, &seal, &why), 0);
    admits = m.mesh;
    while (admits)
        assert_int_equal(tcp_mesh_join(m.mesh, 0, true, &fd, &seal, &why), 0);
    assert_null(tcp_mesh_reason(m.mesh, 0));
    for (int64_t until = clock_ms() + PATIENCE_MS; rc == 0 && clock_ms() < until;)
        rc = tcp_mesh_join(m.mesh, 0, true, &fd, &seal, &why);
    assert_int_equal(rc, 1);
    assert_int_equal(fd, theirs[0]);
    close(theirs[0]);
    close(theirs[1]);
    meeting_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_death_with_the_answer),
        cmocka_unit_test(test_failure_with_the_answer),
        cmocka_unit_test(test_taken_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
