/* SPDX-License-Identifier: MIT */
/*
 * mlaunch.h: the calls that a rank of a job makes: who it is, and messages and collectives between
 * ranks.
 *
 * Every call returns 0 (or the value asked for) or a negative ML_ERR_*; ml_error() then describes
 * the calling thread's last failure in a sentence with rank, host and cause. A process that was not
 * started by mlaunch is a group of one rank, and every call works.
 *
 * Threads: one thread at a time may use a group; different groups may be used at the same time.
 * (ml_test and ml_wait, below, may be called at any time.) When ml_group_free or ml_finalize ends a
 * group, another thread's call on it ends with ML_ERR_STATE.
 *
 * Fork: a child of the process that holds the rank gets ML_ERR_STATE from every call but ml_alloc,
 * ml_free, those on pools of its own, and those that only ask.
 *
 * Buffers belong to the caller, who may free or reuse them as soon as the call has returned.
 * `count` is in elements, `size` in bytes; both may be 0 and beyond 4 GiB. Buffers need no
 * alignment beyond that of the element type. `in` may equal `out` in every call; all_gather and
 * gather also allow in == out + rank * size, all_gather_v allows in == out + offsets[rank]; any
 * other overlap is ML_ERR_ARGUMENT. Buffers that a rank does not use in its role may be NULL.
 */
#ifndef MLAUNCH_H
#define MLAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With gcc and clang the header is valid from C90 and C++98 on. */
#if defined(__GNUC__)
#define ML_EXPORT   __attribute__((visibility("default")))
#define ML_NORETURN __attribute__((noreturn))
#else
#define ML_EXPORT
#define ML_NORETURN
#endif

/* Element types. ML_BOOL is one byte, 0 or not 0; ML_COMPLEX64 is two float32 (real, imaginary).
 * float16 and bfloat16 are computed in float32 and rounded to nearest, ties to even, each time one
 * rank's operand is combined with the result so far. */
typedef enum {
    ML_BOOL,
    ML_INT8,
    ML_INT16,
    ML_INT32,
    ML_INT64,
    ML_UINT8,
    ML_UINT16,
    ML_UINT32,
    ML_UINT64,
    ML_FLOAT16,
    ML_BFLOAT16,
    ML_FLOAT32,
    ML_FLOAT64,
    ML_COMPLEX64
} ml_type;

/* Reductions. Integer sums and products wrap. On ML_BOOL, ML_SUM is OR and ML_PROD is AND. The
 * ML_MIN and ML_MAX of a NaN and any operand is a NaN; ML_COMPLEX64 has neither. ML_AND, ML_OR and
 * ML_XOR are for integers (bitwise) and ML_BOOL (logical). Any other pair is ML_ERR_ARGUMENT. */
typedef enum { ML_SUM, ML_PROD, ML_MIN, ML_MAX, ML_AND, ML_OR, ML_XOR } ml_op;

#define ML_NOBODY (-1) /* for `to` or `from`: nothing is sent or received */
#define ML_ANY    (-2) /* for `from` or `tag` of a receive or a probe: whichever comes */
#define ML_ALL    (-3) /* for `to` of ml_flush: all ranks */

enum {
    ML_ERR_ARGUMENT = -1, /* invalid arguments; the group is unharmed */
    ML_ERR_STATE = -2,  /* not initialised, a freed group or window, a group that longjmp() has left
                        * a call of, a forked child, or a rank that is held */
    ML_ERR_MEMORY = -3, /* out of memory */
    ML_ERR_MISMATCH = -4, /* the ranks' calls differ; the group is broken */
    ML_ERR_PEER = -5,     /* a peer died or left; the group is broken */
    ML_ERR_DEVICE = -6,   /* an RDMA device or a GPU failed */
    ML_ERR_LINK = -7,     /* a network link failed */
    ML_ERR_TIMEOUT = -8,  /* a rank did not join within --init-timeout, or a signal did not come */
    ML_ERR_REFUSED = -9,  /* a peer is of another build, or can't prove that it is of this job; or
                           * what was kept is damaged */
    ML_ERR_SYSTEM = -10   /* the operating system refused something */
};

/* A message that has come: from which rank, with which tag, of how many bytes. */
typedef struct {
    int from;
    int tag;
    size_t size;
} ml_status;

/* A set of ranks that make calls together. Opaque. */
typedef struct ml_group ml_group;

/* Joins the job: claims this process's rank, waits for all other ranks and connects to them. *world
 * is the group of all ranks; the library owns it. Further calls return the same world, and each
 * needs an ml_finalize of its own. After the last one, or once the process that held the rank has
 * ended, the rank can be claimed again; then all ranks must join anew.
 * Errors: ML_ERR_STATE (another process holds the rank), ML_ERR_TIMEOUT (a rank did not join within
 * --init-timeout seconds; the sentence names it), ML_ERR_PEER, ML_ERR_REFUSED, ML_ERR_SYSTEM. */
ML_EXPORT int ml_init(ml_group **world);

/* Leaves the job when it has been called as often as ml_init. It is no barrier: data already sent
 * is delivered, and a peer that still needs this rank gets ML_ERR_PEER. Frees all groups: calls on
 * them are ML_ERR_STATE from then on. ML_ERR_MISMATCH if the ranks' last calls differed; the rank
 * has left the job all the same. */
ML_EXPORT int ml_finalize(void);

