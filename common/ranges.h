/* SPDX-License-Identifier: MIT */
/*
 * ranges.h: pieces of memory that don't overlap, found by an address in them: a sorted array of
 * structs, each of which begins with a struct range. Pointers to items are valid until the next
 * ranges_add or ranges_remove. Not thread-safe: the caller has a lock.
 */
#ifndef COMMON_RANGES_H
#define COMMON_RANGES_H

#include <stdbool.h>
#include <stddef.h>

struct range {
    unsigned char *base;
    size_t size; /* bytes */
};

/* Begins as {.item_size = sizeof(struct …)}. */
struct ranges {
    size_t item_size;
    void *items; /* by address; owned */
    size_t count, room;
};

/* Makes room for one more item. False: out of memory; nothing has changed. */
bool ranges_reserve(struct ranges *r);

/* Copies `item` to its place; ranges_reserve has made room for it. */
void ranges_add(struct ranges *r, const void *item);

/* Item `index` of r->count, in the order of addresses. */
void *ranges_item(const struct ranges *r, size_t index);

/* The item that contains all `size` bytes from `address` on; NULL: there is none. With size 0, the
 * address just behind an item's last byte is still in it if no other item begins there. */
void *ranges_find(const struct ranges *r, const void *address, size_t size);

/* The item that begins at `address`, or NULL. */
void *ranges_find_base(const struct ranges *r, const void *address);

/* Removes an item that one of the above has returned. */
void ranges_remove(struct ranges *r, void *item);

#endif
