/* SPDX-License-Identifier: MIT */
/*
 * test_rdma_meet.c: how two ranks agree on queue pairs at their first message: who asks, who
 * answers, both at once, in which thread, and what ends it. The devices, the topology and the
 * coordinator are stand-ins; what a rank says to the coordinator is kept as text.
 */
#include "runtime/transport/rdma_meet.h"

#include "coordinator/client.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/message.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/transport/rdma_link.h"
#include "runtime/transport/rdma_module.h"
#include "runtime/transport/rdma_topology.h"

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 3, ME = 1, GROUP = 4, WORDS = 8, ROUNDS = 200 };

/* --- the stand-in for client.c ---------------------------------------------------------------- */

static struct client {
    int fds[2];
    pthread_mutex_t lock;
    uint8_t types[WORDS]; /* that come */
    char frames[WORDS][256];
    int count, next;
    char said[1024]; /* by this rank, a line each */
} coordinator = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    size_t used = strlen(c->said);

    (void)why;
    snprintf(c->said + used, sizeof(c->said) - used, "%s %.*s\n",
             type == COORD_RELAY ? "RELAY" : "BREAK", (int)size, (const char *)payload);
    return 0;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    int rc = 0;

    (void)why;
    pthread_mutex_lock(&c->lock);
    if (c->next < c->count) {
        *out = (struct frame){.type = c->types[c->next],
                              .payload = (uint8_t *)c->frames[c->next],
                              .size = (uint32_t)strlen(c->frames[c->next])};
        c->next++;
        rc = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The coordinator will say that. */
static void comes(uint8_t type, const char *format, ...)
{
    struct client *c = &coordinator;
    va_list list;

    va_start(list, format);
    pthread_mutex_lock(&c->lock);
    assert_true(c->count < WORDS);
    c->types[c->count] = type;
    vsnprintf(c->frames[c->count], sizeof(c->frames[0]), format, list);
    c->count++;
    pthread_mutex_unlock(&c->lock);
    va_end(list);
}

static void word_comes(int from, const char *word)
{
    comes(COORD_RELAYED, "{\"group\":%d,\"from\":%d,\"word\":%s}", GROUP, from, word);
}

/* What this rank has said since. */
static void assert_said(const char *lines)
{
    assert_string_equal(coordinator.said, lines);
    coordinator.said[0] = '\0';
}

/* --- the stand-in for the devices ------------------------------------------------------------- */

static struct endpoint {
    char ends[4];
    int fds[2]; /* readable: the peer's check has come */
    bool is_connected, is_agreed, is_checked;
    struct rail_control control; /* the last one that was taken */
} endpoints[SIZE];
static struct {
    _Atomic int open;
    int refuses; /* a code: devices cannot be opened */
    uint32_t rails;
} devices;

static void fake_close(struct endpoint *e)
{
    if (!e)
        return;
    close(e->fds[0]);
    close(e->fds[1]);
    *e = (struct endpoint){.ends = ""};
    devices.open--;
}

static const void *fake_publish(struct endpoint *e, size_t *size)
{
    *size = 3;
    return e->ends;
}

static int fake_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why)
{
    if (size != 3 || memcmp(from_peer, "you", 3) != 0)
        return fault_set(why, ML_ERR_LINK, "the two sides do not fit");
    e->is_connected = true;
    return 0;
}

static uint32_t fake_connected(const struct endpoint *e)
{
    return e->is_connected ? devices.rails : 0;
}

static int fake_agree(struct endpoint *e, uint32_t peers, struct fault *why)
{
    if (!(peers & devices.rails))
        return fault_set(why, ML_ERR_LINK, "no rail works at both ends");
    e->is_agreed = true;
    return 0;
}

static int fake_check(struct endpoint *e, bool *done, struct fault *why)
{
    (void)why;
    assert_true(e->is_agreed);
    *done = e->is_checked;
    return 0;
}

static int fake_poll(struct endpoint *e)
{
    (void)e;
    return 0;
}

static bool fake_control_next(struct endpoint *e, struct rail_control *c)
{
    (void)e, (void)c;
    return false;
}

