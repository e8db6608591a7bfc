/* SPDX-License-Identifier: MIT */
/* Whose connection is pushed out when the server has too many. */
#include "launcher/tools/metrics/metric_server.h"

#include "common/net/address.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = METRIC_SERVER_CLIENTS };

struct fixture {
    struct event_base *base;
    struct metric_server *server;
    struct address address;
    int clients[MOST + 8], count;
};

static void turn(struct fixture *f)
{
    for (int i = 0; i < 4 * MOST; i++)
        event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* A client that says `words`, which the server has seen when this returns. */
static int client_open(struct fixture *f, const char *words)
{
    struct fault why;
    int fd = -1;

    assert_int_equal(address_connect(&f->address, INT64_MAX, &fd, &why), 0);
    assert_int_equal(send(fd, words, strlen(words), MSG_NOSIGNAL), strlen(words));
    turn(f);
    f->clients[f->count++] = fd;
    return fd;
}

/* True once the server has closed the connection, and everything before that has been read. */
static bool is_closed(int fd)
{
    char bytes[4096];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        ;
    return n == 0;
}

static bool is_readable(int fd)
{
    return recv(fd, (char[1]){0}, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

static void open_server(struct fixture *f, char *const argv[])
{
    struct fault why;

    memset(f, 0, sizeof(*f));
    f->base = event_base_new();
    assert_non_null(f->base);
    assert_int_equal(metric_server_open(&f->server, f->base, "0", argv, &why), 0);
    assert_int_equal(address_parse(&f->address, metric_server_address(f->server), &why), 0);
}

static void close_server(struct fixture *f)
{
    while (f->count > 0)
        close(f->clients[--f->count]);
    metric_server_close(f->server);
    event_base_free(f->base);
}

static void test_oldest_silent(void **state)
{
    static char *const argv[] = {"/bin/cat", NULL}; /* ends when it is ended */
    struct fixture f;
    int waiting, silent, half;

    (void)state;
    open_server(&f, argv);
    waiting = client_open(&f, "GET /metrics HTTP/1.1\r\n\r\n");
    silent = client_open(&f, "");
    half = client_open(&f, "GET /metrics HTTP/1.1\r\n");
    while (f.count < MOST)
        client_open(&f, "");
    assert_false(is_closed(silent));
    client_open(&f, "");
    assert_false(is_closed(waiting));
    assert_true(is_closed(silent));
    assert_false(is_closed(half));
    client_open(&f, "");
    assert_true(is_closed(half));
    assert_false(is_closed(waiting));
    assert_false(is_closed(f.clients[3]));
    close_server(&f);
}

/* Clients that all wait for the page keep a further one waiting, too, until it comes. */
static void test_all_wait(void **state)
{
    char fifo[] = "/tmp/test_metric_server.XXXXXX";
    char *argv[] = {"/bin/cat", fifo, NULL};
    struct fixture f;
    int to;

    (void)state;
    assert_non_null(mkdtemp(fifo));
    assert_int_equal(rmdir(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    open_server(&f, argv);
    while (f.count < MOST)
        client_open(&f, "GET /metrics HTTP/1.1\r\n\r\n");
    client_open(&f, "GET / HTTP/1.1\r\n\r\n");
    for (int i = 0; i < f.count; i++)
        assert_false(is_readable(f.clients[i]));
    to = open(fifo, O_WRONLY);
    assert_int_equal(write(to, "page", 4), 4);
    close(to);
    while (!is_readable(f.clients[MOST]))
        event_base_loop(f.base, EVLOOP_ONCE);
    for (int i = 1; i < f.count; i++)
        assert_true(is_readable(f.clients[i]));
    close_server(&f);
    unlink(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_silent),
        cmocka_unit_test(test_all_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