/* This process's rank in g, from 0; and the number of ranks of g. ML_ERR_ARGUMENT if g is NULL,
 * ML_ERR_STATE if it has been freed. */
ML_EXPORT int ml_rank(const ml_group *g);
ML_EXPORT int ml_size(const ml_group *g);

/* The name of the host that rank `rank` of g runs on, as the hostfile has it. Owned by the library
 * and valid until g is freed; NULL if there is no such rank. */
ML_EXPORT const char *ml_host(const ml_group *g, int rank);

/* A sentence on the calling thread's last failure; "" if there was none. Valid until its next
 * call. */
ML_EXPORT const char *ml_error(void);

/* Version and build of the library, for example "0.1.0 (3f9a…)". */
ML_EXPORT const char *ml_version(void);

/* Ends the whole job: this process exits with `status` (1 if it is 0); the launcher reports this
 * rank and `why` (may be NULL), and stops all other ranks. Never returns. */
ML_EXPORT ML_NORETURN void ml_abort(int status, const char *why);

/* Splits g: the ranks that pass the same color >= 0 form a new group, ordered by key, then by rank
 * in g. With color < 0, *out is NULL. Collective over g. The caller frees *out with
 * ml_group_free. */
ML_EXPORT int ml_split(ml_group *g, int color, int key, ml_group **out);

/* Makes a group of the `count` ranks `ranks` of g, in this order, without the others: only they
 * call it, each with the same ranks and the same tag, and wait for each other. Any tag will do,
 * unless a rank is in several calls of ml_group_create on g that are under way at the same time in
 * some rank: these need different tags. It also works if other ranks of g have died, and g is
 * broken. The caller frees *out with ml_group_free.
 *
 * The members wait for each other at most timeout_ms, from the first one's call on, and then at
 * most as long for their links; 0: the time of --init-timeout. Then ML_ERR_TIMEOUT names those that
 * have not called it. ML_ERR_PEER: a member has died or left, or calls ml_repair;
 * ML_ERR_MISMATCH: a member has named other ranks. After an error no member has the group, but for
 * one whose peer dies when the links are there, whose calls then fail; all can try again, and g and
 * all other groups are as before. */
ML_EXPORT int ml_group_create(ml_group *g, const int *ranks, int count, uint64_t tag,
                              int timeout_ms, ml_group **out);

/* Frees a group made by ml_split or ml_group_create; not collective. NULL and the world are
 * ignored. */
ML_EXPORT void ml_group_free(ml_group *g);

/* --- a world that changes (mlaunch --elastic) --------------------------------------------------
 *
 * A rank dies: calls that need it fail with ML_ERR_PEER, on every rank. In a job of mlaunch
 * --elastic MIN those that live may then call ml_repair, and continue in a world without it:
 *
 *     ml_group *world;
 *     ml_init(&world);
 *     for (int step = 0; step < steps;) {
 *         int rc = do_step(world, step);
 *         if (rc == ML_ERR_PEER)
 *             rc = ml_repair(world, &world, NULL);   // then the same step again
 *         else
 *             step++;
 *         if (rc != 0)
 *             return fail(ml_error());
 *     }
 *
 * What a failed call has left in its buffers is undefined, so a step must be able to begin
 * again. */

/* What ml_repair has changed. The lists are the library's, until the next ml_repair or the last
 * ml_finalize. */
typedef struct ml_change {
    int membership;  /* how often the members have changed so far */
    int left_count;  /* how many of the old world are not in the new one */
    const int *left; /* their ids, ascending */
    int came_count;  /* how many of the new world were not in the old one */
    const int *came; /* their ids, ascending */
} ml_change;

/* Makes the next world, of all ranks that live, and stores it in *next; `change` is filled, or
 * NULL. Collective: all that live must call it, and wait for each other, at most for
 * --init-timeout; also useful when nothing has broken. The new ranks are in the order of the ids
 * (ml_id).
 *
 * As soon as one rank calls it, all calls on the old world, on groups split from it and on windows
 * end with ML_ERR_PEER, on every rank, and when it returns all connections of the old world are
 * closed. Calls with these handles go on to return ML_ERR_PEER; ml_group_free and ml_window_free
 * need not be called for them. What was started is done, with an error, and ml_wait frees it.
 * Memory of ml_alloc and pools stay. ml_init then returns the new world.
 *
 * `world` is the present world, on which no other thread is in a call; calls of other threads on
 * other groups are waited for, those on windows must have ended. A rank that dies during the call
 * is left out. ML_ERR_TIMEOUT names those that live and have not come; ML_ERR_STATE: the job was
 * started without --elastic; otherwise as ml_init. After an error `world` is still broken, and the
 * call may be made again. */
ML_EXPORT int ml_repair(ml_group *world, ml_group **next, ml_change *change);

/* Ends the calls of all ranks on g with ML_ERR_PEER and a sentence that names this rank and has
 * `why` (or NULL), now and later: a rank calls it before ml_repair if it alone knows that the
 * others wait in vain. Not collective; any thread may call it, and another thread's call on g ends
 * as those of the other ranks do. */
ML_EXPORT int ml_revoke(ml_group *g, const char *why);

/* Stores in *value the bitwise AND of the values of all ranks of g: all that live get the same,
 * also if ranks have died before or die meanwhile, and if g is broken. So it decides whether all
 * go on after a failure that only some have seen. Slower than ml_all_reduce: the coordinator does
 * it. ML_ERR_PEER: a rank has called ml_repair instead. */