static int fake_control_take(struct endpoint *e, const struct rail_control *c, struct fault *why)
{
    (void)why;
    e->control = *c;
    return 0;
}

static const struct fault *fake_trouble(struct endpoint *e)
{
    (void)e;
    return NULL;
}

static const struct fault *fake_dropped(struct endpoint *e, int *left)
{
    (void)e, (void)left;
    return NULL;
}

static const struct fault *fake_failed(const struct endpoint *e)
{
    (void)e;
    return NULL;
}

static int fake_fd(const struct endpoint *e)
{
    return e->fds[0];
}

static int fake_sleep(struct endpoint *e, bool sends, uint64_t mark)
{
    (void)e, (void)mark;
    assert_false(sends); /* nothing can be sent before the check */
    return 0;
}

static void fake_wake(struct endpoint *e)
{
    (void)e;
}

static bool fake_has_read(struct endpoint *e, uint64_t mark)
{
    (void)e, (void)mark;
    return true;
}

static uint64_t fake_mark(const struct endpoint *e)
{
    (void)e;
    return 0;
}

static bool fake_flush(struct endpoint *e, int timeout_ms)
{
    (void)e, (void)timeout_ms;
    return true;
}

static int fake_descriptors(const struct endpoint *e, int *out, int most)
{
    assert_true(most >= 2);
    memcpy(out, e->fds, sizeof(e->fds));
    return 2;
}

int rdma_module_open(const struct endpoint_table **out, struct fault *why)
{
    static const struct endpoint_table table = {.close = fake_close,
                                                .publish = fake_publish,
                                                .connect = fake_connect,
                                                .connected = fake_connected,
                                                .agree = fake_agree,
                                                .check = fake_check,
                                                .poll = fake_poll,
                                                .control_next = fake_control_next,
                                                .control_take = fake_control_take,
                                                .trouble = fake_trouble,
                                                .dropped = fake_dropped,
                                                .failed = fake_failed,
                                                .fd = fake_fd,
                                                .sleep = fake_sleep,
                                                .wake = fake_wake,
                                                .has_read = fake_has_read,
                                                .mark = fake_mark,
                                                .flush = fake_flush,
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
    assert_null(w);
}

int rdma_topology_endpoint(struct rdma_topology *w, const struct endpoint_table *rdma,
                           const struct group *g, int peer, bool may_lack, struct endpoint **out,
                           struct fault *why)
{
    struct endpoint *e = &endpoints[peer];

    (void)w, (void)rdma, (void)g;
    assert_true(may_lack);
    if (devices.refuses)
        return fault_set(why, devices.refuses, "m port 1 is down");
    assert_int_equal(pipe(e->fds), 0);
    memcpy(e->ends, "me!", 3);
    devices.open++;
    *out = e;
    return 0;
}

/* --- the scene: rank 1 of three, each on a host of its own ------------------------------------ */

static struct scene {
    struct world world;
    struct group *group, *other; /* `other`: of which a thread looks at the door */
    struct rdma_meet *meet;
} scene;

static int scene_open(void **state)
{
    static char *names[] = {(char *)"a", (char *)"b", (char *)"c"};
    static int host_of[] = {0, 1, 2}, members[] = {0, 1, 2};
    static const bool needed[] = {true, false, true};
    struct scene *s = *state = &scene;
    struct fault why;

    memset(s, 0, sizeof(*s));
    devices.refuses = 0;
    devices.rails = 1;
    coordinator.count = coordinator.next = 0;
    coordinator.said[0] = '\0';
    assert_int_equal(pipe(coordinator.fds), 0);
    s->world = (struct world){.is_launched = true,
                              .rank = ME,
                              .size = SIZE,
                              .hosts = SIZE,
                              .host_of = host_of,
                              .host_names = names};
    assert_int_equal(coord_events_open(&s->world.coord_events, &coordinator, SIZE, NULL, &why), 0);
    assert_int_equal(group_create(&s->group, &s->world, GROUP, members, SIZE, &why), 0);
    assert_int_equal(group_create(&s->other, &s->world, GROUP + 1, members, SIZE, &why), 0);
    coord_events_add(s->world.coord_events, s->group);
    coord_events_add(s->world.coord_events, s->other);
    assert_int_equal(rdma_meet_open(&s->meet, s->group, needed, &why), 0);
    for (int i = 0; i < SIZE; i += 2)
        assert_int_equal(rdma_link_open_later(&s->group->links[i], s->group, i, s->meet, &why), 0);
    return 0;
}

static int scene_close(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i < SIZE; i += 2)
        s->group->links[i]->ops->close(s->group->links[i]);
    rdma_meet_close(s->meet);
    assert_int_equal(devices.open, 0);
    s->world.door->close(s->world.door);
    coord_events_remove(s->world.coord_events, s->group);
    coord_events_remove(s->world.coord_events, s->other);
    coord_events_close(s->world.coord_events);
    group_destroy(s->group);
    group_destroy(s->other);
    return 0;
}

