/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/region.h"

#include "common/ranges.h"
#include "rdma/verbs/fork_support.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

struct registration {
    struct registration *next;
    struct ibv_pd *domain;
    struct ibv_mr *region; /* NULL: it was refused, and is not asked for again */
    enum region_way way;
    struct fault *refused; /* why a GPU's memory was refused, or NULL */
};

struct region {
    struct range range;
    struct registration *first;
    struct region_gpu *gpu; /* NULL: memory of ml_alloc */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges regions = {.item_size = sizeof(struct region)};
static bool has_complained;

static bool region_insert(const struct region *r)
{
    bool has_room;

    pthread_mutex_lock(&lock);
    has_room = ranges_reserve(&regions);
    if (has_room)
        ranges_add(&regions, r);
    pthread_mutex_unlock(&lock);
    return has_room;
}

/* If there is no memory for the entry, what lies there is copied, as all other memory. */
void region_add(void *base, size_t size)
{
    struct region r = {.range = {.base = base, .size = size}};

    region_insert(&r);
}

static void region_gpu_end(struct region_gpu *gpu)
{
    if (gpu && gpu->dmabuf >= 0)
        close(gpu->dmabuf);
    free(gpu);
}

bool region_add_gpu(void *base, size_t size, const struct region_gpu *gpu)
{
    struct region r = {.range = {.base = base, .size = size}};

    r.gpu = malloc(sizeof(*r.gpu));
    if (r.gpu) {
        *r.gpu = *gpu;
        if (region_insert(&r))
            return true;
        free(r.gpu);
    }
    if (gpu->dmabuf >= 0)
        close(gpu->dmabuf);
    return false;
}

static void registration_end(struct registration *r)
{
    if (r->region)
        ibv_dereg_mr(r->region);
    free(r->refused);
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
        region_gpu_end(region->gpu);
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

/* What was refused is told again to whoever asks for the same memory. */
static void registration_make_gpu(struct registration *made, const struct region *r, int access,
                                  const struct explain_place *at)
{
    struct fault why = {0};

    made->region =
        region_gpu_register(r->gpu, &r->range, made->domain, access, &made->way, at, &why);
    if (made->region)
        return;
    made->refused = malloc(sizeof(*made->refused));
    if (made->refused)
        *made->refused = why;
}

static void registration_make(struct registration *made, const struct region *r, bool for_peers,
                              const struct explain_place *at, struct fault *why)
{
    /* Before Linux 5.12 a fork makes copies of the parent's pages, while the device keeps the old
     * ones. There a child gets none of this memory. */
    if (!fork_support_is_given())
        madvise(r->range.base, r->range.size, MADV_DONTFORK);
    made->region =
        for_peers ? ibv_reg_mr(made->domain, r->range.base, r->range.size,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
                  : ibv_reg_mr(made->domain, r->range.base, r->range.size, IBV_ACCESS_LOCAL_WRITE);
    if (!made->region)
        region_complain(r, errno, at, why);
}

static struct registration *region_register(struct region *r, struct ibv_pd *domain, bool for_peers,
                                            const struct explain_place *at, struct fault *why)
{
    struct registration *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->domain = domain;
    if (r->gpu)
        registration_make_gpu(
            made, r, IBV_ACCESS_LOCAL_WRITE | (for_peers ? IBV_ACCESS_REMOTE_WRITE : 0), at);
    else
        registration_make(made, r, for_peers, at, why);
    made->next = r->first;
    r->first = made;
    return made;
}

bool region_find(struct ibv_pd *domain, const void *address, size_t size, bool for_peers,
                 struct region_keys *out, const struct explain_place *at, struct fault *why)
{
    struct registration *found = NULL;
    bool is_registered;
    struct region *r;

    pthread_mutex_lock(&lock);
    r = ranges_find(&regions, address, size);
    if (r) {
        for (found = r->first; found && found->domain != domain; found = found->next)
            ;
        if (!found)
            found = region_register(r, domain, for_peers, at, why);
    }
    is_registered = found && found->region;
    if (is_registered)
        *out = (struct region_keys){found->region->lkey, found->region->rkey, found->way};
    else if (found && found->refused && !why->code)
        *why = *found->refused;
    pthread_mutex_unlock(&lock);
    return is_registered;
}
