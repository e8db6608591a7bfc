/* SPDX-License-Identifier: MIT */
#include "common/net/wiring_table.h"

#include "common/fault.h"
#include "common/net/host_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The different entries, and where to find each by its text. */
struct entries {
    json_t *list, *index_of;
};

/* The index of `entry` among the different ones; -1: out of memory. `last` is a guess. */
static int entry_index(struct entries *e, json_t *entry, int last)
{
    char *text;
    json_t *known;
    int index;

    if (json_equal(json_array_get(e->list, (size_t)last), entry))
        return last;
    text = json_dumps(entry, JSON_COMPACT | JSON_ENCODE_ANY);
    known = text ? json_object_get(e->index_of, text) : NULL;
    index = known ? (int)json_integer_value(known) : (int)json_array_size(e->list);
    if (!text || (!known && (json_array_append(e->list, entry) ||
                             json_object_set_new(e->index_of, text, json_integer(index)))))
        index = -1;
    free(text);
    return index;
}

/* Stores the index of each entry: the diagonal in `own`, all others row by row in `others`. */
static bool matrix_number(struct entries *e, const json_t *matrix, int *own, int *others)
{
    size_t hosts = json_array_size(matrix);
    int last = 0;

    for (size_t i = 0; i < hosts; i++) {
        const json_t *row = json_array_get(matrix, i);

        if (json_array_size(row) != hosts)
            return false;
        for (size_t j = 0; j < hosts; j++) {
            int index = entry_index(e, json_array_get(row, j), last);

            if (index < 0)
                return false;
            if (i == j) {
                *own++ = index;
            } else {
                *others++ = index;
                last = index;
            }
        }
    }
    return true;
}

json_t *wiring_table_write(const json_t *matrix)
{
    int hosts = (int)json_array_size(matrix);
    struct entries e = {.list = json_array(), .index_of = json_object()};
    int *own = calloc((size_t)hosts + 1, sizeof(*own));
    int *others = calloc((size_t)hosts * (size_t)hosts + 1, sizeof(*others));
    json_t *table = NULL;

    if (own && others && e.list && e.index_of && matrix_number(&e, matrix, own, others))
        table = json_pack("{s:O, s:o, s:o}", "entries", e.list, "own",
                          host_table_write_numbers(own, hosts), "others",
                          host_table_write_numbers(others, hosts * (hosts - 1)));
    json_decref(e.list);
    json_decref(e.index_of);
    free(own);
    free(others);
    return table;
}

static bool are_entries(const json_t *list)
{
    json_t *entry, *device;
    size_t i, k;

    json_array_foreach(list, i, entry)
    {
        if (!json_is_null(entry) && !json_is_array(entry))
            return false;
        json_array_foreach(entry, k, device)
        {
            if (!json_is_string(device))
                return false;
        }
    }
    return json_is_array(list);
}

/* NULL: out of memory. */
static json_t *matrix_make(const json_t *entries, int hosts, const int *own, const int *others)
{
    json_t *matrix = json_array();

    for (int i = 0; i < hosts; i++) {
        json_t *row = json_array();
        bool is_full = row;

        for (int j = 0; j < hosts && is_full; j++) {
            int index = i == j ? own[i] : *others++;

            is_full = json_array_append(row, json_array_get(entries, (size_t)index)) == 0;
        }
        if (!is_full)
            json_decref(row);
        if (!is_full || json_array_append_new(matrix, row)) {
            json_decref(matrix);
            return NULL;
        }
    }
    return matrix;
}

int wiring_table_read(json_t **out, const json_t *table, int hosts)
{
    const json_t *entries = json_object_get(table, "entries");
    int limit = (int)json_array_size(entries), *own = NULL, *others = NULL, rc;

    if (hosts < 1 || hosts > WIRING_HOSTS_MOST || !are_entries(entries))
        return ML_ERR_REFUSED;
    rc = host_table_read_numbers(&own, json_object_get(table, "own"), hosts, limit);
    if (!rc)
        rc = host_table_read_numbers(&others, json_object_get(table, "others"), hosts * (hosts - 1),
                                     limit);
    if (!rc) {
        *out = matrix_make(entries, hosts, own, others);
        rc = *out ? 0 : ML_ERR_MEMORY;
    }
    free(own);
    free(others);
    return rc;
}
