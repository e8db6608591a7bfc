/* SPDX-License-Identifier: MIT */
/*
 * test_rdma_mesh.c: what ends a mesh of queue pairs that hears nothing from its peer. The devices
 * and the coordinator are stand-ins; the test lists the coordinator's frames.
 */
#include "runtime/transport/rdma_mesh.h"

#include "common/clock.h"
#include "coordinator/client.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/transport/rdma_module.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 2, ME = 1, FRAMES = 3, PATIENCE_MS = 5000 };

/* --- the stand-in for client.c ---------------------------------------------------------------- */

/* Each EXCHANGE is answered; with the second answer comes all that is left, in one piece. */
static struct client {
    int fds[2]; /* a pipe, in which nothing ever comes: all has been read from the socket already */
    struct frame frames[FRAMES];
    int next, sent;
} coordinator;

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
    (void)payload, (void)size, (void)why;
    c->sent += type == COORD_EXCHANGE;
    return 0;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    (void)why;
    if (c->next == FRAMES || c->next >= (c->sent < 2 ? c->sent : FRAMES))
        return 0;
    *out = c->frames[c->next++];
    return 1;
}

/* --- the stand-in for the devices: nothing comes ---------------------------------------------- */

static struct endpoint {
    int fds[2];
    int checks;
    bool is_late;
} endpoint;

static int silent_open(struct endpoint **out, const struct endpoint_config *c, struct fault *why)
{
    (void)c, (void)why;
    *out = &endpoint;
    return pipe(endpoint.fds);
}

static void silent_close(struct endpoint *e)
{
    close(e->fds[0]);
    close(e->fds[1]);
}

static const void *silent_publish(struct endpoint *e, size_t *size)
{
    *size = 0;
    return e;
}

static int silent_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why)
{
    (void)e, (void)from_peer, (void)size, (void)why;
    return 0;
}

static int silent_check(struct endpoint *e, bool *done, struct fault *why)
{
    (void)done, (void)why;
    e->checks++;
    return 0;
}

static int silent_check_late(struct endpoint *e, struct fault *why)
{
    e->is_late = true;
    return fault_set(why, ML_ERR_LINK, "nothing came");
}

static int silent_fd(const struct endpoint *e)
{
    return e->fds[0];
}

static int silent_sleep(struct endpoint *e, bool sends, uint64_t mark)
{
    (void)e, (void)sends, (void)mark;
    return 0;
}

static void silent_wake(struct endpoint *e)
{
    (void)e;
}

int rdma_module_open(const struct endpoint_table **out, struct fault *why)
{
    static const struct endpoint_table silent = {.open = silent_open,
                                                 .close = silent_close,
                                                 .publish = silent_publish,
                                                 .connect = silent_connect,
                                                 .check = silent_check,
                                                 .check_late = silent_check_late,
                                                 .fd = silent_fd,
                                                 .sleep = silent_sleep,
                                                 .wake = silent_wake};

    (void)why;
    *out = &silent;
    return 0;
}

/* --- the answer and the news in one piece ----------------------------------------------------- */

/* EXCHANGED of group 1, exchanges 1 and 2, two empty blobs. */
static uint8_t answers[2][20] = {{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2},
                                 {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2}};

static void topology_write(const char *dir)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/rdma.json", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"wiring\": [[null, [\"mlx5_0\"]], [[\"mlx5_0\"], null]]}", f);
    assert_int_equal(fclose(f), 0);
}

static void topology_remove(const char *dir)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/rdma.json", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Rank 0 is silent for ever, on the other host. */
static int meet(uint8_t type, const char *news, struct fault *why)
{
    char here[] = "here", there[] = "there", *host_names[] = {there, here};
    char dir[] = "/tmp/rdma_mesh.XXXXXX";
    int host_of[SIZE] = {0, 1}, members[SIZE] = {0, 1};
    struct world world = {.is_launched = true,
                          .rank = ME,
                          .size = SIZE,
                          .hosts = SIZE,
                          .host_of = host_of,
                          .host_names = host_names};
    bool needed[SIZE] = {true, false};
    struct rdma_mesh *mesh = NULL;
    struct group *g = NULL;
    int rc;

    assert_non_null(mkdtemp(dir));
    topology_write(dir);
    snprintf(world.dir, sizeof(world.dir), "%s", dir);
    endpoint = (struct endpoint){.checks = 0};
    coordinator = (struct client){
        .frames = {
            {.type = COORD_EXCHANGED, .payload = answers[0], .size = sizeof(answers[0])},
            {.type = COORD_EXCHANGED, .payload = answers[1], .size = sizeof(answers[1])},
            {.type = type, .payload = (uint8_t *)(uintptr_t)news, .size = (uint32_t)strlen(news)}}};
    assert_int_equal(pipe(coordinator.fds), 0);
    assert_int_equal(coord_events_open(&world.coord_events, &coordinator, SIZE, NULL, why), 0);
    assert_int_equal(group_create(&g, &world, 1, members, SIZE, why), 0);
    coord_events_add(world.coord_events, g);
    if (rdma_mesh_open(&mesh, g, needed, why))
        fail_msg("%s", why->text);
    rc = rdma_mesh_run(mesh, clock_ms() + PATIENCE_MS, why);
    assert_int_equal(coordinator.next, FRAMES);
    assert_int_equal(endpoint.checks, 1);
    assert_false(endpoint.is_late);
    rdma_mesh_close(mesh);
    coord_events_remove(world.coord_events, g);
    coord_events_close(world.coord_events);
    group_destroy(g);
    topology_remove(dir);
    return rc;
}

static void test_death_with_the_answer(void **state)
{
    struct fault why = {0};

    (void)state;
    assert_int_equal(meet(COORD_DEAD, "{\"rank\": 0, \"text\": \"was killed by signal 9\"}", &why),
                     ML_ERR_PEER);
    assert_string_equal(why.text, "rank 0 was killed by signal 9");
}

static void test_failure_with_the_answer(void **state)
{
    struct fault why = {0};

    (void)state;
    assert_int_equal(
        meet(COORD_BROKEN, "{\"group\": 1, \"code\": -10, \"text\": \"no descriptors\"}", &why),
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
