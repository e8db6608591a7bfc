/* SPDX-License-Identifier: MIT */
/* test_keeper_serve.c: copies of what ranks keep, as a rank's connection puts and gets them. What
 * is torn, another rank's, too large or malformed is not taken. */
#include "launcher/agent/keeper/keeper_serve.h"

#include "common/mlaunch.h"
#include "common/net/address.h"
#include "common/net/kept_stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 600000 }; /* some pieces */

static char dir[64];
static struct keeper_job job = {.dir = dir, .job = (char *)"1ngk8fs-q4z7cd", .size = 2};
static unsigned char head[KEPT_HEAD], data[SIZE], back[SIZE];

/* --- a keeper with one visitor ---------------------------------------------------------------- */

struct visit {
    int listener;
    char address[ADDRESS_TEXT];
    pthread_t thread;
    struct kept_stream *stream;
};

static void *visit_run(void *arg)
{
    struct visit *v = arg;
    struct pollfd p = {v->listener, POLLIN, 0};

    poll(&p, 1, -1);
    keeper_serve(&job, address_accept(v->listener), NULL, NULL);
    return NULL;
}

static int visit_begin(struct visit *v, int rank, const uint8_t *secret)
{
    struct address bound;
    struct fault why;

    assert_int_equal(address_listen("127.0.0.1", 0, 1, &v->listener, &bound, &why), 0);
    address_format(&bound, v->address);
    assert_int_equal(pthread_create(&v->thread, NULL, visit_run, v), 0);
    v->stream = NULL;
    return kept_stream_connect(&v->stream, v->address, job.job, secret, rank, job.is_secure, &why);
}

static void visit_end(struct visit *v)
{
    kept_stream_close(v->stream);
    pthread_join(v->thread, NULL);
    close(v->listener);
}

static void ask(struct visit *v, uint32_t what, uint32_t slot, uint64_t size, const char *name)
{
    struct kept_ask a = {.what = what, .slot = slot, .size = size};

    snprintf(a.name, sizeof(a.name), "%s", name);
    assert_true(kept_stream_send(v->stream, &a, sizeof(a)));
}

/* The errno, or 0; -1: the keeper has closed the connection. */
static int answer(struct visit *v, uint64_t *size)
{
    struct kept_answer a;

    if (!kept_stream_receive(v->stream, &a, sizeof(a), false))
        return -1;
    *size = a.size;
    return a.error;
}

static void put(struct visit *v, uint32_t slot, const char *name)
{
    uint64_t none;

    ask(v, KEPT_PUT, slot, SIZE, name);
    assert_int_equal(answer(v, &none), 0);
    assert_true(kept_stream_send(v->stream, data, sizeof(data)));
    assert_true(kept_stream_send(v->stream, head, sizeof(head)));
    assert_int_equal(answer(v, &none), 0);
}

static void require_kept(struct visit *v, uint32_t slot, const char *name)
{
    unsigned char page[KEPT_HEAD];
    uint64_t size = 0;

    for (uint32_t what = KEPT_LOOK; what >= KEPT_GET; what--) {
        ask(v, what, slot, 0, name);
        assert_int_equal(answer(v, &size), 0);
        assert_int_equal(size, SIZE);
        assert_true(kept_stream_receive(v->stream, page, sizeof(page), false));
        assert_memory_equal(page, head, sizeof(head));
    }
    assert_true(kept_stream_receive(v->stream, back, sizeof(back), false));
    assert_memory_equal(back, data, sizeof(data));
}

static void require_none(struct visit *v, uint32_t slot, const char *name)
{
    uint64_t none;

    for (uint32_t what = KEPT_GET; what <= KEPT_LOOK; what++) {
        ask(v, what, slot, 0, name);
        assert_int_equal(answer(v, &none), ENOENT);
    }
}

static int fresh(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/1test-%d.0.keeper", (int)getpid());
    memset(job.secret, 7, sizeof(job.secret));
    job.is_secure = false;
    memset(head, 3, sizeof(head));
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7 >> 3);
    return 0;
}

static int clear(void **state)
{
    char path[KEPT_PATH];

    (void)state;
    for (int i = 0; i < 2 * KEPT_SLOTS; i++) {
        kept_path(path, dir, i / 2, i % 2, "state");
        unlink(path);
    }
    return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_put_and_get(void **state)
{
    struct visit v, w;

    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        job.is_secure = secure;
        assert_int_equal(visit_begin(&v, 1, job.secret), 0);
        put(&v, 0, "state");
        require_kept(&v, 0, "state");
        data[5] ^= 1;
        put(&v, 0, "state");
        require_kept(&v, 0, "state");
        require_none(&v, 1, "state");
        require_none(&v, 0, "other");
        visit_end(&v);
        assert_int_equal(visit_begin(&w, 1, job.secret), 0);
        require_kept(&w, 0, "state");
        visit_end(&w);
    }
    assert_int_equal(visit_begin(&w, 0, job.secret), 0); /* a rank gets its own alone */
    require_none(&w, 0, "state");
    visit_end(&w);
}

