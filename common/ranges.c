/* SPDX-License-Identifier: MIT */
#include "common/ranges.h"

#include <stdlib.h>
#include <string.h>

enum { RANGES_FIRST = 16 /* items that there is room for at first */ };

void *ranges_item(const struct ranges *r, size_t index)
{
    return (unsigned char *)r->items + index * r->item_size;
}

/* How many items begin at `address` or before it. */
static size_t ranges_until(const struct ranges *r, const unsigned char *address)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct range *at = ranges_item(r, middle);

        if (at->base > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool ranges_reserve(struct ranges *r)
{
    size_t room = r->room ? 2 * r->room : RANGES_FIRST;
    void *grown;

    if (r->count < r->room)
        return true;
    grown = realloc(r->items, room * r->item_size);
    if (!grown)
        return false;
    r->items = grown;
    r->room = room;
    return true;
}

void ranges_add(struct ranges *r, const void *item)
{
    size_t index = ranges_until(r, ((const struct range *)item)->base);
    unsigned char *at = ranges_item(r, index);

    memmove(at + r->item_size, at, (r->count - index) * r->item_size);
    memcpy(at, item, r->item_size);
    r->count++;
}

void *ranges_find(const struct ranges *r, const void *address, size_t size)
{
    const unsigned char *from = address;
    size_t until = ranges_until(r, from), offset;
    struct range *found;

    if (!until)
        return NULL;
    found = ranges_item(r, until - 1);
    offset = (size_t)(from - found->base);
    return offset <= found->size && size <= found->size - offset ? found : NULL;
}

void *ranges_find_base(const struct ranges *r, const void *address)
{
    struct range *found = ranges_find(r, address, 0);

    return found && found->base == address ? found : NULL;
}

void ranges_remove(struct ranges *r, void *item)
{
    unsigned char *at = item, *next = at + r->item_size;
    unsigned char *end = ranges_item(r, r->count);

    memmove(at, next, (size_t)(end - next));
    r->count--;
}
