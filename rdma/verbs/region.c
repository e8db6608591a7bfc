/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/region.h"

#include "common/ranges.h"
#include "rdma/verbs/fork_support.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

struct registration {
    struct registration *next;
    struct ibv_pd *domain;
    struct ibv_mr *region; /* NULL: it was refused, and is not asked for again */
};

struct region {
    struct range range;
    struct registration *first;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges regions = {.item_size = sizeof(struct region)};
static bool has_complained;

void region_add(void *base, size_t size)
{
    struct region r = {.range = {.base = base, .size = size}};

    pthread_mutex_lock(&lock);
    /* If there is no memory for the entry, what lies there is copied, as all other memory. */
    if (ranges_reserve(&regions))
        ranges_add(&regions, &r);
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
    struct region *region;

    pthread_mutex_lock(&lock);
    region = ranges_find_base(&regions, base);
    if (region) {
        struct registration *r, *next;

        for (r = region->first; r; r = next) {
            next = r->next;
            registration_end(r);
        }
        ranges_remove(&regions, region);
    }
    pthread_mutex_unlock(&lock);
}

void region_forget(struct ibv_pd *domain)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < regions.count; i++) {
        struct registration **r = &((struct region *)ranges_item(&regions, i))->first;

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
        fault_set(why, cause.code, "%zu KiB of ml_alloc are copied instead: %s",
                  r->range.size / 1024, cause.text);
    else
        fault_set(why, cause.code,
                  "%zu KiB of ml_alloc are copied instead: %s (the limit is %llu KiB)",
                  r->range.size / 1024, cause.text, (unsigned long long)limit.rlim_cur / 1024);
}

static struct registration *region_register(struct region *r, struct ibv_pd *domain, bool for_peers,
                                            const struct explain_place *at, struct fault *why)
{
    struct registration *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->domain = domain;
    /* Before Linux 5.12 a fork makes copies of the parent's pages, while the device keeps the old
     * ones. There a child gets none of this memory. */
    if (!fork_support_is_given())
        madvise(r->range.base, r->range.size, MADV_DONTFORK);
    made->region = for_peers
                       ? ibv_reg_mr(domain, r->range.base, r->range.size,
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
                       : ibv_reg_mr(domain, r->range.base, r->range.size, IBV_ACCESS_LOCAL_WRITE);
    if (!made->region)
        region_complain(r, errno, at, why);
    made->next = r->first;
    r->first = made;
    return made;
}

bool region_find(struct ibv_pd *domain, const void *address, size_t size, bool for_peers,
                 struct region_keys *out, const struct explain_place *at, struct fault *why)
{
    struct registration *found = NULL;
    struct region *r;

    pthread_mutex_lock(&lock);
    r = ranges_find(&regions, address, size);
    if (r) {
        for (found = r->first; found && found->domain != domain; found = found->next)
            ;
        if (!found)
            found = region_register(r, domain, for_peers, at, why);
    }
    if (found && found->region)
        *out = (struct region_keys){found->region->lkey, found->region->rkey};
    else
        found = NULL;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}
