/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h: this rank's end of all rails to one peer, as a stream of chunks in order: chunk n
 * goes over rail n modulo the number of those that work. The first chunk on each rail is the check
 * that the wiring is what the hostfile says.
 *
 * A rail that fails later, while there is another one, is dropped: this side stops its queue pair and
 * tells the peer by another way (endpoint_say, endpoint_hear) how many chunks had come over it; the
 * peer does the same. What had not come goes again over the others, once the other side has said so:
 * its queue pair is stopped by then, so no chunk can come twice.
 */
#ifndef RDMA_ENDPOINT_H
#define RDMA_ENDPOINT_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rail_word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;

enum { ENDPOINT_RAILS = 8 };
struct endpoint_config {
    const char *const *devices; /* one a rail, up to ENDPOINT_RAILS */
    int device_count;
    struct rdma_choice choice;
    uint64_t tag;          /* the same for all of a group and nobody else: part of the check */
    int rank, peer;        /* world ranks */
    const char *peer_name; /* "rank 3 on host b", copied */
};

int endpoint_open(struct endpoint **out, const struct endpoint_config *c, struct fault *why);
void endpoint_close(struct endpoint *e); /* takes NULL */

/* What the peer must get: *size bytes, valid as long as the endpoint; and what came from it. */
const void *endpoint_publish(struct endpoint *e, size_t *size);
int endpoint_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why);

/* Once all have connected: says who this is on each rail, and hears the same. To be called again
 * until *done. ML_ERR_LINK naming what is not as wired. */
int endpoint_check(struct endpoint *e, bool *done, struct fault *why);
/* The check's deadline is over. */
int endpoint_check_late(struct endpoint *e, struct fault *why);

/* Where the next chunk goes, *room bytes; NULL: not now. Then endpoint_send. */
void *endpoint_slot(struct endpoint *e, size_t *room);
void endpoint_send(struct endpoint *e, size_t size);

/* The next chunk that came, *size bytes, or NULL; it stays until endpoint_release. is_direct: it lies
 * where it was announced to be, and what is returned is of no use. */
const void *endpoint_chunk(struct endpoint *e, size_t *size, bool *is_direct);
void endpoint_release(struct endpoint *e);

/*
 * Zero-copy (zero_copy.h). Messages are counted from 0 in each direction by whoever calls: endpoint_begin
 * for each one that is sent; true: its first chunk must hold the header alone. The rest goes by
 * endpoint_part, which takes the next bytes of it and returns how many, 0: not now.
 */
bool endpoint_begin(struct endpoint *e, uint32_t message, const void *bytes, size_t size);
size_t endpoint_part(struct endpoint *e, size_t offset);
/* A mark behind what has been sent so far; and whether the devices need nothing any more of the memory of
 * what was sent before the mark: until then it must not change. */
uint64_t endpoint_mark(const struct endpoint *e);
bool endpoint_has_read(struct endpoint *e, uint64_t mark);

/* Message `message`, which is to come, may be written to `at` from now on, and until it has come or
 * endpoint_stop. False: try again later. At most ENDPOINT_AHEAD messages ahead of the next to come. */
enum { ENDPOINT_AHEAD = 4 };
bool endpoint_announce(struct endpoint *e, uint32_t message, void *at, size_t size);

/* After an error: once this returns no device reads or writes any memory for this endpoint, and nothing
 * more goes or comes. */
void endpoint_stop(struct endpoint *e);

/* What couldn't be registered, and so is copied; once. NULL: nothing new. */
const struct fault *endpoint_trouble(struct endpoint *e);

/* The next word of a rail that the peer must get, if there is one; and what came from it. ML_ERR_REFUSED if
 * that makes no sense. */
bool endpoint_say(struct endpoint *e, struct rail_word *word);
int endpoint_hear(struct endpoint *e, const struct rail_word *word, struct fault *why);
/* Why a rail was dropped, once for each that this side found out about; NULL: nothing new. */
const struct fault *endpoint_dropped(struct endpoint *e, int *left);

/* Takes in what the devices have completed; > 0 if anything came. */
int endpoint_poll(struct endpoint *e);
/* What has failed, if anything: nothing more will move. NULL: all is well. ML_ERR_DEVICE: this side's
 * port, for certain; ML_ERR_LINK: the peer does not answer, which may be because it died. */
const struct fault *endpoint_failed(const struct endpoint *e);

/* A sleeper polls endpoint_fd for POLLIN. endpoint_sleep: -1: don't, something has come; `sends`:
 * it waits for a slot; mark: or until it has read (0: no). endpoint_wake: after the sleep. */
int endpoint_fd(const struct endpoint *e);
int endpoint_sleep(struct endpoint *e, bool sends, uint64_t mark);
void endpoint_wake(struct endpoint *e);

/* Waits up to timeout_ms until everything sent has arrived in the peer's memory, or never will. */
bool endpoint_flush(struct endpoint *e, int timeout_ms);

/* All its file descriptors: a forked child closes them. Returns how many. */
int endpoint_descriptors(const struct endpoint *e, int *out, int most);

#endif
