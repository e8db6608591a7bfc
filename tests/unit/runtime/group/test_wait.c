/* SPDX-License-Identifier: MIT */
/*
 * test_wait.c: how a rank waits: it spins, then sleeps until its bell, a link's descriptor or the
 * coordinator's wakes it; a death ends the wait, and a stall is reported once. The links, and what
 * the coordinator says, are stand-ins.
 */
#include "common/failure_times.h"
#include "runtime/group/wait.h"

#include "common/clock.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/link.h"
#include "runtime/group/message.h"
#include "runtime/group/message_op.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    ME = 3, /* world ranks: this one */
    PEER = 5,
    US = 1000, /* ns */
    MS = 1000 * 1000,
};

/* --- the stand-in for coord_events.c
 * ------------------------------------------------------------------ */

static struct {
    uint32_t serial;
    int fd[2]; /* a pipe: readable when the coordinator has said something */
    int reads;
    enum peer_state peer;
    struct fault broken;
    json_t *mail;
    uint8_t told[8]; /* types of messages to the coordinator */
    int told_count;
    json_t *last; /* the last one */
} coord_events;

int coord_events_fd(const struct coord_events *n)
{
    (void)n;
    return coord_events.fd[0];
}

uint32_t coord_events_serial(const struct coord_events *n)
{
    (void)n;
    return coord_events.serial;
}

void coord_events_read(struct coord_events *n, const struct group *reader)
{
    char byte;

    (void)n, (void)reader;
    coord_events.reads++;
    if (read(coord_events.fd[0], &byte, 1) == 1)
        coord_events.serial++;
}

int coord_events_broken(struct coord_events *n, const struct group *g, struct fault *why)
{
    (void)n, (void)g;
    if (coord_events.broken.code)
        *why = coord_events.broken;
    return coord_events.broken.code;
}

enum peer_state coord_events_peer(struct coord_events *n, int rank, struct fault *why)
{
    (void)n;
    assert_int_equal(rank, PEER);
    if (coord_events.peer != PEER_PRESENT)
        fault_set(why, ML_ERR_PEER, "rank %d is gone", rank);
    return coord_events.peer;
}

json_t *coord_events_mail(struct coord_events *n, struct group *g, int *from)
{
    json_t *word = coord_events.mail;

    (void)n, (void)g;
    *from = PEER;
    coord_events.mail = NULL;
    return word;
}

int coord_events_send(struct coord_events *n, uint8_t type, json_t *payload, struct fault *why)
{
    (void)n, (void)why;
    coord_events.told[coord_events.told_count++] = type;
    json_decref(coord_events.last);
    coord_events.last = payload;
    return 0;
}

/* --- the stand-in for a link, and a group of two ---------------------------------------------- */

struct fixture {
    struct world world;
    int host_of[PEER + 1];
    char *host_names[1];
    struct group *group;
    struct link link; /* to the peer */
    struct message_op receive;
    int sleeps, wakes, heard;
    enum { SLEEP_ON, SLEEP_RING, SLEEP_READY, SLEEP_READABLE, SLEEP_NEWS } sleep;
    int pipe[2];
};

static struct fixture *f; /* for the link's callbacks */

static int link_sleep(struct link *l, struct pollfd *p)
{
    (void)l;
    f->sleeps++;
    switch (f->sleep) {
    case SLEEP_RING:
        assert_true(bell_ring(f->group->waiting.bell));
        return 0;
    case SLEEP_READABLE:
        *p = (struct pollfd){.fd = f->pipe[0], .events = POLLIN};
        return 1;
    case SLEEP_NEWS:
        assert_int_equal(write(coord_events.fd[1], "", 1), 1);
        return 0;
    case SLEEP_READY:
        return -1;
    default:
        return 0;
    }
}

static void link_wake(struct link *l)
{
    (void)l;
    f->wakes++;
}

static int link_on_relayed(struct link *l, json_t *word, struct fault *why)
{
    (void)l, (void)why;
    assert_int_equal(json_integer_value(word), 17);
    f->heard++;
    return 0;
}

