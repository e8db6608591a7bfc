/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h: this rank's end of all rails to one peer, as an ordered stream of chunks. Chunk n
 * goes over rail n modulo the number of working rails. The first chunk on each rail checks that the
 * wiring is as the hostfile states.
 *
 * If a rail fails while others work, both sides drop it (rails.h); endpoint_control_next and
 * endpoint_control_take are for the control messages by which they agree.
 *
 * An endpoint is used by one thread at a time.
 */
#ifndef RDMA_ENDPOINT_H
#define RDMA_ENDPOINT_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rail_control.h"
#include "rdma/verbs/region_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;

struct endpoint_config {
    const char *const *devices; /* one for each rail, at most RDMA_RAILS */
    int device_count;
    struct rdma_choice choice;
    uint64_t tag;          /* part of the check: the same for all members of a group, and unique */
    int rank, peer;        /* world ranks */
    bool may_lack;         /* rails that fail are left out, as long as one works */
    const char *peer_name; /* "rank 3 on host b", copied */
};

/* A tag from a job's name and what tells its endpoints apart: FNV-1a. */
static inline uint64_t endpoint_tag(const char *job, uint64_t number)
{
    const uint64_t prime = 1099511628211U;
    uint64_t tag = 1469598103934665603U;

    for (; *job; job++)
        tag = (tag ^ (unsigned char)*job) * prime;
    return (tag ^ number) * prime;
}

/* Opens the rails. ML_ERR_DEVICE, ML_ERR_LINK, ML_ERR_MEMORY or ML_ERR_ARGUMENT name the device.
 * With may_lack, those for which it is one of the first two are missing, unless all of them are. */
int endpoint_open(struct endpoint **out, const struct endpoint_config *c, struct fault *why);
void endpoint_close(struct endpoint *e); /* takes NULL */

/* The *size bytes that the peer needs for its endpoint_connect; valid as long as the endpoint. */
const void *endpoint_publish(struct endpoint *e, size_t *size);
/* Connects the rails to those that the peer published. ML_ERR_LINK if the two sides do not fit. */
int endpoint_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why);
/* With may_lack: which rails endpoint_connect has connected, one bit for each, in an order that is
 * the same at both ends; and those of the peer, after which both use what both have.
 * ML_ERR_REFUSED: those of the peer make no sense; ML_ERR_LINK or ML_ERR_DEVICE: no rail works at
 * both ends. */
uint32_t endpoint_connected(const struct endpoint *e);
int endpoint_agree(struct endpoint *e, uint32_t peers, struct fault *why);

/* Once both ends have connected: sends a check over each rail and compares the peer's. To be called
 * again until *done. ML_ERR_LINK names what is not wired as stated. With may_lack a rail that fails
 * meanwhile is dropped, as later: control messages are due from now on. */
int endpoint_check(struct endpoint *e, bool *done, struct fault *why);
/* Sets `why` because the check did not finish in time; returns ML_ERR_LINK. */
int endpoint_check_late(struct endpoint *e, struct fault *why);

/* The memory for the next chunk, *room bytes; NULL: none is free now. Fill it, then
 * endpoint_send. */
void *endpoint_slot(struct endpoint *e, size_t *room);
void endpoint_send(struct endpoint *e, size_t size);

/* The next chunk that arrived, *size bytes, valid until endpoint_release; NULL: none. is_direct:
 * its bytes are already in the announced memory, and the returned pointer only says that it is
 * there. */
const void *endpoint_chunk(struct endpoint *e, size_t *size, bool *is_direct);
void endpoint_release(struct endpoint *e);

/*
 * Zero-copy (zero_copy.h). The caller numbers the messages of each direction from 0. endpoint_begin
 * is called for each message that is sent; true: its first chunk must hold the header alone, and
 * the rest is sent by endpoint_part, which sends the next bytes and returns how many; 0: none now.
 * Bytes of a GPU are sent and announced only after endpoint_reaches (zero_copy_reaches). Those of a
 * message need not all be in one place: after endpoint_turn, which may follow endpoint_begin and
 * once these are sent, the bytes from `begin` to `end` are at `bytes`.
 */
enum { ENDPOINT_LONG = 128 * 1024 /* bytes of the shortest message that is not copied */ };
bool endpoint_begin(struct endpoint *e, uint32_t message, const void *bytes, size_t size);
void endpoint_turn(struct endpoint *e, const void *bytes, size_t begin, size_t end);
size_t endpoint_part(struct endpoint *e, size_t offset);
bool endpoint_reaches(const struct endpoint *e, const void *at, size_t size, bool from,
                      enum region_way *way, struct fault *why);
/* A mark behind everything that was sent so far. Once endpoint_has_read() is true for it, the
 * devices no longer read the memory of what was sent before the mark; until then it must not
 * change. */
uint64_t endpoint_mark(const struct endpoint *e);
bool endpoint_has_read(struct endpoint *e, uint64_t mark);

/* Tells the peer that message `message`, which is still to come, may be written to `at`, from now
 * until it has arrived or endpoint_stop. At most ENDPOINT_AHEAD messages ahead of the next one.
 * False: try again later. */
enum { ENDPOINT_AHEAD = 4 };
bool endpoint_announce(struct endpoint *e, uint32_t message, void *at, size_t size);

/* After an error: once this returns no device reads or writes memory for this endpoint, and nothing
 * more is sent or received. */
void endpoint_stop(struct endpoint *e);

/* Why memory could not be registered, so that its messages are copied; reported once. NULL: nothing
 * new. */
const struct fault *endpoint_trouble(struct endpoint *e);

/* Stores the next control message that the peer must get (rail_control.h); false: there is none. */
bool endpoint_control_next(struct endpoint *e, struct rail_control *control);
/* Handles a control message of the peer. ML_ERR_REFUSED if it makes no sense. */
int endpoint_control_take(struct endpoint *e, const struct rail_control *control,
                          struct fault *why);
/* The reason why this side has dropped a rail, or has had none since it was opened, once for each
 * such rail, with the number of rails left in *left. NULL: nothing new. */
const struct fault *endpoint_dropped(struct endpoint *e, int *left);

/* Handles what the devices have completed; > 0 if anything arrived. */
int endpoint_poll(struct endpoint *e);
/* The failure after which nothing more moves, or NULL. ML_ERR_DEVICE: this side's port has failed,
 * for certain. ML_ERR_LINK: the peer does not answer, perhaps because it has died. */
const struct fault *endpoint_failed(const struct endpoint *e);

/* To sleep: endpoint_sleep, poll endpoint_fd for POLLIN, endpoint_wake. endpoint_sleep returns -1
 * if something has arrived and the caller must not sleep. `sends`: the caller also waits for a
 * slot; mark: it waits until that mark has been read (0: it does not). */
int endpoint_fd(const struct endpoint *e);
int endpoint_sleep(struct endpoint *e, bool sends, uint64_t mark);
void endpoint_wake(struct endpoint *e);

/* Waits up to timeout_ms until everything that was sent is in the peer's memory, or never will be.
 * False: the time is over. */
bool endpoint_flush(struct endpoint *e, int timeout_ms);

/* Stores the endpoint's file descriptors, which a forked child must close, in out[0] to out[most -
 * 1]; returns how many. */
int endpoint_descriptors(const struct endpoint *e, int *out, int most);

#endif
