/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/info_list.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 16 };

/* A new element, or NULL. libpmix frees elements by free(), so that realloc() may move them. */
static pmix_info_t *info_add(struct info_list *l)
{
    size_t room = l->room ? 2 * l->room : ROOM_FIRST;
    pmix_info_t *list;

    if (l->count == l->room) {
        list = realloc(l->list, room * sizeof(*list));
        if (!list) {
            l->failed = true;
            return NULL;
        }
        memset(list + l->count, 0, (room - l->count) * sizeof(*list));
        l->list = list;
        l->room = room;
    }
    return &l->list[l->count++];
}

static void info_load(struct info_list *l, const char *key, const void *value,
                      pmix_data_type_t type)
{
    pmix_info_t *i = info_add(l);

    if (i)
        PMIX_INFO_LOAD(i, key, value, type);
}

void info_list_text(struct info_list *l, const char *key, const char *value)
{
    info_load(l, key, value, PMIX_STRING);
}

void info_list_expression(struct info_list *l, const char *key, const char *value)
{
    info_load(l, key, value, PMIX_REGEX);
}

void info_list_flag(struct info_list *l, const char *key, bool value)
{
    info_load(l, key, &value, PMIX_BOOL);
}

void info_list_u32(struct info_list *l, const char *key, uint32_t value)
{
    info_load(l, key, &value, PMIX_UINT32);
}

void info_list_u16(struct info_list *l, const char *key, uint16_t value)
{
    info_load(l, key, &value, PMIX_UINT16);
}

void info_list_rank(struct info_list *l, const char *key, pmix_rank_t value)
{
    info_load(l, key, &value, PMIX_PROC_RANK);
}

void info_list_array(struct info_list *l, const char *key, struct info_list *inner)
{
    pmix_info_t *i = inner->failed ? NULL : info_add(l);
    pmix_data_array_t *array = i ? calloc(1, sizeof(*array)) : NULL;

    if (!array) {
        l->failed = true;
        info_list_free(inner);
        return;
    }
    array->type = PMIX_INFO;
    array->size = inner->count;
    array->array = inner->list;
    PMIX_LOAD_KEY(i->key, key);
    i->value.type = PMIX_DATA_ARRAY;
    i->value.data.darray = array;
    *inner = (struct info_list){0};
}

void info_list_free(struct info_list *l)
{
    if (l->list)
        PMIX_INFO_FREE(l->list, l->count);
    *l = (struct info_list){0};
}
