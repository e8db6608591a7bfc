/* SPDX-License-Identifier: MIT */
/*
 * shm_segment.h: the memory that a group's members on one host share: a head with a slot for each
 * member, a part for each with its cells and lines on the board (shm_coll.h) and its marks, and
 * behind all parts each member's rings, one to each other member.
 *
 *     ├ head, slot 0 … ┼ part 0: cells, lines, marks ┼ part 1 ┼ … ┼ ring 0→1, 0→2 … ┼ 1→0 … ┼
 *
 * A part consists of whole pages, which its member itself allocates, so that they lie on the memory
 * node where it runs (--bind-to). Parts are close together because each rank looks at all of them:
 * a page of the kernel's tables maps 2 MiB. Rings are a hole at first. Each is made by its writer
 * at its first message, on its memory node too, and then marked in the writer's part: a rank pays
 * for those to which it sends, and asks for a mark only where it waits for a message.
 *
 * All of a part and its rings is written by its member and read by others. A write first fetches
 * its line from where it lies, and in the end puts it back there, so data that is written nearby
 * crosses from node to node once, when it is read. Rings beside their readers would cross twice. (A
 * ring's tail and the answer to an offer are written by the reader: a line each.)
 *
 * The lowest member makes the segment, with the head and its own part; then the others allocate
 * theirs. Until all have said that they have (group_join.c's second exchange), no process touches
 * another one's part: touching a page that could not be allocated is SIGBUS. Then the name is
 * removed, so that nothing is left however the processes end.
 */
#ifndef RUNTIME_TRANSPORT_SHM_SEGMENT_H
#define RUNTIME_TRANSPORT_SHM_SEGMENT_H

#include "common/fault.h"
#include "runtime/group/sleeper.h"
#include "runtime/process/processor.h"
#include "runtime/transport/shm_rendezvous.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A queue of bytes from one process to one other; positions only grow. */
struct shm_ring {
    _Alignas(PROCESSOR_LINE) _Atomic uint64_t head; /* written up to here, by the sender */
    _Alignas(PROCESSOR_LINE) _Atomic uint64_t tail; /* read up to here, by the receiver */
    struct shm_rendezvous rendezvous; /* the message under way that isn't in the ring */
    _Alignas(PROCESSOR_LINE) unsigned char bytes[];
};

struct shm_segment;

/* shm_segment_create makes the segment `name` for `count` processes, as the process of index 0;
 * shm_segment_open maps it, as the process of `index`. Each allocates its part. is_small, the same
 * for all: a few KiB for each pair, as long messages will be few. ML_ERR_SYSTEM, with the sizes if
 * /dev/shm is too small; ML_ERR_MEMORY. */
int shm_segment_create(struct shm_segment **out, const char *name, int count, bool is_small,
                       struct fault *why);
int shm_segment_open(struct shm_segment **out, const char *name, int count, int index,
                     bool is_small, struct fault *why);
void shm_segment_unlink(struct shm_segment *s); /* for its maker; takes NULL, and may be repeated */
void shm_segment_close(struct shm_segment *s);  /* takes NULL */

/* True if the members that may use the same processors as member `index` are more than those
 * processors. Only once all have mapped s. */
bool shm_segment_is_crowded(struct shm_segment *s, int index);

struct sleeper_slot *shm_segment_slot(struct shm_segment *s, int index);
/* Makes the ring from this process to member `to`, unless it is there: *out. ML_ERR_SYSTEM if
 * /dev/shm is full. */
int shm_segment_make_ring(struct shm_ring **out, struct shm_segment *s, int to, struct fault *why);
/* The ring from member `from` to this process; NULL: it is not there yet. Sequentially consistent,
 * as sleeper.h requires of the last look before a sleep. */
struct shm_ring *shm_segment_find_ring(struct shm_segment *s, int from);
size_t shm_segment_ring_size(const struct shm_segment *s); /* bytes; a power of two */

/* The board of g, whose members all share s and have the same indices in both; to be freed with
 * free(). ML_ERR_MEMORY. */
struct group;
struct shm_coll;
int shm_segment_coll(struct shm_coll **out, struct shm_segment *s, struct group *g,
                     struct fault *why);

#endif
