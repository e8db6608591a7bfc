/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

struct registration {
    struct registration *next;
    struct ibv_pd *domain;
    struct ibv_mr *region; /* NULL: it was refused, and is not asked for again */
};

struct region {
    unsigned char *base;
    size_t size;
    struct registration *first;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions; /* by address */
static size_t region_count, region_room;
static bool has_complained;

/* The first one that begins behind `address`. */
static size_t region_behind(const unsigned char *address)
{
    size_t low = 0, high = region_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (regions[middle].base > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void region_add(void *base, size_t size)
{
    size_t at;

    pthread_mutex_lock(&lock);
    if (region_count == region_room) {
        size_t room = region_room ? 2 * region_room : 16;
        struct region *grown = realloc(regions, room * sizeof(*grown));

        /* Out of memory: what lies there is copied, as all other memory. */
        if (!grown)
            goto out;
        regions = grown;
        region_room = room;
    }
    at = region_behind(base);
    memmove(regions + at + 1, regions + at, (region_count - at) * sizeof(*regions));
    regions[at] = (struct region){.base = base, .size = size};
    region_count++;
out:
    pthread_mutex_unlock(&lock);
}

static void registration_end(struct registration *r)
{
    if (r->region)
        ibv_dereg_mr(r->region);
    free(r);
}

void region_drop(void *base)
{
    size_t at;

    pthread_mutex_lock(&lock);
    at = region_behind(base);
    if (at > 0 && regions[at - 1].base == base) {
        struct registration *r, *next;

        for (r = regions[at - 1].first; r; r = next) {
            next = r->next;
            registration_end(r);
        }
        memmove(regions + at - 1, regions + at, (region_count - at) * sizeof(*regions));
        region_count--;
    }
    pthread_mutex_unlock(&lock);
}

void region_forget(struct ibv_pd *domain)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < region_count; i++) {
        struct registration **r = &regions[i].first;

        while (*r) {
            struct registration *one = *r;

            if (one->domain != domain) {
                r = &one->next;
                continue;
            }
            *r = one->next;
            registration_end(one);
        }
    }
    pthread_mutex_unlock(&lock);
}

static void region_complain(const struct region *r, int err, const struct explain_place *at,
                            struct fault *why)
{
    struct rlimit limit;
    struct fault cause = {0};

    if (has_complained || why->code)
        return;
    has_complained = true;
    explain(&cause, EXPLAIN_MEMORY, err, at);
    if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
        fault_set(why, cause.code, "%zu KiB of ml_alloc are copied instead: %s", r->size / 1024,
                  cause.text);
    else
        fault_set(why, cause.code,
                  "%zu KiB of ml_alloc are copied instead: %s (the limit is %llu KiB)",
                  r->size / 1024, cause.text, (unsigned long long)limit.rlim_cur / 1024);
}

static struct registration *region_register(struct region *r, struct ibv_pd *domain,
                                            const struct explain_place *at, struct fault *why)
{
    struct registration *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->domain = domain;
    /* Linux before 5.12 makes the parent's pages copies when it forks, and the device would go on with the
     * old ones: there a child has none of this memory. */
    if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED)
        madvise(r->base, r->size, MADV_DONTFORK);
    made->region =
        ibv_reg_mr(domain, r->base, r->size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!made->region)
        region_complain(r, errno, at, why);
    made->next = r->first;
    r->first = made;
    return made;
}

bool region_find(struct ibv_pd *domain, const void *address, size_t size, struct region_keys *out,
                 const struct explain_place *at, struct fault *why)
{
    const unsigned char *from = address;
    struct registration *found = NULL;
    struct region *r;
    size_t behind;

    pthread_mutex_lock(&lock);
    behind = region_behind(from);
    r = behind > 0 ? &regions[behind - 1] : NULL;
    if (r && (size_t)(from - r->base) <= r->size && size <= r->size - (size_t)(from - r->base)) {
        for (found = r->first; found && found->domain != domain; found = found->next)
            ;
        if (!found)
            found = region_register(r, domain, at, why);
    }
    if (found && found->region)
        *out = (struct region_keys){found->region->lkey, found->region->rkey};
    else
        found = NULL;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}