static struct link_ops ops;

static int set_up(void **state)
{
    static const int members[] = {ME, PEER};
    struct fault why = {0};

    f = calloc(1, sizeof(*f));
    memset(&coord_events, 0, sizeof(coord_events));
    ops = (struct link_ops){
        .name = "test", .sleep = link_sleep, .wake = link_wake, .on_relayed = link_on_relayed};
    assert_non_null(f);
    snprintf(f->world.dir, sizeof(f->world.dir), "/tmp/mlaunch-wait.XXXXXX");
    assert_non_null(mkdtemp(f->world.dir));
    f->host_names[0] = (char *)(uintptr_t) "a";
    f->world.is_launched = true;
    f->world.rank = ME;
    f->world.size = PEER + 1;
    f->world.host_of = f->host_of;
    f->world.host_names = f->host_names;
    assert_int_equal(pipe2(coord_events.fd, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(group_create(&f->group, &f->world, 9, members, 2, &why), 0);
    assert_int_equal(bell_make(&f->group->waiting.bell, f->world.dir, 1, 9, ME, false, &why), 0);
    f->group->call = (struct call){.kind = CALL_ALL_REDUCE,
                                   .count = 1000,
                                   .seq = 7,
                                   .type = ML_FLOAT32,
                                   .op = ML_SUM,
                                   .root = -1};
    f->group->words.name = "all_reduce";
    /* One receive is queued. */
    f->receive = (struct message_op){.what = MESSAGE_OP_RECV, .peer = 1, .size = 8};
    f->link = (struct link){.ops = &ops, .group = f->group, .peer = 1, .recvs = &f->receive};
    f->link.active = true;
    f->group->links[1] = &f->link;
    f->group->active[0] = &f->link;
    f->group->active_count = 1;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        close(coord_events.fd[i]);
        close(f->pipe[i]);
    }
    json_decref(coord_events.last);
    bell_remove(f->group->waiting.bell, f->world.dir, 1, 9, ME);
    group_destroy(f->group);
    assert_int_equal(rmdir(f->world.dir), 0); /* nothing is left in it */
    free(f);
    return 0;
}

/* Spins until it is time to sleep; returns how long that took. */
static int64_t spin(struct waiting *w)
{
    int64_t begin = clock_ns();

    while (wait_spin(f->group, w))
        ;
    return clock_ns() - begin;
}

/* A step that sleeps, however busy the processor was until now. */
static int step(struct waiting *w, struct fault *why)
{
    spin(w);
    return wait_step(f->group, w, why);
}

/* --- spinning --------------------------------------------------------------------------------- */

static void test_spin(void **state)
{
    struct waiting w = {0};

    (void)state;
    assert_true(spin(&w) >= 50 * US);
    assert_int_equal(w.spin_ns, 50 * US);
    assert_int_equal(f->sleeps, 0);
    wait_moved(f->group, &w);
    assert_int_equal(w.steps, 0);
    assert_true(wait_spin(f->group, &w)); /* anew */
}

static void test_spin_long(void **state)
{
    struct waiting w = {0};

    (void)state;
    ops.spin_ns = 2 * MS;
    assert_true(spin(&w) >= 2 * MS); /* a short message is awaited */
    w = (struct waiting){0};
    f->receive.size = 1 << 20;
    spin(&w);
    assert_int_equal(w.spin_ns, 50 * US); /* a long one */
    w = (struct waiting){0};
    ops.asks_kernel = true;
    spin(&w);
    assert_int_equal(w.spin_ns, 2 * MS); /* for which a system call yields anyway */
    w = (struct waiting){0};
    ops.asks_kernel = false;
    f->receive.size = 8;
    f->world.is_crowded = true;
    spin(&w);
    assert_int_equal(w.spin_ns, 50 * US); /* others need the processor */
}

/* Long spinning that never pays is given up, and tried again after many waits. */
static void test_spin_in_vain(void **state)
{
    int long_waits = 0, waits = 0, again = 0;

    (void)state;
    ops.spin_ns = 20 * MS; /* for longer than a busy scheduler keeps a thread away */
    for (;; waits++) {
        struct waiting w = {0};

        spin(&w);
        if (w.spin_ns == 50 * US)
            break;
        /* A thread that the scheduler kept away all the same has not spun for long. */
        long_waits++;
        assert_true(waits < 1000);
    }
    assert_true(long_waits >= 16);
    for (again = 1; again < 200; again++) {
        struct waiting w = {0};

        spin(&w);
        if (w.spin_ns == 20 * MS)
            break;
    }
    assert_int_equal(again, 63);
}

/* --- sleeping --------------------------------------------------------------------------------- */

static void test_bell(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};
    struct pollfd bell = {.fd = f->group->waiting.bell, .events = POLLIN};

    (void)state;
    f->sleep = SLEEP_RING;
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(f->sleeps, 1);
    assert_int_equal(f->wakes, 1);
    assert_int_equal(poll(&bell, 1, 0), 0); /* it has been silenced */
    assert_int_equal(coord_events.reads, 0);
}

