/* SPDX-License-Identifier: MIT */
/* relay.c: a word from one member of a group to another, for when their own link can't carry it. */
#include "coordinator/server_state.h"

#include "coordinator/protocol.h"

int relay_receive(struct server_member *m, json_t *message, struct fault *why)
{
    json_int_t id, to;
    json_t *word;
    struct server_seat *seat;
    struct server_group *p;

    if (json_unpack(message, "{s:I, s:I, s:o}", "group", &id, "to", &to, "word", &word) ||
        !json_is_object(word) || to < 0 || to >= m->generation->server->size)
        return fault_set(why, ML_ERR_REFUSED, "its RELAY is malformed");
    p = server_group_of_member(m, id, &seat);
    if (!p || !server_group_seat(p, (int)to))
        return fault_set(why, ML_ERR_REFUSED,
                         "it sends a RELAY in a group that it or rank %d isn't in", (int)to);
    connection_send_json(m->generation->members[to].connection, COORD_RELAYED,
                         json_pack("{s:I, s:i, s:O}", "group", id, "from", m->rank, "word", word));
    return 0;
}