ML_EXPORT int ml_agree(ml_group *g, uint64_t *value);

/* The id of a rank of g: its number in the first world, which it keeps in every later one; ranks
 * that mlaunch grow adds get new ones. Also what messages of mlaunch call it. */
ML_EXPORT int ml_id(const ml_group *g, int rank);

/* 1 if a rank of the world has gone since the last ml_repair, calls it now, or waits to come, as
 * far as this process has heard in its calls; else 0. It sends nothing and takes some ns. */
ML_EXPORT int ml_changed(const ml_group *world);

/* --- memory that outlives ranks ----------------------------------------------------------------
 *
 * What a rank keeps is held by its host until the job ends, whatever becomes of the rank: its next
 * process finds it, and so do other ranks of the host, and the next run of the job (--restarts).
 *
 *     uint64_t step = 0;
 *     int rc = ml_kept(world, "state", NULL, 0, &step);   // 0: nothing yet
 *     if (rc == 1)
 *         rc = ml_restore(world, "state", ml_id(world, ml_rank(world)), state, size);
 *     while (rc == 0 && step < steps) {
 *         rc = do_step(world, step);
 *         if (rc == 0)
 *             rc = ml_keep(world, "state", state, size, ++step);
 *     }
 *
 * The calls take the present world. A name has 1 to 63 letters, digits, and any of . _ -. Each
 * name has versions of its own, so keep together, under one name, what must be of one version.
 * Memory may be a GPU's; ml_next_type and ml_next_stream hold for ml_keep and ml_restore, too. In a
 * process that mlaunch has not started they are ML_ERR_STATE. */

/* Keeps a copy of the `size` bytes at `memory` (size may be 0, which gives the room back) as this
 * rank's part of that version. Local; it waits for no other rank. The two last versions are kept,
 * so all ranks should keep the same versions at the same steps, between which they wait for each
 * other. A rank that dies in the call leaves the version before it whole. A version that is not
 * newer than one that this rank has kept since the last ml_kept takes its place. The memory may be
 * changed as soon as the call has returned, and not before by another thread.
 * ML_ERR_SYSTEM: the host's /dev/shm has no room; nothing is changed, or one of the two versions,
 * the older or a later one than this, is gone. */
ML_EXPORT int ml_keep(ml_group *world, const char *name, const void *memory, size_t size,
                      uint64_t version);

/* Finds the newest version that all ranks of the world have kept whole, and also the `count` ids in
 * `ids`, in general those that have died: a rank of their host must live. Collective, with the same
 * arguments on all ranks. 1: *version is that one, from which ml_restore gets each part, and what
 * this rank has kept later is dropped. 0: there is none that all have. What ranks keep after the
 * call is never taken for what they have kept before it, also if it has the same version. Each part
 * is compared with the hash that was kept with it. ML_ERR_ARGUMENT: the ranks ask for different
 * things; otherwise as ml_all_gather. */
ML_EXPORT int ml_kept(ml_group *world, const char *name, const int *ids, int count,
                      uint64_t *version);

/* How many bytes the part of `id` has, in the version that ml_kept has found; `id` as ml_id has it,
 * this rank's own or another one's on this host, dead or living. Errors as ml_restore. */
ML_EXPORT int ml_kept_size(ml_group *world, const char *name, int id, size_t *size);

/* Copies that part to `memory`, whose size must be the same. Not collective.
 * ML_ERR_STATE: ml_kept has found no version of the name; the part is not on this host; or its
 * rank has kept two versions since. ML_ERR_ARGUMENT: the size differs, or the type does.
 * ML_ERR_REFUSED: it is damaged; `memory` is undefined then. */
ML_EXPORT int ml_restore(ml_group *world, const char *name, int id, void *memory, size_t size);

/* Reductions. The result is deterministic: the same type, op, count, placement, backend and
 * MLAUNCH_ALGO give the same bits on every rank and in every run. With MLAUNCH_DETERMINISTIC=1
 * (mlaunch --deterministic) each element is ((r0 op r1) op r2) op …, by rank in the group, so that
 * placement, backend and MLAUNCH_ALGO do not matter either.
 *   all_reduce      in, out: count elements; every rank gets the result
 *   reduce_scatter  in: ranks * count elements, out: count elements; rank r gets block r
 *   reduce          as all_reduce, but only the root's out is written
 *   scan            as all_reduce, but rank r gets the reduction of ranks 0 to r
 *   exclusive_scan  of ranks 0 to r - 1; rank 0's out is not written */
ML_EXPORT int ml_all_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                            ml_op op);
ML_EXPORT int ml_reduce_scatter(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                                ml_op op);
ML_EXPORT int ml_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                        ml_op op, int root);
ML_EXPORT int ml_scan(ml_group *g, const void *in, void *out, size_t count, ml_type type, ml_op op);
ML_EXPORT int ml_exclusive_scan(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                                ml_op op);