static void test_link_wakes(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    f->sleep = SLEEP_READABLE;
    assert_int_equal(write(f->pipe[1], "", 1), 1);
    assert_int_equal(step(&w, &why), 0);
    f->sleep = SLEEP_READY; /* something has come since: no poll, though nothing would end it */
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(f->sleeps, 2);
    assert_int_equal(f->wakes, 2);
}

static void test_waker(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    f->group->waiting.waker = f->pipe[0];
    assert_int_equal(write(f->pipe[1], "", 1), 1);
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(f->wakes, 1);
}

/* --- news ------------------------------------------------------------------------------------- */

static void test_death(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    coord_events.peer = PEER_DEAD;
    f->sleep = SLEEP_NEWS; /* the coordinator's message ends the sleep */
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(coord_events.reads, 1);
    assert_int_equal(step(&w, &why), 0); /* the links are looked at once more */
    assert_int_equal(step(&w, &why), ML_ERR_PEER);
    assert_string_equal(why.text, "rank 5 is gone");
    assert_int_equal(f->sleeps, 1);
}

/* Nothing has come; then the peer sends the message and dies, and another thread of this process
 * reads of it. */
static int link_progress(struct link *l, struct fault *why)
{
    (void)why;
    if (coord_events.peer == PEER_DEAD) {
        l->recvs = NULL;
        f->receive.done = true;
        return 1;
    }
    coord_events.peer = PEER_DEAD;
    coord_events.serial++;
    return 0;
}

static void test_death_after_message(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    ops.progress = link_progress;
    spin(&w);
    while (!f->receive.done)
        assert_in_range(message_op_step(f->group, &w, &why), 0, 1);
    assert_int_equal(f->sleeps, 0);
}

/* What a dead peer sent last may still be under way. */
static void test_drain(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};
    int64_t begin = clock_ms();
    int rc = 0;

    (void)state;
    ops.drain_ms = 50;
    coord_events.peer = PEER_DEAD;
    coord_events.serial++;
    while (!rc)
        rc = step(&w, &why);
    assert_int_equal(rc, ML_ERR_PEER);
    assert_true(clock_ms() - begin >= 50);
    assert_true(f->sleeps >= 1);

    /* Unless its end has also come. */
    f->link.ended = true;
    f->link.gone_at = clock_ms() + 1000;
    assert_int_equal(step(&w, &why), ML_ERR_PEER);
}

/* Something moves every 20 ms, for longer than the drain. */
static int64_t flow_begin, flow_last;

static int link_flow(struct link *l, struct fault *why)
{
    int64_t now = clock_ms();

    (void)why;
    if (now - flow_last < 20)
        return 0;
    flow_last = now;
    if (now - flow_begin >= 3 * ops.drain_ms) {
        l->recvs = NULL;
        f->receive.done = true;
    }
    return 1;
}

