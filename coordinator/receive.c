/* SPDX-License-Identifier: MIT */
/* receive.c: which frame of whom goes to whom. */
#include "coordinator/server_state.h"

#include "coordinator/protocol.h"

/* Frames of members: what comes from one that has left, or whose generation failed, is too late. */
static int take_member(struct connection *c, const struct frame *f, json_t *message,
                       struct fault *why)
{
    struct generation *g = c->generation;
    struct server_member *m = g ? &g->members[c->rank] : NULL;

    if (!m && f->type == COORD_LEAVE) { /* its join has failed */
        connection_send_json(c, COORD_LEFT, json_pack("{s:i}", "rank", c->rank));
        return 0;
    }
    if (!m)
        return fault_set(why, ML_ERR_REFUSED, "it sent message %u before it had joined", f->type);
    if (f->type == COORD_LEAVE && m->state == MEMBER_JOINED)
        return liveness_receive_leave(m, why);
    if (m->state != MEMBER_JOINED || !g->is_complete)
        return 0;
    switch (f->type) {
    case COORD_EXCHANGE:
        return server_exchange_receive(m, f, why);
    case COORD_SPLIT:
        return server_split_receive(m, message, why);
    case COORD_BREAK:
        return server_group_receive_break(m, message, why);
    case COORD_FREE:
        return server_group_receive_free(m, message, why);
    case COORD_RELAY:
        return relay_receive(m, message, why);
    case COORD_WAITING:
        return stall_receive_waiting(m, message, why);
    case COORD_MOVING:
        return stall_receive_moving(m, message, why);
    }
    return f->type == COORD_LEAVE ? 0
                                  : fault_set(why, ML_ERR_REFUSED, "unknown message %u", f->type);
}

int receive_frame(struct connection *c, const struct frame *f, struct fault *why)
{
    json_t *message = NULL;
    int rc;

    if (f->type != COORD_EXCHANGE) {
        message = json_loadb((const char *)f->payload, f->size, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(message)) {
            json_decref(message);
            return fault_set(why, ML_ERR_REFUSED, "message %u is not a JSON object", f->type);
        }
    }
    if (c->state == CONNECTION_AGENT && f->type == COORD_AGENT)
        rc = liveness_receive_agent(c, message, why);
    else if (c->state == CONNECTION_AGENT && f->type == COORD_EXITED)
        rc = liveness_receive_exited(c, message, why);
    else if (c->state == CONNECTION_AGENT)
        rc = fault_set(why, ML_ERR_REFUSED, "message %u does not come from agents", f->type);
    else if (f->type == COORD_JOIN)
        rc = join_receive(c, message, why);
    else if (f->type == COORD_ABORT)
        rc = liveness_receive_abort(c, message, why);
    else
        rc = take_member(c, f, message, why);
    json_decref(message);
    return rc;
}