/*
 * Reductions by an operator of the program, as MPI_Op_create makes them: ml_X_with is ml_X, of
 * `count` elements that a function of the program combines. Say what it is in a struct:
 *
 *     static void longer(void *inout, const void *in, size_t count, void *context);
 *     const ml_operator op = {longer, sizeof(struct word), 1, NULL};
 *     ml_all_reduce_with(g, words, words, 100, &op);
 *
 *   Elements    are `size` bytes long, any number but 0, and the library doesn't look into them.
 *   Function    inout[i] = inout[i] op in[i] for count elements: `inout` has the operands of lower
 *               ranks, and gets the result. It must be associative, and its result depend on the
 *               operands (and *context) alone. One call is cut into any number of the function's,
 *               of any count but 0. The pointers never overlap. They are aligned as `in` and `out`
 *               of the call are to the elements, to 64 bytes at most.
 *   Order       Without is_commutative, elements meet in the order of ranks: rank 0's op rank 1's
 *               op rank 2's, in any grouping. With it, they meet in the order of the built-in
 *               operations, which is faster for long vectors. Results are as deterministic.
 *   Agreement   All ranks must pass the same operator. Size and is_commutative are compared
 *               (ML_ERR_MISMATCH); that the functions do the same can't be.
 *   Threads     The thread that makes the call, or, for a call that was started, a thread of the
 *               library, in which all signals are blocked. Calls on two groups may run a function
 *               in two threads at once.
 *   Forbidden   In the function, calls on groups, ml_wait, ml_test, ml_init, ml_finalize and
 *               ml_window_free are ML_ERR_STATE; ml_abort ends the job. It must return: longjmp()
 *               and exceptions out of it leave a call half made, which breaks the group. If it
 *               crashes, this process does, and the others get ML_ERR_PEER.
 *
 * The struct is read only until the call, started or not, has returned; what `context` points to
 * must stay until it is done. Memory: some 64 KiB and an element for each rank during the call; a
 * reduce_scatter that is not commutative needs as much as `in` has.
 * ML_ERR_ARGUMENT: no operator, no function, or size is 0.
 */
typedef void ml_operator_fn(void *inout, const void *in, size_t count, void *context);
typedef struct {
    ml_operator_fn *function;
    size_t size;        /* an element's, in bytes */
    int is_commutative; /* not 0: a op b is b op a */
    void *context;      /* what the function gets as its last argument */
} ml_operator;
ML_EXPORT int ml_all_reduce_with(ml_group *g, const void *in, void *out, size_t count,
                                 const ml_operator *with);
ML_EXPORT int ml_reduce_scatter_with(ml_group *g, const void *in, void *out, size_t count,
                                     const ml_operator *with);
ML_EXPORT int ml_reduce_with(ml_group *g, const void *in, void *out, size_t count,
                             const ml_operator *with, int root);
ML_EXPORT int ml_scan_with(ml_group *g, const void *in, void *out, size_t count,
                           const ml_operator *with);
ML_EXPORT int ml_exclusive_scan_with(ml_group *g, const void *in, void *out, size_t count,
                                     const ml_operator *with);

/* Movements; size is one rank's share in bytes.
 *   all_gather   in: size; out: ranks * size, in the order of ranks
 *   all_to_all   in, out: ranks * size; block j of in goes to block `rank` of rank j's out
 *   broadcast    buf: size; the root's is sent, the others' are written
 *   gather       in: size; the root's out: ranks * size
 *   scatter      the root's in: ranks * size; out: size */
ML_EXPORT int ml_all_gather(ml_group *g, const void *in, void *out, size_t size);
ML_EXPORT int ml_all_to_all(ml_group *g, const void *in, void *out, size_t size);
ML_EXPORT int ml_broadcast(ml_group *g, void *buf, size_t size, int root);
ML_EXPORT int ml_gather(ml_group *g, const void *in, void *out, size_t size, int root);
ML_EXPORT int ml_scatter(ml_group *g, const void *in, void *out, size_t size, int root);

/* Movements of shares that differ in size, as MPI_Allgatherv and MPI_Alltoallv. The arrays have one
 * entry for each rank, in bytes: how long its block is, and where it begins in the buffer. They
 * are read only until the call, started or not, has returned. Offsets that are NULL: the blocks lie
 * one after the other in the order of ranks. Blocks of `out` may not overlap.
 *   all_gather_v   in: sizes[rank]; rank r's goes to block r of out. All ranks give the same sizes,
 *                  and each its own offsets
 *   all_to_all_v   block j of in goes to block `rank` of rank j's out, which must be as long
 * If in == out, all_to_all_v works in a copy of in. */
ML_EXPORT int ml_all_gather_v(ml_group *g, const void *in, void *out, const size_t *sizes,
                              const size_t *offsets);
ML_EXPORT int ml_all_to_all_v(ml_group *g, const void *in, const size_t *in_sizes,
                              const size_t *in_offsets, void *out, const size_t *out_sizes,
                              const size_t *out_offsets);

/* Says what the elements of the next call on g are, if that is a movement or a message: ranks that
 * say different types get ML_ERR_MISMATCH. Bytes of which nothing is said, and ML_UINT8, fit every
 * type. Not collective. It holds for one call, started or not, even if that fails.
 * ML_ERR_ARGUMENT: there is no such type. */
ML_EXPORT int ml_next_type(ml_group *g, ml_type type);

/* Says where in the program the next call on g is, for instance "train.py:17"; warnings of a stall
 * and `mlaunch ps --stacks` show it. For bindings to other languages. The text must stay valid
 * until the call is done; NULL takes it back. Not collective. */
ML_EXPORT int ml_next_place(ml_group *g, const char *place);

