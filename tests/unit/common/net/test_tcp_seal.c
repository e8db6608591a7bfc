/* SPDX-License-Identifier: MIT */
/* test_tcp_seal.c: a stream of bytes in records, whole and changed. */
#include "common/net/tcp_seal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { OPENING = 24, LENGTH = 21, TAG = 17, MOST = 300000 };

static struct auth_keys here, there;
static unsigned char sent[MOST], came[MOST];

struct ends {
    int fd[2];
    struct tcp_seal *from, *to;
};

static void ends_open(struct ends *e)
{
    struct fault why;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->fd), 0);
    assert_int_equal(tcp_seal_create(&e->from, &here, &why), 0);
    assert_int_equal(tcp_seal_create(&e->to, &there, &why), 0);
}

static void ends_close(struct ends *e)
{
    tcp_seal_destroy(e->from);
    tcp_seal_destroy(e->to);
    close(e->fd[0]);
    close(e->fd[1]);
}

static int make_keys(void **state)
{
    (void)state;
    memset(here.send, 1, AUTH_KEY);
    memset(here.receive, 2, AUTH_KEY);
    there = (struct auth_keys){0};
    memcpy(there.send, here.receive, AUTH_KEY);
    memcpy(there.receive, here.send, AUTH_KEY);
    for (size_t i = 0; i < MOST; i++)
        sent[i] = (unsigned char)(i * 7 + i / 251);
    return 0;
}

static void send_some(struct ends *e, size_t at, size_t size)
{
    struct iovec part = {sent + at, size};

    assert_int_equal(tcp_seal_send(e->from, e->fd[0], &part, 1), size);
}

/* The sealed bytes that wait in the socket. */
static size_t wire_read(struct ends *e, unsigned char *out, size_t size)
{
    ssize_t n = recv(e->fd[1], out, size, MSG_DONTWAIT);

    assert_true(n >= 0);
    return (size_t)n;
}

static void wire_write(struct ends *e, const unsigned char *bytes, size_t size)
{
    assert_int_equal(send(e->fd[0], bytes, size, MSG_DONTWAIT), size);
}

static ssize_t receive(struct ends *e, size_t at, size_t size)
{
    struct iovec part = {came + at, size};

    return tcp_seal_receive(e->to, e->fd[1], &part, 1);
}

/* Sends `size` bytes as a header and a payload, and receives them in parts of `want` bytes, both as
 * a link does; the socket takes and gives only a few records at a time. */
