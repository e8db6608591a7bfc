/* SPDX-License-Identifier: MIT */
/*
 * fuzz_tcp_seal.c: what comes out of a sealed stream is what went in, or its beginning, whatever
 * happens to the sealed bytes on their way. The input is steps: a letter and a number N of two
 * bytes.
 *
 *   s N  send N bytes, at most a record        d N  leave out the first N sealed bytes
 *   p N  pass on the first N sealed bytes      r N  repeat them
 *   f N  flip a bit of sealed byte N           i N  put the byte N / 256 in front
 */
#include "common/net/tcp_seal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WIRE = 1 << 18, STEPS = 64 };

static unsigned char wire[WIRE]; /* sealed bytes on their way */
static size_t wire_size;
static bool is_changed;

struct stream {
    int out[2], in[2];
    struct tcp_seal *from, *to;
    size_t sent, came;
};

static unsigned char byte_of(size_t i)
{
    return (unsigned char)(i * 31 + i / 255);
}

static void send_bytes(struct stream *s, size_t size)
{
    static unsigned char bytes[UINT16_MAX];
    struct iovec part[2] = {{bytes, size < 32 ? size : 32},
                            {bytes + 32, size < 32 ? 0 : size - 32}};
    ssize_t n;

    if (!size || wire_size + 2 * (size_t)UINT16_MAX > WIRE)
        return;
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_of(s->sent + i);
    n = tcp_seal_send(s->from, s->out[0], part, 2);
    if (n != (ssize_t)(size < TCP_SEAL_RECORD ? size : TCP_SEAL_RECORD))
        abort();
    s->sent += (size_t)n;
    while ((n = recv(s->out[1], wire + wire_size, WIRE - wire_size, MSG_DONTWAIT)) > 0)
        wire_size += (size_t)n;
}

/* Each byte that comes must be the one that was sent. */
static void receive_bytes(struct stream *s)
{
    static unsigned char bytes[100000];
    struct iovec part[2] = {{bytes, 32}, {bytes + 32, sizeof(bytes) - 32}};
    ssize_t n;

    while ((n = tcp_seal_receive(s->to, s->in[1], part, 2)) > 0)
        for (ssize_t i = 0; i < n; i++)
            if (s->came >= s->sent || bytes[i] != byte_of(s->came++))
                abort();
    if (n == 0 || (errno != EAGAIN && errno != EBADMSG) || (errno == EBADMSG && !is_changed))
        abort();
}

static void wire_remove(size_t size)
{
    memmove(wire, wire + size, wire_size - size);
    wire_size -= size;
}

static void pass_on(struct stream *s, size_t size)
{
    if (send(s->in[0], wire, size, MSG_DONTWAIT) != (ssize_t)size)
        return; /* after an error nothing takes them */
    wire_remove(size);
    receive_bytes(s);
}

static void wire_change(uint8_t step, size_t n, size_t first)
{
    if (step == 'f' && wire_size)
        wire[n % wire_size] ^= (unsigned char)(1u << n % 8);
    else if (step == 'd')
        wire_remove(first);
    else if (step == 'r' && wire_size + first < WIRE) {
        memmove(wire + first, wire, wire_size);
        wire_size += first;
    } else if (step == 'i' && wire_size < WIRE) {
        memmove(wire + 1, wire, wire_size++);
        wire[0] = (unsigned char)(n >> 8);
    } else {
        return;
    }
    is_changed = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct auth_keys here = {{1}, {2}}, there = {{2}, {1}};
    struct stream s = {0};
    struct fault why;

    wire_size = 0;
    is_changed = false;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s.out) || socketpair(AF_UNIX, SOCK_STREAM, 0, s.in) ||
        tcp_seal_create(&s.from, &here, &why) || tcp_seal_create(&s.to, &there, &why))
        abort();
    for (size_t i = 0; i + 3 <= size && i < (size_t)3 * STEPS; i += 3) {
        size_t n = (size_t)data[i + 1] << 8 | data[i + 2], first = n < wire_size ? n : wire_size;

        if (data[i] == 's')
            send_bytes(&s, n);
        else if (data[i] == 'p')
            pass_on(&s, first);
        else
            wire_change(data[i], n, first);
    }
    pass_on(&s, wire_size);
    if (!is_changed && s.came != s.sent && !wire_size)
        abort();
    tcp_seal_destroy(s.from);
    tcp_seal_destroy(s.to);
    for (int i = 0; i < 2; i++) {
        close(s.out[i]);
        close(s.in[i]);
    }
    return 0;
}
