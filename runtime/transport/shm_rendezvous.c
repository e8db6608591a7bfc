/* SPDX-License-Identifier: MIT */
#include "runtime/transport/shm_rendezvous.h"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

/* What all offers of this process have in common. The cookie, which receivers read from the
 * sender's memory, shows that the process is still the same one. */
static struct {
    uint64_t cookie;
    int32_t pid;
} giver;

void shm_rendezvous_init(void)
{
    giver.pid = (int32_t)getpid();
    /* Not a secret: any number that other processes don't have in the same place. */
    if (getrandom(&giver.cookie, sizeof(giver.cookie), GRND_NONBLOCK) !=
        (ssize_t)sizeof(giver.cookie))
        giver.cookie = (uint64_t)(uintptr_t)&giver ^ (uint64_t)giver.pid << 48;
}

uint64_t shm_rendezvous_giver(void)
{
    return giver.cookie;
}

static void rendezvous_open(struct shm_rendezvous *o, uint64_t position)
{
    o->pid = giver.pid;
    atomic_store_explicit(&o->position, position, memory_order_relaxed);
    o->cookie_address = (uint64_t)(uintptr_t)&giver.cookie;
    o->cookie = giver.cookie;
    atomic_store_explicit(&o->state, RENDEZVOUS_OPEN, memory_order_release);
}

void shm_rendezvous_make(struct shm_rendezvous *o, uint64_t position, const void *payload)
{
    o->is_gpu = false;
    o->address = (uint64_t)(uintptr_t)payload;
    rendezvous_open(o, position);
}

void shm_rendezvous_make_gpu(struct shm_rendezvous *o, uint64_t position,
                             const struct gpu_ipc_place *payload)
{
    o->is_gpu = true;
    o->gpu = *payload;
    rendezvous_open(o, position);
}

enum shm_rendezvous_state shm_rendezvous_peek(const struct shm_rendezvous *o)
{
    return atomic_load(&o->state);
}

/* The cookie is read last and by the same call: the kernel looks the process up once, so the
 * payload belongs to the process that has the cookie, and not to one that got its number since. */
bool shm_rendezvous_read(const struct shm_rendezvous *o, void *to, size_t offset, size_t size)
{
    uint64_t cookie = 0;
    struct iovec here[] = {{to, size}, {&cookie, sizeof(cookie)}};
    struct iovec there[] = {
        {(void *)(uintptr_t)(o->address + offset), size},
        {(void *)(uintptr_t)o->cookie_address, sizeof(cookie)},
    };
    ssize_t n = process_vm_readv(o->pid, here, 2, there, 2, 0);

    return n == (ssize_t)(size + sizeof(cookie)) && cookie == o->cookie;
}

bool shm_rendezvous_read_gpu(const struct shm_rendezvous *o, const struct gpu_memory *m, void *to,
                             size_t size, struct fault *why)
{
    struct gpu_ipc_place place = o->gpu; /* the giver may change it meanwhile */

    return gpu_ipc_copy(m, to, o->cookie, &place, size, why);
}

bool shm_rendezvous_end(struct shm_rendezvous *o, enum shm_rendezvous_state how)
{
    uint32_t open = RENDEZVOUS_OPEN;

    return atomic_compare_exchange_strong(&o->state, &open, how);
}
