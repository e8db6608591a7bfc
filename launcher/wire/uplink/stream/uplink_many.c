/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/stream/uplink_many.h"

#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <arpa/inet.h>
#include <string.h>

enum { HEAD_WORDS = 2, RANGE_WORDS = 2 };

void uplink_many_send(const struct uplink_many *m, struct uplink_stream *to)
{
    uint32_t words[HEAD_WORDS + RANGE_WORDS * UPLINK_RANGES_MOST];
    size_t count = 0;

    words[count++] = htonl(m->run);
    words[count++] = htonl((uint32_t)m->count);
    for (int i = 0; i < m->count; i++) {
        words[count++] = htonl((uint32_t)m->ranges[i].first);
        words[count++] = htonl((uint32_t)m->ranges[i].last);
    }
    uplink_stream_send_parts(to, UPLINK_MANY, words, count * sizeof(*words), m->bytes, m->size);
}

bool uplink_many_take(struct uplink_many *out, const struct frame *f, int hosts)
{
    uint32_t words[HEAD_WORDS], pair[RANGE_WORDS];
    const uint8_t *at = f->payload;
    int64_t last = -1;
    size_t head;

    if (f->size < sizeof(words))
        return false;
    memcpy(words, at, sizeof(words));
    out->run = ntohl(words[0]);
    if (ntohl(words[1]) < 1 || ntohl(words[1]) > UPLINK_RANGES_MOST)
        return false;
    out->count = (int)ntohl(words[1]);
    head = sizeof(words) + (size_t)out->count * sizeof(pair);
    if (f->size < head)
        return false;
    at += sizeof(words);
    for (int i = 0; i < out->count; i++, at += sizeof(pair)) {
        memcpy(pair, at, sizeof(pair));
        if (ntohl(pair[0]) <= last || ntohl(pair[1]) < ntohl(pair[0]) ||
            ntohl(pair[1]) >= (uint32_t)hosts)
            return false;
        last = ntohl(pair[1]);
        out->ranges[i] = (struct uplink_range){(int)ntohl(pair[0]), (int)last};
    }
    out->bytes = at;
    out->size = f->size - head;
    return true;
}

bool uplink_many_has(const struct uplink_many *m, int host)
{
    for (int i = 0; i < m->count; i++)
        if (host >= m->ranges[i].first && host <= m->ranges[i].last)
            return true;
    return false;
}

/* Hosts below `top` have larger numbers. */
bool uplink_many_reaches(const struct uplink_many *m, const struct uplink_tree *t, int top)
{
    for (int i = 0; i < m->count; i++) {
        int first = m->ranges[i].first > top ? m->ranges[i].first : top;

        for (int host = first; host <= m->ranges[i].last; host++)
            if (uplink_tree_is_within(t, top, host))
                return true;
    }
    return false;
}