/*
 * GPU memory. `in`, `out`, `buf`, `from` and `into` of every call may be memory of an NVIDIA GPU,
 * or managed memory; so may a part of a window (ml_window_create) and the memory of a pool
 * (ml_pool_create_at). All else is host memory: that of ml_alloc, arrays of sizes and offsets, what
 * ml_operator gets, `status`, `old`. Ranks may mix: one's buffer may be on a GPU, another's not.
 *
 *   Driver      libcuda.so.1 is used once the program, or what it uses, has loaded it; the library
 *               never loads it.
 *   The way     The bytes are copied through host memory: all that a call reads before it begins,
 *               all that it writes after its end. So it needs as much host memory, and reductions
 *               are made by the processor, with the same bits as those of host memory.
 *   Before      A call waits until the work that the program has queued is done: in the stream that
 *               ml_next_stream or, on a window, ml_next_window_stream has named, else in all of
 *               the buffer's context, which is slow, but never wrong.
 *   After       When a call returns, or ml_wait or ml_test says that a started one is done, its
 *               result is in the GPU's memory: what is queued in any stream from then on sees it.
 *   Started     ml_start_X itself waits for the program's work and copies what the call reads.
 *               ml_start_put does so too, and is carried out while the program computes. What
 *               ml_start_get has got is copied to the GPU in ml_wait or ml_test.
 *   Captures    A graph can't hold a call: while the stream that was named is captured, it is
 *               ML_ERR_ARGUMENT, and harms neither group nor capture. So it is without a name while
 *               any stream of the context is captured, but then the driver ends that capture.
 *   Errors      If the driver fails, the call is ML_ERR_DEVICE with the driver's words, and the
 *               group is broken; a call on a window harms nothing.
 *   Pinned      Host memory that the driver has pinned is host memory: the library reads and writes
 *               it at once, and the program waits for its own work on it.
 *
 * ml_next_stream names the stream (a CUstream or cudaStream_t) in which the program works on the
 * GPU buffers of the next call on g; NULL is the default stream. Not collective. It holds for one
 * call, started or not, even if that fails, and does nothing for host memory.
 */
ML_EXPORT int ml_next_stream(ml_group *g, void *stream);

/* Point to point. Without tags, the calls between two ranks match in order, and their sizes must be
 * equal (otherwise ML_ERR_MISMATCH, whose sentence names both). A rank may send to itself.
 * With ML_NOBODY as `to` or `from`, nothing is sent or received. ml_send may return before the
 * receiver has called, or may not. ml_sendrecv does both at once and can't deadlock. */
ML_EXPORT int ml_send(ml_group *g, const void *buf, size_t size, int to);
ML_EXPORT int ml_recv(ml_group *g, void *buf, size_t size, int from);
ML_EXPORT int ml_sendrecv(ml_group *g, const void *out, size_t out_size, int to, void *in,
                          size_t in_size, int from);

/* Messages with a tag, from 0 to INT_MAX, and receives that choose among them. ml_recv_tag receives
 * a message of at most `size` bytes (a longer one is ML_ERR_MISMATCH) from rank `from` with tag
 * `tag`; either may be ML_ANY. *status (may be NULL) says what has come.
 *
 *   Order    Of the messages of one rank that fit a receive, it gets the one that was sent first;
 *            of the receives that a message fits, the one that was called or started first gets it.
 *            With ML_ANY as the rank, ranks have their turns. Messages without a tag are apart:
 *            they match only ml_recv and ml_sendrecv, and are in order among themselves. But what
 *            a rank sends with a tag after a message without one, or after a collective call, can
 *            be received only after that (ML_ERR_MISMATCH where the program would wait for ever).
 *   Memory   A message that comes before its receive stays where it is, until this rank needs
 *            something that the sender sent after it. Then it is kept in memory, 64 MiB a group at
 *            most; beyond that, such a call is ML_ERR_MEMORY. So receive long messages in about the
 *            order in which they are sent. Like ml_send, ml_send_tag may wait for the receiver.
 *            What a rank sends itself is kept until it receives it, without such a limit.
 *   Deaths   A rank that dies ends a receive from ML_ANY with ML_ERR_PEER. Ranks that have left in
 *            good order don't, unless no other rank is left.
 *
 * ml_probe waits for a message as ml_recv_tag does, and ml_try_probe looks for one without waiting
 * and sets *found to 1 or 0; both fill in *status, and leave the message to a receive. */
ML_EXPORT int ml_send_tag(ml_group *g, const void *buf, size_t size, int to, int tag);
ML_EXPORT int ml_recv_tag(ml_group *g, void *buf, size_t size, int from, int tag,
                          ml_status *status);
ML_EXPORT int ml_probe(ml_group *g, int from, int tag, ml_status *status);
ML_EXPORT int ml_try_probe(ml_group *g, int from, int tag, int *found, ml_status *status);

/* Returns once every rank of g has called it. */
ML_EXPORT int ml_barrier(ml_group *g);

/* Whether the job has been asked to stop, by the signal of --stop-signal or by `mlaunch kill
 * --soft`: 1 or 0, the same in all ranks of g, which all call it, though only one host may have
 * been asked. So all leave their loop in the same step, and can write a checkpoint together. It is
 * an all_reduce of one byte. Once it has been 1, it stays so until the job ends. ML_ERR_SYSTEM, in
 * all ranks: one of them can't hear it; g is unharmed. */
ML_EXPORT int ml_should_stop(ml_group *g);

