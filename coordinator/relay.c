/* SPDX-License-Identifier: MIT */
/* relay.c: passes an object from one member of a group to another, when their own link cannot. */
#include "coordinator/server_state.h"

#include "coordinator/protocol.h"

int relay_receive(struct server_group *p, struct server_seat *seat, json_t *message,
                  struct fault *why)
{
    struct generation *g = p->generation;
    json_int_t to;
    json_t *word;

    if (json_unpack(message, "{s:I, s:o}", "to", &to, "word", &word) || !json_is_object(word) ||
        to < 0 || to >= g->server->size)
        return fault_set(why, ML_ERR_REFUSED, "its RELAY is malformed");
    if (!server_group_seat(p, (int)to))
        return fault_set(why, ML_ERR_REFUSED, "its RELAY is for rank %d, which is not in the group",
                         (int)to);
    connection_send_json(
        g->members[to].connection, COORD_RELAYED,
        json_pack("{s:I, s:i, s:O}", "group", (json_int_t)p->id, "from", seat->rank, "word", word));
    return 0;
}
