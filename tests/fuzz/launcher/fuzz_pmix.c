/* SPDX-License-Identifier: MIT */
/*
 * fuzz_pmix.c: the agent survives, whatever mlaunch-pmix sends, in which ranks have a hand: every
 * call of the agent's functions is valid, and after the first malformed frame comes on_lost and
 * nothing else. The first byte of the input is not sent: its lowest bit lets a rank end first.
 */
#include "launcher/agent/mpi/pmix_helper.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 2, CHUNK = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
    struct pmix_helper *helper;
    bool is_ready, is_lost;
};

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static void on_ready(void *arg)
{
    struct state *s = arg;

    check(!s->is_ready && !s->is_lost);
    s->is_ready = true;
    for (int i = 0; i < RANKS; i++) {
        for (const char *const *v = pmix_helper_variables(s->helper, i); *v; v++)
            check(strchr(*v, '=') > *v);
    }
}

static void on_exchange(uint32_t number, const void *bytes, size_t size, void *arg)
{
    struct state *s = arg;

    check(s->is_ready && !s->is_lost);
    pmix_helper_exchanged(s->helper, number, bytes, size);
}

static void on_pass(uint32_t host, const void *bytes, size_t size, void *arg)
{
    struct state *s = arg;

    check(s->is_ready && !s->is_lost && size > 0);
    pmix_helper_passed(s->helper, (int)host, bytes, size);
}

static void on_abort(int index, int status, void *arg)
{
    const struct state *s = arg;

    (void)status;
    check(s->is_ready && !s->is_lost && index >= 0 && index < RANKS);
}

static void on_text(int index, const char *text, void *arg)
{
    on_abort(index, (int)strlen(text), arg);
}

static void on_silent(const char *text, void *arg)
{
    (void)text, (void)arg;
}

static void on_settled(void *arg)
{
    (void)arg;
}

static void on_lost(const char *text, void *arg)
{
    struct state *s = arg;

    check(!s->is_lost && *text);
    s->is_lost = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct event_base *base;
    static const int ranks[RANKS] = {3, 5};
    struct state s = {0};
    const struct pmix_helper_events events = {on_ready, on_exchange, on_pass, on_abort,   on_text,
                                              on_text,  on_silent,   on_lost, on_settled, &s};
    struct stream_child child = {.errors = -1};
    struct fault why;
    int pair[2];
    char answer[CHUNK];

    if (!base) {
        base = event_base_new();
        signal(SIGPIPE, SIG_IGN); /* as in the agent */
    }
    check(size < 1 << 20 && base && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    child.fd = pair[0];
    check(pmix_helper_open(&s.helper, base, &child, json_object(), ranks, RANKS, &events, &why) ==
          0);
    if (size > 0 && data[0] & 1)
        pmix_helper_rank_ended(s.helper, 1, true);
    for (size_t at = 1; at < size;) {
        ssize_t n = send(pair[1], data + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n <= 0)
            break;
        at += (size_t)n;
        event_base_loop(base, EVLOOP_NONBLOCK);
        while (recv(pair[1], answer, sizeof(answer), MSG_DONTWAIT) > 0)
            ;
    }
    close(pair[1]);
    for (int i = 0; i < 3; i++)
        event_base_loop(base, EVLOOP_NONBLOCK);
    check(s.is_lost);
    pmix_helper_close(s.helper);
    return 0;
}
