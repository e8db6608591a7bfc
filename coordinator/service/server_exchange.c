/* SPDX-License-Identifier: MIT */
/* server_exchange.c: every member of a group sends blobs, and gets those that are meant for it. */
#include "coordinator/service/server_exchange.h"

#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"
#include "coordinator/service/meeting.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGE_HEADER = 12 }; /* u32 group, u32 seq, u32 number of blobs */

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return ntohl(value);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    value = htonl(value);
    memcpy(at, &value, sizeof(value));
}

/* True if the blobs fill the payload exactly. */
static bool blobs_are_well_formed(const uint8_t *at, size_t size, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (size < 4 || get_u32(at) > size - 4)
            return false;
        size -= 4 + (size_t)get_u32(at);
        at += 4 + (size_t)get_u32(at);
    }
    return size == 0;
}

/* Moves on to the next receiver: skips a blob of each member that sent one for every receiver. */
static void blobs_advance(const struct server_group *p, const uint8_t **at)
{
    for (int i = 0; i < p->count; i++) {
        if (p->seats[i].blob_count > 1)
            at[i] += 4 + (size_t)get_u32(at[i]);
    }
}

static void blobs_rewind(const struct server_group *p, const uint8_t **at)
{
    for (int i = 0; i < p->count; i++)
        at[i] = p->seats[i].blobs;
}

static size_t reply_size(const struct server_group *p, const uint8_t **at)
{
    size_t size = EXCHANGE_HEADER;

    for (int i = 0; i < p->count; i++)
        size += 4 + (size_t)get_u32(at[i]);
    return size;
}

/* Each member has sent one blob for all, so all get the same reply. */
static bool exchange_is_same_for_all(const struct server_group *p)
{
    for (int i = 0; i < p->count; i++) {
        if (p->seats[i].blob_count > 1)
            return false;
    }
    return true;
}

/* True if the reply to each member fits into a frame; stores the size of the longest. */
static bool exchange_fits(const struct server_group *p, const uint8_t **at, size_t *longest)
{
    int replies = exchange_is_same_for_all(p) ? 1 : p->count;

    *longest = 0;
    blobs_rewind(p, at);
    for (int to = 0; to < replies; to++) {
        size_t size = reply_size(p, at);

        if (size > *longest)
            *longest = size;
        blobs_advance(p, at);
    }
    return *longest <= connection_cast_most(p->generation->server);
}

/* Returns the size of the reply to the receiver whose turn it is. */
static size_t exchange_write(const struct server_group *p, const uint8_t **at, uint8_t *payload)
{
    uint8_t *end = payload + EXCHANGE_HEADER;

    put_u32(payload, p->id);
    put_u32(payload + 4, p->exchange_seq);
    put_u32(payload + 8, (uint32_t)p->count);
    for (int i = 0; i < p->count; i++) {
        size_t blob = 4 + (size_t)get_u32(at[i]);

        memcpy(end, at[i], blob);
        end += blob;
    }
    return (size_t)(end - payload);
}

static struct connection *member_connection(const struct server_group *p, int index)
{
    return p->generation->ranks[p->seats[index].rank].connection;
}

static void exchange_send_same(const struct server_group *p, const uint8_t **at, uint8_t *payload)
{
    size_t size = exchange_write(p, at, payload);
    uint8_t number[COPY_NUMBER];
    int own = 0; /* members that have no agent between: they are on this host */
    bool is_shared;

    for (int to = 0; to < p->count; to++) {
        struct connection *c = member_connection(p, to);

        connection_cast_add(c);
        own += c && c->state != CONNECTION_CLOSED && !c->agent;
    }
    is_shared = connection_share(p->generation->server, own, payload, size, number);
    for (int to = 0; to < p->count; to++) {
        struct connection *c = member_connection(p, to);

        if (is_shared && c && !c->agent)
            connection_send(c, COORD_EXCHANGED_COPY, number, sizeof(number));
        else
            connection_cast_send(c, COORD_EXCHANGED, payload, size);
    }
}

/* In group order, so that at[i] is the blob that seat i sent for the receiver. */
static void exchange_send_each(const struct server_group *p, const uint8_t **at, uint8_t *payload)
{
    for (int to = 0; to < p->count; to++) {
        size_t size = exchange_write(p, at, payload);

        connection_send(member_connection(p, to), COORD_EXCHANGED, payload, size);
        blobs_advance(p, at);
    }
}

/* Sends the replies in group order. at[i] points to the blob that seat i sent for the receiver
 * whose turn it is, so nothing has to be searched for. */
static void exchange_complete(struct server_group *p)
{
    const uint8_t **at = calloc((size_t)p->count, sizeof(*at));
    uint8_t *payload = NULL;
    size_t longest;

    if (at && exchange_fits(p, at, &longest))
        payload = malloc(longest);
    if (!payload) {
        free(at);
        server_group_break(p, ML_ERR_MEMORY, "the coordinator cannot exchange that much at once");
        return;
    }
    blobs_rewind(p, at);
    if (exchange_is_same_for_all(p))
        exchange_send_same(p, at, payload);
    else
        exchange_send_each(p, at, payload);
    free(payload);
    free(at);
    server_group_clear_exchange(p);
}

bool server_exchange_group(const struct frame *f, json_int_t *id)
{
    if (f->size < EXCHANGE_HEADER)
        return false;
    *id = get_u32(f->payload);
    return true;
}

int server_exchange_receive(struct server_group *p, struct server_seat *seat, const struct frame *f,
                            struct fault *why)
{
    uint32_t seq = get_u32(f->payload + 4), count = get_u32(f->payload + 8);
    size_t size = f->size - EXCHANGE_HEADER;

    if (seat->blobs || (count != 1 && count != (uint32_t)p->count) ||
        !blobs_are_well_formed(f->payload + EXCHANGE_HEADER, size, count))
        return fault_set(why, ML_ERR_REFUSED, "its EXCHANGE is malformed");
    if (server_group_answers_broken(p, seat))
        return 0;
    if (p->exchange_count > 0 && seq != p->exchange_seq) {
        server_group_break(p, ML_ERR_MISMATCH, "the ranks of the group are not in the same call");
        return 0;
    }
    seat->blobs = malloc(size);
    if (!seat->blobs) {
        server_group_break(p, ML_ERR_MEMORY, "the coordinator is out of memory");
        return 0;
    }
    memcpy(seat->blobs, f->payload + EXCHANGE_HEADER, size);
    seat->blob_count = count;
    p->exchange_seq = seq;
    meeting_begin(p->generation->server, &p->meeting);
    if (++p->exchange_count == p->count)
        exchange_complete(p);
    return 0;
}
