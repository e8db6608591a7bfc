/* SPDX-License-Identifier: MIT */
#include "rdma/zero_copy.h"

#include "rdma/verbs/region.h"

#include <string.h>

static bool keys_find(struct zero_copy *z, const struct rail *r, const void *at, size_t size,
                      struct region_keys *out)
{
    struct explain_place place = rail_place(r);

    return region_find(r->domain, at, size, true, out, &place, &z->trouble);
}

bool zero_copy_announce(struct zero_copy *z, struct rail *over, uint32_t serial, void *at,
                        size_t size)
{
    struct rail_announcement a = {.address = (uintptr_t)at, .size = size, .serial = serial};

    if (size < ZERO_COPY_LEAST)
        return true;
    for (int i = 0; i < z->rail_count; i++) {
        struct region_keys keys;

        if (!keys_find(z, z->rails[i], at, size, &keys))
            return true;
        a.keys[i] = keys.remote;
    }
    return rail_announce(over, &a);
}

/* An unreliable device (UC) completes a send before the bytes have arrived. If another rail may
 * have to send them again, they must be kept, that is, copied into a slot. */
static bool is_readable(const struct zero_copy *z, const struct rail *r)
{
    return rail_is_reliable(r) || z->rail_count == 1;
}

static bool reach_refuse(const struct rail *r, struct fault *why)
{
    fault_set(
        why, ML_ERR_DEVICE,
        "%s port %d: what goes over several rails by unreliable connections (UC) must be kept "
        "until it has arrived",
        r->fit.port->device, r->fit.port->number);
    return false;
}

bool zero_copy_reaches(const struct zero_copy *z, const void *at, size_t size, bool from,
                       enum region_way *way, struct fault *why)
{
    *way = REGION_HOST;
    if (size < ZERO_COPY_LEAST)
        return false;
    for (int i = 0; i < z->rail_count; i++) {
        const struct rail *r = z->rails[i];
        struct explain_place place = {.device = r->fit.port->device, .port = r->fit.port->number};
        struct region_keys keys;

        if (from && !is_readable(z, r))
            return reach_refuse(r, why);
        if (!region_find(r->domain, at, size, true, &keys, &place, why))
            return false;
        if (keys.way > *way)
            *way = keys.way;
    }
    return true;
}

static void announcement_find(struct zero_copy *z)
{
    for (int i = 0; i < z->rail_count && !z->announced; i++) {
        const struct rail_announcement *a = rail_announced(z->rails[i], z->serial);

        if (a && a->size == z->size)
            z->announced = a;
    }
}

void zero_copy_turn(struct zero_copy *z, const void *bytes, size_t begin, size_t end)
{
    z->bytes = bytes;
    z->begin = begin;
    z->end = end;
    memset(z->is_read, 0, sizeof(z->is_read));
    for (int i = 0; i < z->rail_count && z->size >= ZERO_COPY_LEAST; i++) {
        struct region_keys keys;

        if (!is_readable(z, z->rails[i]) || !keys_find(z, z->rails[i], bytes, end - begin, &keys))
            continue;
        z->is_read[i] = true;
        z->keys[i] = keys.local;
    }
}

bool zero_copy_begin(struct zero_copy *z, uint32_t serial, const void *bytes, size_t size)
{
    bool any = false;

    z->serial = serial;
    z->size = size;
    z->announced = NULL;
    zero_copy_turn(z, bytes, 0, size);
    if (size < ZERO_COPY_LEAST)
        return false;
    for (int i = 0; i < z->rail_count; i++)
        any |= z->is_read[i];
    announcement_find(z);
    return any || z->announced;
}

struct rail_way zero_copy_way(struct zero_copy *z, const struct rail *over, size_t offset)
{
    struct rail_way way = {0};

    if (z->size < ZERO_COPY_LEAST)
        return way;
    if (!z->announced)
        announcement_find(z);
    if (z->is_read[over->index]) {
        way.from = z->bytes + (offset - z->begin);
        way.key = z->keys[over->index];
    }
    if (z->announced) {
        way.is_direct = true;
        way.to = z->announced->address + offset;
        way.peer_key = z->announced->keys[over->index];
    }
    return way;
}