/*
 * Calls that are started. ml_start_X makes the call ml_X with the same arguments, but returns at
 * once; *request stands for the call. A thread of the library carries it out while the program
 * computes, whether or not the program makes other calls meanwhile. Another rank may make the same
 * call in the blocking form.
 *
 *   Buffers     `in` must not be written, and `out` neither read nor written, until the request is
 *               done.
 *   Requests    belong to the caller. Each is freed by exactly one ml_wait. They may be waited for
 *               in any order, by any thread, even after their group was freed.
 *   Order       The calls on a group, started or not, are made in the program's order, and all
 *               ranks must make them in the same order. Collective calls are carried out one after
 *               the other, and after the messages before them; a blocking call, ml_split included,
 *               comes after what was started before it. But consecutive messages (send, recv,
 *               sendrecv) are in flight together: only those to the same rank, and those from the
 *               same rank, go in order. So two ranks may both start a receive before they send, and
 *               no message waits for another message's peer.
 *   Errors      Arguments are checked at once. If they are invalid, *request is NULL, which ml_wait
 *               and ml_test treat as a request that is done. Later errors are returned by ml_test
 *               and ml_wait, to the thread that calls them. After ML_ERR_PEER or ML_ERR_MISMATCH
 *               the group is broken, and everything that was started on it ends with that error. A
 *               request, even one that failed, is done only once its buffers can't be written any
 *               more.
 *   Threads     One thread at a time may start calls on a group or use it otherwise. Others may
 *               call ml_test and ml_wait at the same time, but only one thread for each request.
 *   The end     ml_group_free and ml_finalize wait for what was started, as a blocking call does,
 *               and no thread may be in ml_wait for it then. The requests must still be passed to
 *               ml_wait, which then returns at once. ml_abort waits for nothing. A forked child
 *               gets ML_ERR_STATE.
 *
 * A group's first start makes the thread, which blocks all signals, sleeps while nothing is under
 * way, and ends with the group. Programs that start nothing have no such thread.
 */
typedef struct ml_request ml_request;

ML_EXPORT int ml_start_all_reduce(ml_group *g, const void *in, void *out, size_t count,
                                  ml_type type, ml_op op, ml_request **request);
ML_EXPORT int ml_start_reduce_scatter(ml_group *g, const void *in, void *out, size_t count,
                                      ml_type type, ml_op op, ml_request **request);
ML_EXPORT int ml_start_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                              ml_op op, int root, ml_request **request);
ML_EXPORT int ml_start_scan(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                            ml_op op, ml_request **request);
ML_EXPORT int ml_start_exclusive_scan(ml_group *g, const void *in, void *out, size_t count,
                                      ml_type type, ml_op op, ml_request **request);
ML_EXPORT int ml_start_all_reduce_with(ml_group *g, const void *in, void *out, size_t count,
                                       const ml_operator *with, ml_request **request);
ML_EXPORT int ml_start_reduce_scatter_with(ml_group *g, const void *in, void *out, size_t count,
                                           const ml_operator *with, ml_request **request);
ML_EXPORT int ml_start_reduce_with(ml_group *g, const void *in, void *out, size_t count,
                                   const ml_operator *with, int root, ml_request **request);
ML_EXPORT int ml_start_scan_with(ml_group *g, const void *in, void *out, size_t count,
                                 const ml_operator *with, ml_request **request);
ML_EXPORT int ml_start_exclusive_scan_with(ml_group *g, const void *in, void *out, size_t count,
                                           const ml_operator *with, ml_request **request);
ML_EXPORT int ml_start_all_gather(ml_group *g, const void *in, void *out, size_t size,
                                  ml_request **request);
ML_EXPORT int ml_start_all_to_all(ml_group *g, const void *in, void *out, size_t size,
                                  ml_request **request);
ML_EXPORT int ml_start_broadcast(ml_group *g, void *buf, size_t size, int root,
                                 ml_request **request);
ML_EXPORT int ml_start_gather(ml_group *g, const void *in, void *out, size_t size, int root,
                              ml_request **request);
ML_EXPORT int ml_start_scatter(ml_group *g, const void *in, void *out, size_t size, int root,
                               ml_request **request);
ML_EXPORT int ml_start_all_gather_v(ml_group *g, const void *in, void *out, const size_t *sizes,
                                    const size_t *offsets, ml_request **request);
ML_EXPORT int ml_start_all_to_all_v(ml_group *g, const void *in, const size_t *in_sizes,
                                    const size_t *in_offsets, void *out, const size_t *out_sizes,
                                    const size_t *out_offsets, ml_request **request);
ML_EXPORT int ml_start_send(ml_group *g, const void *buf, size_t size, int to,
                            ml_request **request);
ML_EXPORT int ml_start_recv(ml_group *g, void *buf, size_t size, int from, ml_request **request);
ML_EXPORT int ml_start_sendrecv(ml_group *g, const void *out, size_t out_size, int to, void *in,
                                size_t in_size, int from, ml_request **request);
ML_EXPORT int ml_start_send_tag(ml_group *g, const void *buf, size_t size, int to, int tag,
                                ml_request **request);
/* *status belongs to the request until that is done. */
ML_EXPORT int ml_start_recv_tag(ml_group *g, void *buf, size_t size, int from, int tag,
                                ml_status *status, ml_request **request);
ML_EXPORT int ml_start_barrier(ml_group *g, ml_request **request);