/* A thread that waits in a call of the other group looks at the door, as it is readable. */
static void answer(struct scene *s)
{
    struct door *d = s->world.door;

    assert_int_equal(d->look(d, s->other, NULL), 0);
}

static int progress(struct scene *s, int peer, struct fault *why)
{
    struct link *l = s->group->links[peer];

    return l->ops->progress(l, why);
}

/* What is queued on the link to `peer`. */
static void wants(struct scene *s, int peer, struct message_op *t)
{
    struct link *l = s->group->links[peer];

    if (t->what == MESSAGE_OP_SEND)
        l->sends = t;
    else
        l->recvs = t;
}

static void drop(struct scene *s, int peer)
{
    s->group->links[peer]->sends = s->group->links[peer]->recvs = NULL;
}

static bool is_asleep(struct scene *s, int peer, int *fd)
{
    struct pollfd p = {.fd = -1};
    int count = s->group->links[peer]->ops->sleep(s->group->links[peer], &p);

    *fd = p.fd;
    return count >= 0;
}

static const char asked[] =
    "RELAY {\"group\":4,\"to\":0,\"word\":{\"meet\":\"6d6521\",\"rails\":0}}\n";
static const char ready[] = "RELAY {\"group\":4,\"to\":0,\"word\":{\"meet\":\"\",\"rails\":1}}\n";
static const char both[] =
    "RELAY {\"group\":4,\"to\":0,\"word\":{\"meet\":\"6d6521\",\"rails\":1}}\n";

/* --- who asks, who answers -------------------------------------------------------------------- */

static void test_asks(void **state)
{
    struct message_op send = {.what = MESSAGE_OP_SEND};
    struct scene *s = *state;
    struct fault why;
    int fd;

    assert_int_equal(progress(s, 0, &why), 0); /* nothing to send: nothing happens */
    assert_int_equal(devices.open, 0);
    wants(s, 0, &send);
    assert_int_equal(progress(s, 0, &why), 0);
    assert_said(asked);
    assert_int_equal(devices.open, 1);
    assert_true(s->group->links[0]->is_connecting);
    assert_true(is_asleep(s, 0, &fd) && fd == -1); /* the door wakes it */
    assert_int_equal(progress(s, 0, &why), 0);
    assert_said(""); /* once only */
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":1}");
    answer(s);
    assert_said(ready);
    assert_true(endpoints[0].is_agreed);
    assert_int_equal(progress(s, 0, &why), 0); /* the peer's check has not come */
    assert_false(s->group->links[0]->is_connecting);
    assert_true(is_asleep(s, 0, &fd) && fd == endpoints[0].fds[0]);
    drop(s, 0);
}

static void test_answers(void **state)
{
    struct scene *s = *state;
    struct message m;

    word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
    answer(s); /* in another group's thread */
    assert_said(both);
    assert_false(endpoints[0].is_agreed);
    word_comes(0, "{\"meet\":\"\",\"rails\":1}");
    answer(s);
    assert_said("");
    assert_true(endpoints[0].is_agreed); /* so its check is under way, and the peer can send */
    assert_true(s->group->links[0]->is_connecting); /* until its thread looks */
    assert_false(s->group->links[0]->ops->look(s->group->links[0], &m));
    assert_false(s->group->links[0]->is_connecting);
    assert_int_equal(devices.open, 1);
}