/* A rank that dies within ml_keep. */
static void test_torn(void **state)
{
    struct visit v;
    uint64_t none;

    (void)state;
    assert_int_equal(visit_begin(&v, 1, job.secret), 0);
    put(&v, 0, "state");
    put(&v, 1, "state");
    ask(&v, KEPT_PUT, 1, SIZE, "state");
    assert_int_equal(answer(&v, &none), 0);
    assert_true(kept_stream_send(v.stream, data, SIZE));
    assert_true(kept_stream_send(v.stream, head, sizeof(head) - 1));
    visit_end(&v);
    assert_int_equal(visit_begin(&v, 1, job.secret), 0);
    require_none(&v, 1, "state");
    require_kept(&v, 0, "state");
    /* One that has no room leaves what is there. */
    ask(&v, KEPT_PUT, 0, UINT64_MAX, "state");
    assert_int_equal(answer(&v, &none), EFBIG);
    ask(&v, KEPT_PUT, 0, INT64_MAX - KEPT_HEAD, "state");
    assert_true(answer(&v, &none) > 0);
    require_kept(&v, 0, "state");
    visit_end(&v);
}

/* What a process of the rank had sent before it died comes after the next one's copy has begun. */
static void test_late(void **state)
{
    struct visit dead, v;
    uint64_t none;

    (void)state;
    assert_int_equal(visit_begin(&dead, 1, job.secret), 0);
    ask(&dead, KEPT_PUT, 0, SIZE, "state");
    assert_int_equal(answer(&dead, &none), 0);
    assert_true(kept_stream_send(dead.stream, back, SIZE / 2));
    assert_int_equal(visit_begin(&v, 1, job.secret), 0);
    put(&v, 0, "state");
    memset(back, 1, sizeof(back));
    assert_true(kept_stream_send(dead.stream, back, SIZE - SIZE / 2));
    assert_true(kept_stream_send(dead.stream, back, sizeof(head)));
    assert_true(answer(&dead, &none) != 0);
    ask(&dead, KEPT_PUT, 0, SIZE, "state");
    assert_true(answer(&dead, &none) != 0);
    require_kept(&v, 0, "state");
    visit_end(&v);
    visit_end(&dead);
}

static void test_strangers(void **state)
{
    uint8_t other[AUTH_SECRET] = {0};
    struct visit v;

    (void)state;
    assert_true(visit_begin(&v, 1, other) < 0);
    visit_end(&v);
    /* A rank that the job does not have. */
    assert_int_equal(visit_begin(&v, 2, job.secret), 0);
    assert_false(kept_stream_receive(v.stream, other, 1, false));
    visit_end(&v);
}

static void test_malformed(void **state)
{
    static const struct {
        uint32_t what, slot;
        const char *name;
    } bad[] = {{KEPT_PUT, KEPT_SLOTS, "state"},
               {KEPT_GET, UINT32_MAX, "state"},
               {KEPT_PUT, 0, "../state"},
               {KEPT_GET, 0, "a/b"},
               {KEPT_PUT, 0, ""},
               {0, 0, "state"},
               {KEPT_LOOK + 1, 0, "state"}};
    struct kept_ask unended = {.what = KEPT_PUT};
    struct visit v;
    uint64_t none;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(visit_begin(&v, 1, job.secret), 0);
        ask(&v, bad[i].what, bad[i].slot, 4, bad[i].name);
        assert_int_equal(answer(&v, &none), -1);
        visit_end(&v);
    }
    memset(unended.name, 'a', sizeof(unended.name));
    assert_int_equal(visit_begin(&v, 1, job.secret), 0);
    assert_true(kept_stream_send(v.stream, &unended, sizeof(unended)));
    assert_int_equal(answer(&v, &none), -1);
    visit_end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_and_get, fresh, clear),
        cmocka_unit_test_setup_teardown(test_torn, fresh, clear),
        cmocka_unit_test_setup_teardown(test_late, fresh, clear),
        cmocka_unit_test_setup_teardown(test_strangers, fresh, clear),
        cmocka_unit_test_setup_teardown(test_malformed, fresh, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