/* Sets *done to 1 if the request is done, else to 0; never waits. Returns the result of a request
 * that is done: 0 or the call's error. Frees nothing: ml_wait must still be called. */
ML_EXPORT int ml_test(ml_request *request, int *done);

/* Waits until the request is done, frees it, and returns its result: 0 or the call's error. */
ML_EXPORT int ml_wait(ml_request *request);

/* Allocates memory for use in any call: *out is `size` bytes of zeros, page-aligned. It may be
 * called at any time, even before ml_init, and the memory belongs to the program until ml_free,
 * whatever happens to groups and the job. RDMA devices register it when they first use it and keep
 * it registered, so long messages are sent from it, and received into it unless they are reduced,
 * without a copy. In a long ml_all_reduce, ranks of one host read it in each other's memory,
 * without a copy for others, if `in` and `out` of all of them lie in such memory. Otherwise it is
 * memory like any other. A forked child may read it until its parent frees it. Any thread may call
 * both. ml_free ignores NULL; no call may be using the memory. ML_ERR_MEMORY, ML_ERR_ARGUMENT (out
 * is NULL). */
ML_EXPORT int ml_alloc(size_t size, void **out);
ML_EXPORT void ml_free(void *memory);

/*
 * A pool divides one piece of ml_alloc's memory into blocks, for programs that allocate often: its
 * memory is registered and mapped once. The first free piece that is long enough is taken, and what
 * is freed is merged with free neighbours. Any thread may make these calls, also before ml_init; in
 * a forked child they are ML_ERR_STATE for a pool of its parent, except ml_pool_destroy.
 *
 * ml_pool_create makes a pool of `size` bytes, rounded up to a multiple of `alignment`, which is a
 * power of two up to a page, or 0 for 64. ml_pool_destroy frees its memory with all blocks; no
 * call may be using them; NULL is ignored. Errors: ML_ERR_ARGUMENT, ML_ERR_MEMORY.
 */
typedef struct ml_pool ml_pool;
ML_EXPORT int ml_pool_create(size_t size, size_t alignment, ml_pool **out);
/* The same in memory of the program's, for instance of a GPU: all but a rest of less than the
 * alignment. The library never reads, writes or frees it, and the program frees it after the pool.
 * ML_ERR_ARGUMENT, too, if it is not aligned, or shorter than the alignment. */
ML_EXPORT int ml_pool_create_at(void *memory, size_t size, size_t alignment, ml_pool **out);
ML_EXPORT void ml_pool_destroy(ml_pool *pool);

/* *out: a block of `size` bytes, aligned as the pool is. It takes up the next multiple of the
 * alignment, at least one, and holds what was left there. ML_ERR_MEMORY: no free piece is so long;
 * the sentence says how much is free, and the pool can still be used. */
ML_EXPORT int ml_pool_alloc(ml_pool *pool, size_t size, void **out);

/* Frees a block; NULL is ignored. ML_ERR_ARGUMENT, and nothing changes, if no block begins at
 * `block`: it has been freed before, or lies within a block or outside the pool. */
ML_EXPORT int ml_pool_free(ml_pool *pool, void *block);

/* Where the pool's memory begins, and in *size how long it is: for a window over all of it. NULL:
 * an argument is NULL. */
ML_EXPORT void *ml_pool_memory(ml_pool *pool, size_t *size);

/* *left: how many bytes are free; *longest: those of the longest block that can be had now. */
ML_EXPORT int ml_pool_left(ml_pool *pool, size_t *left, size_t *longest);

/*
 * Windows. A window is memory of each rank of a group, its part, that the other ranks read and
 * write by themselves: the rank that owns the part makes no call for it, and may compute meanwhile.
 * Offsets and sizes are in bytes. `to`, `from` and `at` are ranks of the group that the window was
 * made of, and may be the calling rank itself.
 *
 *   Order       Two operations of a rank are ordered only if the second is called after the first
 *               is complete: a get or an atomic operation when it returns, a put when ml_flush
 *               returns, a started one when ml_wait and, for a put, ml_flush have returned. The
 *               signal of ml_put_signal is added after the bytes of the same call and of all
 *               earlier puts of this rank to that target are in its memory.
 *   Visibility  The target's program sees what was put once it knows, by a signal (ml_wait_signal)
 *               or by any message or collective call after the writer's ml_flush, that the put is
 *               complete.
 *   Races       Bytes that one operation writes while another one, or the program itself, reads or
 *               writes them are undefined, except that atomic operations and signals on one number
 *               never disturb each other. Use no other means to change such a number while others
 *               may change it.
 *   Arguments   Checked before anything is sent: a range that is not all within the target's part
 *               (whose size each rank knows), a rank that does not exist, or a number that is not
 *               8-byte aligned is ML_ERR_ARGUMENT and harms nothing. An operation of 0 bytes at any
 *               offset up to the part's size does nothing, and succeeds.
 *   Errors      When a rank of the window dies, or leaves the job without ml_window_free, the
 *               window is broken: all calls under way on it end with ML_ERR_PEER, as all later ones
 *               do once the library has noticed it. ml_flush and ml_wait_signal notice it; until
 *               then puts and gets in memory that is shared may still succeed. Other windows and
 *               groups are not touched.
 *   Threads     Any number of threads may use a window at the same time. Only ml_window_create and
 *               ml_window_free are calls for one thread: the first belongs to its group's thread,
 *               and no other call on the window may be under way during the second.
 *
 * Ranks of one host copy straight to and from the other's memory. Over RDMA the devices put and get
 * by themselves, without copies if the caller's memory is of ml_alloc too. Otherwise the target's
 * library carries out the operations in a thread of its own, which a window has: it blocks all
 * signals, sleeps while there is nothing to do, and ends with the window. All atomic operations and
 * signals of a window are carried out by processors, or all by devices: if RDMA connects all of its
 * ranks, over one device of each host and one rail. An atomic operation whose device or link
 * fails is ML_ERR_LINK; it was carried out once, or not at all.
 *
 * A part on a GPU is read and written by ranks of its host by CUDA IPC, where the driver lets them,
 * and by those of other hosts by RDMA devices that can register it. All else that is done to it is
 * carried out by the thread of its owner, whose copies go through host memory. An atomic operation
 * or a signal takes two copies there. They are atomic towards each other, not towards kernels, and
 * ml_wait_signal doesn't see what a kernel writes. Before others may read what a kernel has written
 * to a part, its owner waits for the kernel. If the driver fails its owner, the window is broken,
 * with ML_ERR_DEVICE.
 */
