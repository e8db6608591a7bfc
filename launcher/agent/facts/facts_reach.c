/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_reach.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/text/text_json.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 3000, BACKLOG = 4096 };

int facts_reach_listen(json_t *out, struct fault *why)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    socklen_t size = sizeof(any), size4 = sizeof(any4);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&any, &size) == 0) {
        port = ntohs(any.sin6_port);
    } else { /* without IPv6 */
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, (struct sockaddr *)&any4, size4) == 0 && listen(fd, BACKLOG) == 0 &&
            getsockname(fd, (struct sockaddr *)&any4, &size4) == 0)
            port = ntohs(any4.sin_port);
    }
    if (port == 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot listen on a TCP port");
    json_object_set_new(out, "port", json_integer(port));
    return 0; /* the socket stays open until the agent ends */
}

struct reach_end {
    bool is_over;
    char error[128];   /* "": connected */
    json_int_t rtt_us; /* 0: unknown */
};

static void end_settle(struct reach_end *e, struct pollfd *p, const char *error)
{
    e->is_over = true;
    snprintf(e->error, sizeof(e->error), "%.127s", error);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* As the kernel has measured it, however long this process has waited for a processor. */
static json_int_t round_trip(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) ? 0 : (json_int_t)info.tcpi_rtt;
}

static void connect_begin(struct reach_end *e, struct pollfd *p, const char *text)
{
    struct address to;
    struct fault why;

    *p = (struct pollfd){.fd = -1, .events = POLLOUT};
    if (!*text)
        end_settle(e, p, "");
    else if (address_parse(&to, text, &why) || address_connect_start(&to, &p->fd, &why))
        end_settle(e, p, why.text);
}

static void connections_wait(struct reach_end *ends, struct pollfd *polled, size_t count)
{
    int64_t deadline = clock_ms() + WAIT_MS;
    size_t left = 0;

    for (size_t i = 0; i < count; i++)
        left += !ends[i].is_over;
    while (left > 0 && poll(polled, count, clock_left_ms(deadline)) > 0) {
        for (size_t i = 0; i < count; i++) {
            int error = 0;
            socklen_t size = sizeof(error);

            if (ends[i].is_over || !polled[i].revents)
                continue;
            getsockopt(polled[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
            ends[i].rtt_us = error ? 0 : round_trip(polled[i].fd);
            end_settle(&ends[i], &polled[i], error ? strerror(error) : "");
            left--;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (!ends[i].is_over)
            end_settle(&ends[i], &polled[i], "no answer in 3 s");
}

int facts_reach_connect(const json_t *to, json_t *out, struct fault *why)
{
    size_t count = json_array_size(to);
    struct reach_end *ends = calloc(count + 1, sizeof(*ends));
    struct pollfd *polled = calloc(count + 1, sizeof(*polled));
    json_t *failed = json_array(), *rtt = json_array();

    if (!ends || !polled) {
        free(ends);
        free(polled);
        json_decref(failed);
        json_decref(rtt);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(to, i));

        connect_begin(&ends[i], &polled[i], text ? text : "");
    }
    connections_wait(ends, polled, count);
    for (size_t i = 0; i < count; i++) {
        if (ends[i].error[0])
            json_array_append_new(
                failed, json_pack("{si so}", "host", (int)i, "error", text_json(ends[i].error)));
        json_array_append_new(rtt, json_integer(ends[i].rtt_us));
    }
    json_object_set_new(out, "failed", failed);
    json_object_set_new(out, "rtt_us", rtt);
    free(ends);
    free(polled);
    return 0;
}
