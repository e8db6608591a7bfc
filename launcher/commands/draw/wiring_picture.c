/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/wiring_picture.h"

#include <stdio.h>
#include <stdlib.h>

static const json_t *entry_of(const json_t *matrix, int from, int to)
{
    return json_array_get(json_array_get(matrix, (size_t)from), (size_t)to);
}

static void port_copy(char out[WIRING_PORT_TEXT], const json_t *entry, size_t at)
{
    const char *name = json_string_value(json_array_get(entry, at));

    snprintf(out, WIRING_PORT_TEXT, "%s", name ? name : "");
}

static void pair_state(struct wiring_picture *p, const json_t *matrix, int i, int j)
{
    const json_t *there = entry_of(matrix, i, j), *back = entry_of(matrix, j, i);
    size_t goes = json_array_size(there), comes = json_array_size(back);

    for (size_t k = 0; k < goes || k < comes; k++) {
        struct wiring_link *link = &p->links[p->link_count++];
        bool is_back = k >= goes;

        *link = (struct wiring_link){.from = is_back ? j : i, .to = is_back ? i : j};
        link->state = k < goes && k < comes ? WIRING_LINK_GOOD : WIRING_LINK_ONE_WAY;
        port_copy(link->from_port, is_back ? back : there, k);
        if (!is_back)
            port_copy(link->to_port, back, k);
    }
}

int wiring_picture_state(struct wiring_picture *out, const json_t *matrix, const char *const *names,
                         int count, struct fault *why)
{
    struct wiring_picture p = {.names = names, .count = count};
    size_t room = 1;

    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            room += json_array_size(entry_of(matrix, i, j));
    p.links = calloc(room, sizeof(*p.links));
    if (!p.links)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            pair_state(&p, matrix, i, j);
    *out = p;
    return 0;
}

void wiring_picture_clear(struct wiring_picture *p)
{
    free(p->links);
    *p = (struct wiring_picture){0};
}

bool wiring_picture_joins(const struct wiring_picture *p, int i, int j)
{
    for (size_t k = 0; k < p->link_count; k++) {
        const struct wiring_link *l = &p->links[k];

        if ((l->state == WIRING_LINK_GOOD || l->state == WIRING_LINK_SLOW) &&
            ((l->from == i && l->to == j) || (l->from == j && l->to == i)))
            return true;
    }
    return false;
}
