/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/topology_picture.h"

#include <stdio.h>
#include <stdlib.h>

static const json_t *entry_of(const json_t *matrix, int from, int to)
{
    return json_array_get(json_array_get(matrix, (size_t)from), (size_t)to);
}

static void port_copy(char out[TOPOLOGY_PORT_TEXT], const json_t *entry, size_t at)
{
    const char *name = json_string_value(json_array_get(entry, at));

    snprintf(out, TOPOLOGY_PORT_TEXT, "%s", name ? name : "");
}

static void pair_state(struct topology_picture *p, const json_t *matrix, int i, int j)
{
    const json_t *there = entry_of(matrix, i, j), *back = entry_of(matrix, j, i);
    size_t goes = json_array_size(there), comes = json_array_size(back);

    for (size_t k = 0; k < goes || k < comes; k++) {
        struct topology_cable *cable = &p->cables[p->cable_count++];
        bool is_back = k >= goes;

        *cable = (struct topology_cable){.from = is_back ? j : i, .to = is_back ? i : j};
        cable->state = k < goes && k < comes ? TOPOLOGY_CABLE_GOOD : TOPOLOGY_CABLE_ONE_WAY;
        port_copy(cable->from_port, is_back ? back : there, k);
        if (!is_back)
            port_copy(cable->to_port, back, k);
    }
}

int topology_picture_state(struct topology_picture *out, const json_t *matrix,
                           const char *const *names, int count, struct fault *why)
{
    struct topology_picture p = {.names = names, .count = count};
    size_t room = 1;

    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            room += json_array_size(entry_of(matrix, i, j));
    p.cables = calloc(room, sizeof(*p.cables));
    if (!p.cables)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            pair_state(&p, matrix, i, j);
    *out = p;
    return 0;
}

void topology_picture_clear(struct topology_picture *p)
{
    free(p->cables);
    *p = (struct topology_picture){0};
}

bool topology_picture_joins(const struct topology_picture *p, int i, int j)
{
    for (size_t k = 0; k < p->cable_count; k++) {
        const struct topology_cable *l = &p->cables[k];

        if ((l->state == TOPOLOGY_CABLE_GOOD || l->state == TOPOLOGY_CABLE_SLOW) &&
            ((l->from == i && l->to == j) || (l->from == j && l->to == i)))
            return true;
    }
    return false;
}