typedef struct ml_window ml_window;

/* Makes a window of `size` bytes of this rank at `memory`, which must be 8-byte aligned and all in
 * one block of ml_alloc, or in one allocation of a GPU; then it waits for the stream that
 * ml_next_stream has named, or for all work in the memory's context. Until the
 * window is freed, ml_free of it does nothing but set ml_error(), and memory of a GPU must not be
 * freed. With NULL, the library allocates the part, zeroed, and frees it with the window. Sizes may
 * differ, and may be 0. Collective over g; g may be freed before the window. */
ML_EXPORT int ml_window_create(ml_group *g, void *memory, size_t size, ml_window **out);

/* Frees the window once all of its ranks have called this: everything that they have put is
 * complete then, and nothing writes the memory any more. If the window is broken, it returns that
 * error, but the window is freed all the same. NULL is ignored. ml_finalize frees the windows that
 * are left, without waiting for other ranks. Calls on a freed window are ML_ERR_STATE. */
ML_EXPORT int ml_window_free(ml_window *w);

/* The part of rank `rank`, if this process can use it as memory of its own: its own part always,
 * and those of most ranks on the same host. NULL otherwise. *size (may be NULL) is the size of the
 * part in either case; 0 if there is no such rank. Valid until the window is freed. The part of
 * another rank on a GPU is never given. */
ML_EXPORT void *ml_window_memory(ml_window *w, int rank, size_t *size);

/* Put: writes the `size` bytes at `from` to `offset` of the part of rank `to`. `from` may be reused
 * when the call returns, but the bytes may be under way until ml_flush. Get: reads bytes of the
 * part of rank `from`, which are in `into` when the call returns. */
ML_EXPORT int ml_put(ml_window *w, const void *from, size_t size, int to, size_t offset);
ML_EXPORT int ml_get(ml_window *w, void *into, size_t size, int from, size_t offset);

/* Names the stream in which the program works on the buffer of the next ml_put, ml_get,
 * ml_start_put, ml_start_get or ml_put_signal that the calling thread makes on w, as ml_next_stream
 * does for the calls on a group. Threads don't disturb each other. A thread has one name for all
 * its windows: another one takes its place. */
ML_EXPORT int ml_next_window_stream(ml_window *w, void *stream);

/* The same, but they may return at once (see "Calls that are started"). The buffer belongs to the
 * library until ml_test or ml_wait says that the request is done. *request may be NULL in success
 * too: it is done then. ml_window_free waits for what was started. */
ML_EXPORT int ml_start_put(ml_window *w, const void *from, size_t size, int to, size_t offset,
                           ml_request **request);
ML_EXPORT int ml_start_get(ml_window *w, void *into, size_t size, int from, size_t offset,
                           ml_request **request);

/* As ml_put, and then adds `add` to the uint64_t at `signal_offset` of the same part: the signal.
 * `size` may be 0. */
ML_EXPORT int ml_put_signal(ml_window *w, const void *from, size_t size, int to, size_t offset,
                            size_t signal_offset, uint64_t add);

/* Waits until the uint64_t at `signal_offset` of this rank's part is at least `at_least`: it spins
 * for a moment, then sleeps. After timeout_ms milliseconds it returns ML_ERR_TIMEOUT, which harms
 * nothing; 0: it only looks; negative: it waits without limit. The number is left as it is. */
ML_EXPORT int ml_wait_signal(ml_window *w, size_t signal_offset, uint64_t at_least, int timeout_ms);

/* Returns once everything that this rank has put to rank `to`, or to all ranks (ML_ALL), is in
 * their memory. */
ML_EXPORT int ml_flush(ml_window *w, int to);

/* Atomic operations on the uint64_t at `offset` of the part of rank `at`; *old (may be NULL) is its
 * value before. ml_fetch_add adds `add`; ml_compare_swap writes `wanted` if the number is
 * `expected`. Both wake ml_wait_signal. */
ML_EXPORT int ml_fetch_add(ml_window *w, int at, size_t offset, uint64_t add, uint64_t *old);
ML_EXPORT int ml_compare_swap(ml_window *w, int at, size_t offset, uint64_t expected,
                              uint64_t wanted, uint64_t *old);

#ifdef __cplusplus
}
#endif
#endif
