/* SPDX-License-Identifier: MIT */
/*
 * fuzz_auth.c: neither side of the handshake accepts a peer without the secret, whatever it sends.
 * Each line of the input is a frame for an acceptor, for one that has got an old HELLO, and for a
 * connector: two digits of its type, then its payload, in which @ is replaced by this build's id.
 */
#include "common/build_id.h"
#include "common/net/auth.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct auth *a, const char *payload, size_t size, uint8_t type)
{
    /* A block of its exact size, so that ASan sees a read beyond its final 0. */
    struct frame f = {type, (uint32_t)size, malloc(size + 1)};
    enum auth_progress progress;
    struct fault why;
    size_t left;

    if (!f.payload)
        abort();
    memcpy(f.payload, payload, size);
    f.payload[size] = 0;
    if (auth_input(a, &f, &progress, &why) == 0 && progress == AUTH_DONE)
        abort();
    auth_output(a, &left);
    if (left > 2048)
        abort();
    free(f.payload);
}

/* One more acceptor, and the connector's HELLO for it. */
static struct auth *challenger(struct auth *connector, const uint8_t *secret)
{
    enum auth_progress progress;
    struct fault why;
    struct auth *a;
    size_t size;
    const uint8_t *hello = auth_output(connector, &size);
    struct frame f = {AUTH_FRAME_HELLO, (uint32_t)(size - FRAME_HEADER),
                      (uint8_t *)(uintptr_t)hello + FRAME_HEADER};

    if (auth_create_acceptor(&a, "job", secret, &why) || auth_input(a, &f, &progress, &why))
        abort();
    return a;
}

static size_t expand(char *out, size_t room, const uint8_t *line, size_t size)
{
    size_t id = strlen(build_id), n = 0;

    for (size_t i = 0; i < size && n + id < room; i++) {
        if (line[i] != '@') {
            out[n++] = (char)line[i];
            continue;
        }
        for (size_t j = 0; j < id; j++)
            out[n++] = build_id[j];
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t secret[AUTH_SECRET] = {1};
    static const struct auth_identity me = {.purpose = "rank"};
    const uint8_t *end = data + size, *next;
    struct auth *acceptor, *connector, *second;
    struct fault why;
    char text[8192];

    if (auth_create_acceptor(&acceptor, "job", secret, &why) ||
        auth_create_connector(&connector, "job", secret, &me, &why))
        abort();
    second = challenger(connector, secret);
    for (; data < end; data = next + 1) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next)
            next = end;
        if (next - data >= 2) {
            uint8_t type = (uint8_t)((data[0] - '0') * 10 + (data[1] - '0'));
            size_t n = expand(text, sizeof(text), data + 2, (size_t)(next - data - 2));

            put(acceptor, text, n, type);
            put(second, text, n, type);
            put(connector, text, n, type);
        }
    }
    auth_destroy(acceptor);
    auth_destroy(second);
    auth_destroy(connector);
    return 0;
}
