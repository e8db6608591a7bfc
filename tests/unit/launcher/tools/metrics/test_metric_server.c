/* SPDX-License-Identifier: MIT */
/* Whose connection is pushed out when the server has too many, and how long a page may take. */
#include "launcher/tools/metrics/metric_server.h"

#include "common/net/address.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = METRIC_SERVER_CLIENTS };

struct fixture {
    struct event_base *base;
    struct metric_server *server;
    struct address address;
    int clients[MOST + 8], count;
    int wanted, patience_ms; /* pages, and for the last of them */
};

static void on_wanted(int patience_ms, void *arg)
{
    struct fixture *f = arg;

    f->wanted++;
    f->patience_ms = patience_ms;
}

static void turn(struct fixture *f)
{
    for (int i = 0; i < 4 * MOST; i++)
        event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* A client that says `words`, which the server has seen when this returns. The kernel keeps one
 * that says nothing for a while. */
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

static void open_server(struct fixture *f)
{
    struct fault why;

    memset(f, 0, sizeof(*f));
    f->base = event_base_new();
    assert_non_null(f->base);
    assert_int_equal(metric_server_open(&f->server, f->base, "0", on_wanted, f, &why), 0);
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
    struct fixture f;
    int waiting, silent, half;

    (void)state;
    open_server(&f);
    waiting = client_open(&f, "GET /metrics HTTP/1.1\r\n\r\n");
    silent = client_open(&f, "G");
    half = client_open(&f, "GET /metrics HTTP/1.1\r\n");
    while (f.count < MOST)
        client_open(&f, "G");
    assert_false(is_closed(silent));
    client_open(&f, "G");
    assert_false(is_closed(waiting));
    assert_true(is_closed(silent));
    assert_false(is_closed(half));
    client_open(&f, "G");
    assert_true(is_closed(half));
    assert_false(is_closed(waiting));
    assert_false(is_closed(f.clients[3]));
    close_server(&f);
}

/* Clients that all wait for the page keep a further one waiting, too, until it comes. */
static void test_all_wait(void **state)
{
    struct fixture f;

    (void)state;
    open_server(&f);
    while (f.count < MOST)
        client_open(&f, "GET /metrics HTTP/1.1\r\n\r\n");
    client_open(&f, "GET / HTTP/1.1\r\n\r\n");
    for (int i = 0; i < f.count; i++)
        assert_false(is_readable(f.clients[i]));
    assert_int_equal(f.wanted, 1);
    metric_server_give(f.server, "page");
    while (!is_readable(f.clients[MOST]))
        event_base_loop(f.base, EVLOOP_ONCE);
    for (int i = 1; i < f.count; i++)
        assert_true(is_readable(f.clients[i]));
    close_server(&f);
}

/* A page is made within the time that the client says it has. */
static void test_patience(void **state)
{
    static const struct {
        const char *line;
        int patience_ms;
    } said[] = {{"", INT_MAX},
                {"X-Prometheus-Scrape-Timeout-Seconds: 5\r\n", 4500},
                {"x-prometheus-scrape-timeout-seconds:0.8\r\n", 400},
                {"X-Prometheus-Scrape-Timeout-Seconds: nan\r\n", INT_MAX},
                {"X-Prometheus-Scrape-Timeout-Seconds: -1\r\n", INT_MAX},
                {"X-Prometheus-Scrape-Timeout-Seconds: 1e300\r\n", INT_MAX}};
    struct fixture f;
    char request[128];

    (void)state;
    open_server(&f);
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\n%s\r\n", said[i].line);
        client_open(&f, request);
        assert_int_equal(f.wanted, i + 1);
        assert_int_equal(f.patience_ms, said[i].patience_ms);
        metric_server_give(f.server, "page");
    }
    close_server(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_silent),
        cmocka_unit_test(test_all_wait),
        cmocka_unit_test(test_patience),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