static void test_both_at_once(void **state)
{
    struct message_op send = {.what = MESSAGE_OP_SEND};
    struct scene *s = *state;
    struct fault why;

    wants(s, 0, &send);
    assert_int_equal(progress(s, 0, &why), 0);
    assert_said(asked);
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
    answer(s);
    assert_said(ready);
    word_comes(0, "{\"meet\":\"\",\"rails\":1}");
    answer(s);
    assert_said("");
    assert_true(endpoints[0].is_agreed);
    drop(s, 0);
}

/* The peer is up already, and drops a rail: what it said before has not been heard yet. */
static void test_control_behind_words(void **state)
{
    struct scene *s = *state;
    struct link *l = s->group->links[0];
    json_t *word = json_pack("{s:i, s:i, s:i, s:i}", "kind", RAIL_CONTROL_DROPPED, "rail", 1,
                             "count", 0, "out", 2);
    struct fault why;

    word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
    answer(s);
    word_comes(0, "{\"meet\":\"\",\"rails\":1}");
    assert_int_equal(l->ops->on_relayed(l, word, &why), 0);
    assert_int_equal(endpoints[0].control.out, 2);
    assert_int_equal(l->ops->on_relayed(s->group->links[2], word, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "rank 2 sent a damaged message about a rail");
    json_decref(word);
}

/* --- what ends it ----------------------------------------------------------------------------- */

static void test_own_device_is_missing(void **state)
{
    struct message_op send = {.what = MESSAGE_OP_SEND};
    struct scene *s = *state;
    struct fault why;

    devices.refuses = ML_ERR_DEVICE;
    wants(s, 0, &send);
    assert_int_equal(progress(s, 0, &why), ML_ERR_DEVICE);
    assert_string_equal(why.text, "rank 1 on host b: m port 1 is down");
    devices.refuses = ML_ERR_SYSTEM; /* no call of this rank has asked for a descriptor */
    assert_int_equal(progress(s, 0, &why), ML_ERR_LINK);
    assert_said("");
    drop(s, 0);
}

/* The answering thread is in no call of the group, so the group is broken. */
static void test_device_is_missing_where_it_is_asked_for(void **state)
{
    struct message_op recv = {.what = MESSAGE_OP_RECV};
    struct scene *s = *state;
    struct link *l = s->group->links[0];
    struct fault why;

    devices.refuses = ML_ERR_DEVICE;
    wants(s, 0, &recv);
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
    answer(s);
    assert_said(
        "BREAK {\"group\":4,\"code\":-6,\"text\":\"rank 1 on host b: m port 1 is down\"}\n");
    assert_int_equal(progress(s, 0, &why), 0);
    assert_true(l->ended);
    assert_string_equal(l->ops->reason(l)->text, "rank 1 on host b: m port 1 is down");
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
    answer(s);
    assert_said("");
    drop(s, 0);
}

/* … but not if the peer has died meanwhile. */
static void test_peer_is_dead(void **state)
{
    struct message_op recv = {.what = MESSAGE_OP_RECV};
    struct scene *s = *state;
    struct fault why;

    word_comes(0, "{\"meet\":\"6d65\",\"rails\":0}"); /* does not fit */
    comes(COORD_DEAD, "{\"rank\":0,\"text\":\"was killed\"}");
    answer(s);
    assert_said("");
    wants(s, 0, &recv);
    assert_int_equal(progress(s, 0, &why), 0);
    assert_true(s->group->links[0]->ended);
    drop(s, 0);
}

static void test_damaged(void **state)
{
    static const char *const words[] = {
        "{\"meet\":\"\"}",
        "{\"meet\":\"\",\"rails\":0}",
        "{\"meet\":\"\",\"rails\":1}", /* before its ends */
        "{\"meet\":\"79\",\"rails\":256}",
        "{\"meet\":\"79\",\"rails\":-1}",
        "{\"meet\":\"7\",\"rails\":0}",
        "{\"meet\":\"7x\",\"rails\":0}",
        "{\"meet\":1,\"rails\":1}",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        scene_open(state);
        word_comes(0, words[i]);
        answer(*state);
        assert_said("BREAK {\"group\":4,\"code\":-9,\"text\":\"rank 1 on host b: rank 0 sent a "
                    "damaged message about queue pairs\"}\n");
        assert_int_equal(devices.open, 0);
        scene_close(state);
    }
}

/* No rank says anything twice. */
static void test_repeated(void **state)
{
    static const char *const first = "{\"meet\":\"796f75\",\"rails\":0}";

    scene_open(state);
    word_comes(0, first);
    word_comes(0, first);
    answer(*state);
    assert_non_null(strstr(coordinator.said, "BREAK"));
    assert_int_equal(devices.open, 0);
    scene_close(state);
    scene_open(state);
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":1}");
    word_comes(0, "{\"meet\":\"\",\"rails\":1}");
    answer(*state);
    assert_non_null(strstr(coordinator.said, "BREAK"));
    assert_int_equal(devices.open, 0);
    scene_close(state);
}

