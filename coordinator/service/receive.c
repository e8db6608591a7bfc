/* SPDX-License-Identifier: MIT */
/* receive.c: hands each frame of a rank or agent to its handler. */
#include "coordinator/service/receive.h"

#include "common/text/parsed_json.h"
#include "coordinator/connection_send.h"
#include "coordinator/protocol.h"
#include "coordinator/server_group.h"
#include "coordinator/service/agent_exchange.h"
#include "coordinator/service/join.h"
#include "coordinator/service/liveness.h"
#include "coordinator/service/membership.h"
#include "coordinator/service/relayed.h"
#include "coordinator/service/server_exchange.h"
#include "coordinator/service/server_split.h"
#include "coordinator/service/stall.h"

/* The frames that concern a group. EXCHANGE alone is not JSON. */
static const struct receive_handler {
    const char *name;
    int (*receive)(struct server_group *p, struct server_seat *seat, json_t *message,
                   struct fault *why);
} handlers[] = {
    [COORD_EXCHANGE] = {"EXCHANGE", NULL},
    [COORD_SPLIT] = {"SPLIT", server_split_receive},
    [COORD_BREAK] = {"BREAK", server_group_receive_break},
    [COORD_WAITING] = {"WAITING", stall_receive_waiting},
    [COORD_MOVING] = {"MOVING", stall_receive_moving},
    [COORD_FREE] = {"FREE", server_group_receive_free},
    [COORD_RELAY] = {"RELAY", server_group_receive_relay},
    [COORD_AGREE] = {"AGREE", membership_receive_agree},
    [COORD_CREATE] = {"CREATE", NULL}, /* which waits for those that it names */
};
enum { HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

/* The frame names a group of an earlier membership, which is no offence: its sender may not know of
 * the present one yet. Whoever waits for an answer gets one; those that wait in EXCHANGE or SPLIT
 * have got BROKEN, or know that the coordinator is lost. */
static void answer_past(struct connection *c, uint8_t type, json_int_t group)
{
    const uint8_t answer = type == COORD_AGREE    ? COORD_AGREED
                           : type == COORD_CREATE ? COORD_CREATED
                                                  : 0;

    if (answer)
        connection_send_json(c, answer,
                             json_pack("{s:I, s:i, s:s}", "group", group, "code", ML_ERR_PEER,
                                       "text", "the group is of an earlier membership"));
}

/* Finds the group that the frame names and the sender's seat in it, and calls the handler. `one` is
 * NULL before the first REPAIR to a coordinator that takes over. */
static int receive_for_group(struct connection *c, struct generation_rank *one,
                             const struct frame *f, json_t *message, struct fault *why)
{
    const struct receive_handler *h = f->type < HANDLERS ? &handlers[f->type] : NULL;
    const json_t *group = message ? json_object_get(message, "group") : NULL;
    json_int_t id = json_integer_value(group);
    struct server_seat *seat;
    struct server_group *p;

    if (!h || !h->name)
        return fault_set(why, ML_ERR_REFUSED, "unknown message %u", f->type);
    if (message ? !json_is_integer(group) : !server_exchange_group(f, &id))
        return fault_set(why, ML_ERR_REFUSED, "its %s is malformed", h->name);
    if (id >= 0 && (!one || id < one->generation->world)) {
        answer_past(c, f->type, id);
        return 0;
    }
    if (!one)
        return fault_set(why, ML_ERR_REFUSED, "its %s names a group that it is not in", h->name);
    if (f->type == COORD_CREATE)
        return server_split_receive_create(one, message, why);
    p = server_group_of_rank(one, id, &seat);
    if (!p)
        return fault_set(why, ML_ERR_REFUSED, "its %s names a group that it is not in", h->name);
    return message ? h->receive(p, seat, message, why) : server_exchange_receive(p, seat, f, why);
}

/* A frame from a rank that has left, or whose generation failed, comes too late and is ignored. */
static int receive_from_rank(struct connection *c, const struct frame *f, json_t *message,
                             struct fault *why)
{
    struct generation *g = c->generation;
    struct generation_rank *one = g ? &g->ranks[c->rank] : NULL;

    if (!one && f->type == COORD_LEAVE) { /* its join has failed */
        liveness_send_left(c);
        return 0;
    }
    if (!one && !c->server->takes_over)
        return fault_set(why, ML_ERR_REFUSED, "it sent message %u before it had joined", f->type);
    if (!one)
        return receive_for_group(c, NULL, f, message, why);
    if (f->type == COORD_LEAVE && one->state == RANK_JOINED) {
        liveness_receive_leave(one);
        return 0;
    }
    if (one->state != RANK_JOINED || !g->is_complete)
        return 0;
    return receive_for_group(c, one, f, message, why);
}

static int receive_from_agent(struct connection *c, const struct frame *f, json_t *message,
                              struct fault *why)
{
    switch (f->type) {
    case COORD_EXITED:
        return liveness_receive_exited(c, message, why);
    case COORD_EXCHANGE:
        return agent_exchange_receive(c, f, why);
    case COORD_PASS:
        return agent_exchange_receive_pass(c, f, why);
    case COORD_RANK_OPENED:
        return relayed_receive_opened(c, f, why);
    case COORD_RANK_SENT:
        return relayed_receive_sent(c, f, why);
    case COORD_RANK_CLOSED:
        return relayed_receive_closed(c, f, why);
    case COORD_NAME:
        return agent_exchange_receive_name(c, message, why);
    default:
        return fault_set(why, ML_ERR_REFUSED, "message %u does not come from agents", f->type);
    }
}

static bool is_raw(uint8_t type)
{
    return type == COORD_EXCHANGE || (type >= COORD_PASS && type <= COORD_RANK_CLOSED);
}

int receive_frame(struct connection *c, const struct frame *f, struct fault *why)
{
    json_t *message = NULL;
    int rc;

    if (!is_raw(f->type)) {
        message = reported_json((const char *)f->payload, f->size, NULL);
        if (!json_is_object(message)) {
            json_decref(message);
            return fault_set(why, ML_ERR_REFUSED, "message %u is not a JSON object", f->type);
        }
    }
    if (c->state == CONNECTION_AGENT)
        rc = receive_from_agent(c, f, message, why);
    else if (f->type != COORD_EXCHANGE && is_raw(f->type))
        rc = fault_set(why, ML_ERR_REFUSED, "message %u does not come from ranks", f->type);
    else if (f->type == COORD_JOIN)
        rc = join_receive(c, message, why);
    else if (f->type == COORD_ABORT)
        rc = liveness_receive_abort(c, message, why);
    else if (f->type == COORD_UNREACHED)
        rc = liveness_receive_unreached(c, message, why);
    else if (f->type == COORD_ALONE)
        rc = liveness_receive_alone(c, message, why);
    else if (f->type == COORD_REPAIR)
        rc = membership_receive_repair(c, message, why);
    else
        rc = receive_from_rank(c, f, message, why);
    json_decref(message);
    return rc;
}