static void test_drain_flows(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    ops.drain_ms = 400;
    ops.progress = link_flow;
    f->sleep = SLEEP_RING;
    flow_begin = flow_last = clock_ms();
    coord_events.peer = PEER_DEAD;
    coord_events.serial++;
    while (!f->receive.done)
        assert_in_range(message_op_step(f->group, &w, &why), 0, 1);
}

/* What a peer that has left in good order has sent may take any time, if its system ends the
 * connection behind it. */
static void test_left(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};
    int64_t begin = clock_ms();

    (void)state;
    ops.drain_ms = 1;
    ops.tells_end = true;
    f->sleep = SLEEP_RING;
    coord_events.peer = PEER_LEFT;
    coord_events.serial++;
    while (clock_ms() - begin < 200)
        assert_int_equal(step(&w, &why), 0);
    assert_int_equal(f->link.gone, PEER_LEFT);
    f->link.ended = true;
    assert_int_equal(step(&w, &why), ML_ERR_PEER);
}

/* A link that closes while the coordinator says nothing for a second. */
static void test_closed(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};
    int64_t begin = clock_ms();
    int rc = 0;

    (void)state;
    f->group->waiting.is_patient = true;
    f->link.ended = true;
    while (!rc)
        rc = step(&w, &why);
    assert_int_equal(rc, ML_ERR_PEER);
    assert_true(clock_ms() - begin >= 1000);
    assert_string_equal(why.text, "rank 5 on host a has closed its test link to rank 3");
}

static void test_broken(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    fault_set(&coord_events.broken, ML_ERR_MISMATCH, "the calls don't match");
    f->sleep = SLEEP_READY;
    assert_int_equal(step(&w, &why), 0); /* nothing new was said: the serial is the same */
    coord_events.serial++;
    assert_int_equal(step(&w, &why), ML_ERR_MISMATCH);
    assert_string_equal(why.text, "the calls don't match");
}

static void test_relayed(void **state)
{
    struct fault why = {0};

    (void)state;
    coord_events.serial++;
    coord_events.mail = json_integer(17);
    assert_int_equal(wait_take_news(f->group, &why), 0);
    assert_int_equal(f->heard, 1);
}

/* The beginning of a call reads the coordinator's socket, but not for each of many calls. */
static void test_read(void **state)
{
    struct fault why = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(wait_read_news(f->group, &why), 0);
    assert_true(coord_events.reads >= 1);
    assert_true(coord_events.reads < 50);
    coord_events.reads = 0;
    f->world.is_launched = false;
    f->group->waiting.looked_ms = 0;
    assert_int_equal(wait_read_news(f->group, &why), 0);
    assert_int_equal(coord_events.reads, 0);
}

/* --- stalls ----------------------------------------------------------------------------------- */

static void assert_note(const char *text)
{
    char path[PATH_MAX + 64], found[256] = "", *since;
    int fd;

    snprintf(path, sizeof(path), "%s/rank.%d.waiting.9", f->world.dir, ME);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        assert_true(read(fd, found, sizeof(found) - 1) >= 0);
        close(fd);
        since = strstr(found, ",\"since\":");
        assert_non_null(since);
        assert_true(strtoll(since + 9, NULL, 10) >= time(NULL) - 60);
        strcpy(since, "}");
    }
    assert_string_equal(found, text);
}

