/* SPDX-License-Identifier: MIT */
/*
 * shm_rendezvous.h: a long message that its receiver reads straight from the sender's memory
 * (process_vm_readv), one copy instead of two. Its header goes through the ring (shm_link.c) as any
 * other; the offer beside the ring says where the payload is. If the kernel doesn't allow this
 * (Yama's ptrace_scope, seccomp, another user), the receiver refuses the offer and the payload
 * follows through the ring. A payload on a GPU is offered as its place there (gpu_ipc.h), which a
 * receiver with memory on a GPU takes.
 *
 * A sender whose call fails may have its buffer back at once: it withdraws the offer, and what was
 * read of it then is discarded. So each offer ends by one atomic step of one side.
 */
#ifndef RUNTIME_TRANSPORT_SHM_RENDEZVOUS_H
#define RUNTIME_TRANSPORT_SHM_RENDEZVOUS_H

#include "runtime/gpu/gpu_ipc.h"
#include "runtime/process/processor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shm_rendezvous_state {
    RENDEZVOUS_NONE,
    RENDEZVOUS_OPEN,
    RENDEZVOUS_TAKEN,
    RENDEZVOUS_REFUSED,
    RENDEZVOUS_UNREACHABLE, /* refused, and so would all from a GPU be */
    RENDEZVOUS_WITHDRAWN
};

/* In the segment, beside each ring. The sender writes it while it is not open. */
struct shm_rendezvous {
    _Alignas(PROCESSOR_LINE) _Atomic uint32_t state;
    int32_t pid;
    /* The position of its header in the ring. Atomic, as a receiver may look for an offer of
     * another message while the next one is made; neither position is then the one that it looks
     * for. */
    _Atomic uint64_t position;
    uint64_t address; /* where the payload is, and the cookie, in the sender's memory */
    uint64_t cookie_address;
    uint64_t cookie;
    bool is_gpu; /* the payload is where `gpu` says, and not at `address` */
    struct gpu_ipc_place gpu;
};

/* Prepares the offers of this process. Call it whenever it joins a world, before it has links:
 * a forked child is another process. */
void shm_rendezvous_init(void);

/* This process's number as a giver of GPU memory (gpu_ipc.h). */
uint64_t shm_rendezvous_giver(void);

/* For the sender. The offer is open for the receiver once the ring's head has passed `position`. */
void shm_rendezvous_make(struct shm_rendezvous *o, uint64_t position, const void *payload);

void shm_rendezvous_make_gpu(struct shm_rendezvous *o, uint64_t position,
                             const struct gpu_ipc_place *payload);

enum shm_rendezvous_state shm_rendezvous_peek(const struct shm_rendezvous *o);

/* For the receiver: copies `size` bytes from `offset` of the payload. False: it can't be read. */
bool shm_rendezvous_read(const struct shm_rendezvous *o, void *to, size_t offset, size_t size);

/* The same for a payload on a GPU: all of it, into memory that `m` describes. `why` has the
 * reason. */
bool shm_rendezvous_read_gpu(const struct shm_rendezvous *o, const struct gpu_memory *m, void *to,
                             size_t size, struct fault *why);

/* Ends the offer. False: the other side has already ended it. */
bool shm_rendezvous_end(struct shm_rendezvous *o, enum shm_rendezvous_state how);

#endif
