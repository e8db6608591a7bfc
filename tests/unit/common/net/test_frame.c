/* SPDX-License-Identifier: MIT */
#include "common/net/frame.h"

#include "common/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct frame_reader *new_reader(uint32_t limit)
{
    struct frame_reader *r = NULL;
    struct fault why;

    assert_int_equal(frame_reader_create(&r, limit, &why), 0);
    return r;
}

static void feed(struct frame_reader *r, const void *bytes, size_t size)
{
    struct fault why;

    assert_int_equal(frame_reader_feed(r, bytes, size, &why), 0);
}

static void test_header(void **state)
{
    uint8_t header[FRAME_HEADER];

    (void)state;
    frame_header(header, 7, 0x01020304);
    assert_memory_equal(header, ((uint8_t[]){1, 2, 3, 4, FRAME_VERSION, 7, 0, 0}), 8);
}

/* Three frames, fed in pieces of every size, come out unchanged, each followed by a 0. */
static void test_pieces(void **state)
{
    static const char *const payloads[] = {"hello", "", "world and more"};
    uint8_t stream[100];
    size_t size = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        frame_header(stream + size, (uint8_t)(20 + i), (uint32_t)strlen(payloads[i]));
        memcpy(stream + size + FRAME_HEADER, payloads[i], strlen(payloads[i]));
        size += FRAME_HEADER + strlen(payloads[i]);
    }
    for (size_t piece = 1; piece <= size; piece++) {
        struct frame_reader *r = new_reader(64);
        struct fault why;
        struct frame f;
        int seen = 0;

        for (size_t at = 0; at < size; at += piece) {
            feed(r, stream + at, at + piece < size ? piece : size - at);
            while (seen < 3 && frame_reader_next(r, &f, &why) == 1) {
                assert_int_equal(f.type, 20 + seen);
                assert_int_equal(f.size, strlen(payloads[seen]));
                assert_string_equal((char *)f.payload, payloads[seen]);
                seen++;
            }
        }
        assert_int_equal(seen, 3);
        assert_int_equal(frame_reader_next(r, &f, &why), 0);
        frame_reader_destroy(r);
    }
}

static void test_refused(void **state)
{
    static const uint8_t bad[][FRAME_HEADER] = {
        {0, 0, 0, 0, 2, 1, 0, 0},                   /* another version */
        {0, 0, 0, 0, FRAME_VERSION, 1, 1, 0},       /* not zero */
        {0, 0, 0, 0, FRAME_VERSION, 1, 0, 1},       /* not zero */
        {0, 0, 0, 65, FRAME_VERSION, 1, 0, 0},      /* beyond the limit */
        {0xff, 0xff, 0xff, 0xff, FRAME_VERSION, 1}, /* far beyond */
        {'G', 'E', 'T', ' ', '/', ' ', 'H', 'T'},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct frame_reader *r = new_reader(64);
        struct fault why;
        struct frame f;

        feed(r, bad[i], FRAME_HEADER);
        assert_int_equal(frame_reader_next(r, &f, &why), ML_ERR_REFUSED);
        assert_int_equal(frame_reader_next(r, &f, &why), ML_ERR_REFUSED); /* and again */
        frame_reader_destroy(r);
    }
}

static void test_limit_changes(void **state)
{
    struct frame_reader *r = new_reader(4);
    uint8_t header[FRAME_HEADER];
    struct fault why;
    struct frame f;

    (void)state;
    frame_header(header, 1, 4);
    feed(r, header, sizeof(header));
    feed(r, "abcd", 4);
    frame_header(header, 2, 5);
    feed(r, header, sizeof(header));
    feed(r, "abcde", 5);
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    frame_reader_limit(r, 5);
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    assert_string_equal((char *)f.payload, "abcde");
    frame_reader_destroy(r);
}

/* The byte after the payload is not 0 and must be restored: it begins the header of the next
 * frame. */
static void test_byte_behind(void **state)
{
    struct frame_reader *r = new_reader(FRAME_LIMIT);
    uint8_t header[FRAME_HEADER], *big = calloc(1, FRAME_LIMIT);
    struct fault why;
    struct frame f;

    (void)state;
    memset(big, 'x', FRAME_LIMIT);
    frame_header(header, 1, 3);
    feed(r, header, sizeof(header));
    feed(r, "abc", 3);
    frame_header(header, 2, FRAME_LIMIT);
    assert_int_not_equal(header[0], 0);
    feed(r, header, sizeof(header));
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    assert_string_equal((char *)f.payload, "abc");
    for (size_t at = 0; at < FRAME_LIMIT; at += FRAME_LIMIT / 16) {
        assert_int_equal(frame_reader_next(r, &f, &why), 0);
        feed(r, big + at, FRAME_LIMIT / 16);
    }
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    assert_int_equal(f.size, FRAME_LIMIT);
    assert_memory_equal(f.payload, big, FRAME_LIMIT);
    assert_int_equal(f.payload[FRAME_LIMIT], 0);
    free(big);
    frame_reader_destroy(r);
}

struct sender {
    int fd;
    uint8_t *bytes;
    uint32_t size;
    int rc;
};

static void *send_one(void *arg)
{
    struct sender *s = arg;

    s->rc = frame_send(s->fd, 30, s->bytes, s->size, -1, NULL);
    return NULL;
}

static void test_socket(void **state)
{
    struct frame_reader *r = new_reader(FRAME_LIMIT);
    struct sender s = {.size = 5 << 20};
    pthread_t thread;
    struct fault why;
    struct frame f;
    int fd[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    /* No data: the deadline passes. */
    assert_int_equal(frame_recv(fd[0], r, &f, clock_ms(), &why), ML_ERR_TIMEOUT);
    /* More than a socket accepts at once. */
    s.fd = fd[1];
    s.bytes = malloc(s.size);
    for (uint32_t i = 0; i < s.size; i++)
        s.bytes[i] = (uint8_t)(i * 7);
    assert_int_equal(pthread_create(&thread, NULL, send_one, &s), 0);
    assert_int_equal(frame_recv(fd[0], r, &f, clock_ms() + 5000, &why), 0);
    pthread_join(thread, NULL);
    assert_int_equal(s.rc, 0);
    assert_int_equal(f.type, 30);
    assert_int_equal(f.size, s.size);
    assert_memory_equal(f.payload, s.bytes, s.size);
    /* The peer does not read: the deadline passes. */
    assert_int_equal(frame_send(fd[1], 1, s.bytes, s.size, clock_ms(), &why), ML_ERR_TIMEOUT);
    close(fd[0]);
    assert_int_equal(frame_send(fd[1], 1, NULL, 0, -1, &why), ML_ERR_PEER);
    close(fd[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    close(fd[1]);
    assert_int_equal(frame_recv(fd[0], r, &f, -1, &why), ML_ERR_PEER);
    close(fd[0]);
    free(s.bytes);
    frame_reader_destroy(r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),      cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_limit_changes),
        cmocka_unit_test(test_byte_behind), cmocka_unit_test(test_socket),
    };

    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