static void test_stall(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};
    int64_t begin = clock_ms();

    (void)state;
    f->group->words.site = "train.py:17";
    /* Each sleep ends by itself when the stall is due. The report is followed by a sleep without
     * end. */
    while (!f->group->waiting.is_stall_told) {
        f->sleep = clock_ms() - begin >= WAITING_AFTER_MS ? SLEEP_READY : SLEEP_ON;
        assert_int_equal(step(&w, &why), 0);
    }
    assert_true(clock_ms() - begin >= WAITING_AFTER_MS);
    f->sleep = SLEEP_RING;
    for (int i = 0; i < 3; i++)
        assert_int_equal(step(&w, &why), 0);
    assert_int_equal(coord_events.told_count, 1);
    assert_int_equal(coord_events.told[0], COORD_WAITING);
    assert_int_equal(json_integer_value(json_object_get(coord_events.last, "group")), 9);
    assert_int_equal(json_integer_value(json_object_get(coord_events.last, "seq")), 7);
    assert_string_equal(json_string_value(json_object_get(coord_events.last, "call")),
                        "all_reduce");
    assert_string_equal(json_string_value(json_object_get(coord_events.last, "signature")),
                        "all_reduce of 1000 float32 (sum)");
    assert_int_equal(json_array_size(json_object_get(coord_events.last, "peers")), 1);
    assert_int_equal(
        json_integer_value(json_array_get(json_object_get(coord_events.last, "peers"), 0)), PEER);
    assert_string_equal(json_string_value(json_object_get(coord_events.last, "place")),
                        "train.py:17");
    assert_note(
        "{\"text\":\"all_reduce of 1000 float32 (sum), call 7, for rank 5, called at train.py:17\","
        "\"name\":\"all_reduce\",\"algorithm\":\"\",\"place\":\"train.py:17\",\"group\":9,"
        "\"call\":7,\"receives_from\":[5],\"sends_to\":[]}");

    wait_moved(f->group, &w);
    assert_int_equal(coord_events.told_count, 2);
    assert_int_equal(coord_events.told[1], COORD_MOVING);
    assert_note("");
    wait_over(f->group); /* has nothing more to say */
    assert_int_equal(coord_events.told_count, 2);
}

static struct message arrived;

static bool link_look(struct link *l, struct message *m)
{
    (void)l;
    *m = arrived;
    return true;
}

/* What has come that nothing waits for shows whether the peer is in another call. */
static void test_look(void **state)
{
    struct fault why = {0};

    (void)state;
    ops.look = link_look;
    f->group->calls = 7;
    f->group->history = 70;
    arrived = (struct message){.kind = CALL_BROADCAST,
                               .seq = 6,
                               .root = 1,
                               .count = 8,
                               .history = 60,
                               .magic = MESSAGE_MAGIC};
    assert_int_equal(wait_look(f->group, &why), 0); /* a receive is queued, which will check it */
    f->link.recvs = NULL;
    assert_int_equal(wait_look(f->group, &why), ML_ERR_MISMATCH);
    assert_string_equal(
        why.text, "the ranks' calls don't match: rank 5's broadcast of 8 bytes from rank 1 (its "
                  "collective call number 6) met rank 3's all_reduce of 1000 float32 (sum) "
                  "(number 7)");
    arrived.seq = 7; /* a root of its own in the same call, or a later part of it */
    assert_int_equal(wait_look(f->group, &why), ML_ERR_MISMATCH);
    arrived.history = 70;
    assert_int_equal(wait_look(f->group, &why), 0);
    arrived.seq = 8; /* the peer is ahead */
    arrived.history = 80;
    assert_int_equal(wait_look(f->group, &why), 0);
    arrived.seq = 0;
    arrived.kind = CALL_SEND; /* may be received later */
    assert_int_equal(wait_look(f->group, &why), 0);
    arrived.magic = 0;
    assert_int_equal(wait_look(f->group, &why), ML_ERR_LINK);
}

/* Nothing that no thread waits for can stall. */
static void test_patient(void **state)
{
    struct waiting w = {0};
    struct fault why = {0};

    (void)state;
    f->group->waiting.is_patient = true;
    f->sleep = SLEEP_RING;
    assert_int_equal(step(&w, &why), 0);
    w.since_ns -= 2000ll * MS;
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(coord_events.told_count, 0);
    f->group->waiting.is_patient = false;
    assert_int_equal(step(&w, &why), 0);
    assert_int_equal(coord_events.told_count, 1);
    wait_over(f->group);
}

int coord_events_sleep_begin(struct coord_events *e, struct group *g)
{
    (void)g;
    return coord_events_fd(e);
}

void coord_events_sleep_end(struct coord_events *e, struct group *g)
{
    (void)e;
    (void)g;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spin_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spin_in_vain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_link_wakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death_after_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drain_flows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_relayed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stall, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patient, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
