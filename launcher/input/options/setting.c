/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/setting.h"

#include "launcher/base/text/string_list.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for one more: the array doubles at each power of two. */
static int room_make(struct setting_list *l, struct fault *why)
{
    size_t n = l->count;
    struct setting *more;

    if (n & (n - 1))
        return 0;
    more = realloc(l->items, (n ? 2 * n : 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->items = more;
    return 0;
}

int setting_add(struct setting_list *l, const struct setting *s, struct fault *why)
{
    struct setting copy = *s;
    int rc;

    copy.value = copy.where = NULL;
    if ((rc = room_make(l, why)) || (s->value && (rc = string_copy(&copy.value, s->value, why))) ||
        (rc = string_copy(&copy.where, s->where, why))) {
        free(copy.value);
        return rc;
    }
    l->items[l->count++] = copy;
    return 0;
}

int setting_add_all(struct setting_list *l, const struct setting_list *from, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < from->count && !rc; i++)
        rc = setting_add(l, &from->items[i], why);
    return rc;
}

void setting_clear(struct setting_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].value);
        free(l->items[i].where);
    }
    free(l->items);
    *l = (struct setting_list){0};
}

const char *setting_last(const struct setting_list *l, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].option->name, name) == 0)
            value = l->items[i].value ? l->items[i].value : "";
    return value;
}