static void test_no_rail_in_common(void **state)
{
    struct scene *s = *state;

    devices.rails = 2;
    word_comes(0, "{\"meet\":\"796f75\",\"rails\":1}");
    answer(s);
    assert_non_null(strstr(coordinator.said, "BREAK"));
    assert_non_null(strstr(coordinator.said, "rank 1 on host b: no rail works at both ends"));
}

/* Words of those that are reached otherwise, or are in no group of this process, are ignored. */
static void test_strangers(void **state)
{
    struct scene *s = *state;

    word_comes(ME, "{\"meet\":\"796f75\",\"rails\":0}");
    word_comes(7, "{\"meet\":\"796f75\",\"rails\":0}");
    comes(COORD_RELAYED, "{\"group\":9,\"from\":0,\"word\":{\"meet\":\"796f75\",\"rails\":0}}");
    comes(COORD_RELAYED, "{\"group\":5,\"from\":0,\"word\":{\"meet\":\"796f75\",\"rails\":0}}");
    answer(s);
    assert_said("");
    assert_int_equal(devices.open, 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

static _Atomic bool is_over;

static void *look_on(void *arg)
{
    while (!is_over)
        answer(arg);
    return NULL;
}

/* One thread answers while the group's own asks; the endpoint is the link's in the end. */
static void test_threads(void **state)
{
    struct message_op send = {.what = MESSAGE_OP_SEND};
    struct fault why;
    pthread_t thread;

    for (int i = 0; i < ROUNDS; i++) {
        struct scene *s;

        scene_open(state);
        s = *state;
        is_over = false;
        assert_int_equal(pthread_create(&thread, NULL, look_on, s), 0);
        wants(s, 0, &send);
        word_comes(0, "{\"meet\":\"796f75\",\"rails\":0}");
        assert_int_equal(progress(s, 0, &why), 0);
        word_comes(0, "{\"meet\":\"\",\"rails\":1}");
        while (s->group->links[0]->is_connecting) {
            assert_int_equal(progress(s, 0, &why), 0);
            /* Without memory for a word nothing more comes, which a wait would see. */
            assert_true(coord_events_fd(s->world.coord_events) >= 0);
        }
        assert_true(endpoints[0].is_agreed);
        is_over = true;
        pthread_join(thread, NULL);
        drop(s, 0);
        scene_close(state);
    }
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_asks),
        SCENE_TEST(test_answers),
        SCENE_TEST(test_both_at_once),
        SCENE_TEST(test_control_behind_words),
        SCENE_TEST(test_own_device_is_missing),
        SCENE_TEST(test_device_is_missing_where_it_is_asked_for),
        SCENE_TEST(test_peer_is_dead),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_repeated),
        SCENE_TEST(test_no_rail_in_common),
        SCENE_TEST(test_strangers),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