static void there_in_parts(size_t size, size_t want)
{
    size_t out = 0, in = 0;
    struct ends e;

    ends_open(&e);
    memset(came, 0, sizeof(came));
    while (in < size) {
        size_t head = out < 32 && size > 32 ? 32 - out : 0;
        struct iovec part[2] = {{sent + out, head}, {sent + out + head, size - out - head}};
        ssize_t n = out == size ? 0
                    : head      ? tcp_seal_send(e.from, e.fd[0], part, 2)
                                : tcp_seal_send(e.from, e.fd[0], part + 1, 1);

        assert_true(n >= 0 || errno == EAGAIN);
        out += n > 0 ? (size_t)n : 0;
        n = receive(&e, in, want < size - in ? want : size - in);
        assert_true(n > 0 || errno == EAGAIN);
        in += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(out, size);
    assert_memory_equal(came, sent, size);
    assert_int_equal(receive(&e, 0, 1), -1);
    assert_int_equal(errno, EAGAIN);
    shutdown(e.fd[0], SHUT_WR);
    assert_int_equal(receive(&e, 0, 1), 0);
    ends_close(&e);
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {1,
                                   31,
                                   32,
                                   33,
                                   1000,
                                   TCP_SEAL_RECORD - 1,
                                   TCP_SEAL_RECORD,
                                   TCP_SEAL_RECORD + 1,
                                   2 * TCP_SEAL_RECORD + 32,
                                   MOST};
    static const size_t wants[] = {1, 1000, TCP_SEAL_RECORD - 1, TCP_SEAL_RECORD, MOST};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (size_t k = 0; k < sizeof(wants) / sizeof(*wants); k++)
            there_in_parts(sizes[i], wants[k]);
}

/* A record that the socket takes in parts has been sent only when it has taken the last one. */
static void test_full_socket(void **state)
{
    unsigned char wire[OPENING + LENGTH + TCP_SEAL_RECORD + TAG];
    int small = 4096;
    struct iovec part = {sent, TCP_SEAL_RECORD};
    struct ends e;
    ssize_t n = -1;
    size_t size = 0;

    (void)state;
    ends_open(&e);
    assert_int_equal(setsockopt(e.fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    while (n < 0) {
        n = tcp_seal_send(e.from, e.fd[0], &part, 1);
        assert_true(n == TCP_SEAL_RECORD || errno == EAGAIN);
        size += wire_read(&e, wire + size, sizeof(wire) - size);
    }
    assert_int_equal(n, TCP_SEAL_RECORD);
    assert_int_equal(size, sizeof(wire));
    ends_close(&e);
}

/* Nothing of two records, whose sealed bytes `change` has turned into *size others, is passed on
 * beyond the first `whole` bytes of the stream. */
static void expect_changed(void (*change)(unsigned char *wire, size_t *size, size_t at), size_t at,
                           size_t whole)
{
    unsigned char wire[1024];
    struct ends e;
    size_t size, got = 0;
    ssize_t n;

    ends_open(&e);
    send_some(&e, 0, 100);
    send_some(&e, 100, 100);
    size = wire_read(&e, wire, sizeof(wire) / 2);
    assert_int_equal(size, OPENING + 2 * (LENGTH + 100 + TAG));
    change(wire, &size, at);
    wire_write(&e, wire, size);
    while ((n = receive(&e, got, 60)) > 0)
        got += (size_t)n;
    assert_int_equal(n, -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(got, whole);
    assert_memory_equal(came, sent, got);
    assert_int_equal(receive(&e, got, 60), -1);
    assert_int_equal(errno, EBADMSG);
    ends_close(&e);
}

static void flip(unsigned char *wire, size_t *size, size_t at)
{
    assert_true(at < *size);
    wire[at] ^= (unsigned char)(1u << at % 8);
}

static void leave_out(unsigned char *wire, size_t *size, size_t at)
{
    size_t record = LENGTH + 100 + TAG;

    memmove(wire + at, wire + at + record, *size - at - record);
    *size -= record;
}

static void repeat(unsigned char *wire, size_t *size, size_t at)
{
    size_t record = LENGTH + 100 + TAG;

    memmove(wire + at + record, wire + at, *size - at);
    *size += record;
}

static void test_changed(void **state)
{
    size_t record = LENGTH + 100 + TAG;

    (void)state;
    for (size_t i = 0; i < OPENING + 2 * record; i++)
        expect_changed(flip, i, i < OPENING + record ? 0 : 100);
    expect_changed(leave_out, OPENING, 0);
    expect_changed(repeat, OPENING, 100);
    expect_changed(repeat, OPENING + record, 200);
}

/* What was sealed for the other direction, or with the keys of another connection. */
static void test_wrong_key(void **state)
{
    struct ends e, other;
    struct fault why;
    unsigned char wire[256];
    size_t size;

    (void)state;
    ends_open(&e);
    ends_open(&other);
    tcp_seal_destroy(other.from);
    assert_int_equal(tcp_seal_create(&other.from, &there, &why), 0);
    send_some(&other, 0, 100);
    size = wire_read(&other, wire, sizeof(wire));
    wire_write(&e, wire, size);
    assert_int_equal(receive(&e, 0, 100), -1);
    assert_int_equal(errno, EBADMSG);
    ends_close(&e);
    ends_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_full_socket),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_wrong_key),
    };

    return cmocka_run_group_tests(tests, make_keys, NULL);
}
