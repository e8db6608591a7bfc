/* SPDX-License-Identifier: MIT */
/*
 * mlaunch.h: what a program sees of the job it is a rank of.
 *
 * Every call returns 0 (or the value asked for) or a negative ML_ERR_*; ml_error() then gives the
 * calling thread's last failure as a sentence with rank, host and cause. A process that was not
 * started by mlaunch is a group of one rank, and every call works.
 *
 * Threads: one thread at a time may use a group; different groups may be used at the same time.
 * (ml_test and ml_wait, below, may be called at any time.)
 * Fork: a child of the process that holds the rank gets ML_ERR_STATE from every call but ml_alloc, ml_free
 * and those that only ask.
 *
 * Buffers belong to the caller, who may free or reuse them as soon as the call has returned. `count`
 * is in elements, `size` in bytes; both may be 0 and beyond 4 GiB. Buffers need no alignment beyond
 * that of the element type. `in` may equal `out` in every call (it is read from the start); all_gather
 * and gather also take in == out + rank * size; any other overlap is ML_ERR_ARGUMENT. Buffers that a
 * rank's role does not use may be NULL.
 */
#ifndef MLAUNCH_H
#define MLAUNCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define ML_NORETURN [[noreturn]]
#else
#define ML_NORETURN _Noreturn
#endif

#if defined(__GNUC__)
#define ML_EXPORT __attribute__((visibility("default")))
#else
#define ML_EXPORT
#endif

/* Element types. ML_BOOL is one byte, 0 or not 0; ML_COMPLEX64 is two float32 (real, imaginary).
 * float16 and bfloat16 are computed in float32 and rounded to nearest, ties to even, after each
 * addition of one rank's share. */
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

/* Reductions. Integer sums and products wrap. ML_SUM on ML_BOOL is OR, ML_PROD is AND. ML_MIN and
 * ML_MAX: if either operand is NaN the result is a NaN; not for ML_COMPLEX64. ML_AND, ML_OR, ML_XOR:
 * integers (bitwise) and ML_BOOL (logical). Any other pair is ML_ERR_ARGUMENT. */
typedef enum { ML_SUM, ML_PROD, ML_MIN, ML_MAX, ML_AND, ML_OR, ML_XOR } ml_op;

#define ML_NOBODY (-1) /* as to or from: nothing is sent or received */

enum {
    ML_ERR_ARGUMENT = -1, /* this call's arguments make no sense; the group is unharmed */
    ML_ERR_STATE = -2,    /* not initialised, a forked child, the rank is held by another process */
    ML_ERR_MEMORY = -3,   /* out of memory */
    ML_ERR_MISMATCH = -4, /* the ranks' calls don't fit each other; the group is broken */
    ML_ERR_PEER = -5,     /* a peer died or left; the group is broken */
    ML_ERR_DEVICE = -6,   /* an RDMA device failed */
    ML_ERR_LINK = -7,     /* a network link failed */
    ML_ERR_TIMEOUT = -8,  /* ranks did not meet within --init-timeout */
    ML_ERR_REFUSED = -9,  /* a peer of another build, or that can't prove to be of this job */
    ML_ERR_SYSTEM = -10   /* the operating system refused something */
};

/* A set of ranks that make calls together. Opaque. */
typedef struct ml_group ml_group;

/* Joins the job: claims this process's rank, meets all other ranks and connects to them. *world is
 * the group of all ranks; it belongs to the library. Calling again returns the same world and counts:
 * as many ml_finalize calls are needed. After the last one, or once the process that held the rank
 * has ended, the rank can be claimed again; all ranks then meet anew.
 * Errors: ML_ERR_STATE (another process holds the rank), ML_ERR_TIMEOUT (a rank did not come within
 * --init-timeout seconds; the sentence names it), ML_ERR_PEER, ML_ERR_REFUSED, ML_ERR_SYSTEM. */
ML_EXPORT int ml_init(ml_group **world);

/* Leaves the job at the last of as many calls as there were of ml_init. Not a barrier: data already
 * sent is delivered; a peer that still needs this rank gets ML_ERR_PEER. All groups are freed. */
ML_EXPORT int ml_finalize(void);

/* This process's rank in g, from 0; the number of ranks of g. ML_ERR_ARGUMENT if g is NULL. */
ML_EXPORT int ml_rank(const ml_group *g);
ML_EXPORT int ml_size(const ml_group *g);

/* The name, as the hostfile gives it, of the host that rank `rank` of g runs on. Owned by the
 * library, valid until g is freed; NULL if there is no such rank. */
ML_EXPORT const char *ml_host(const ml_group *g, int rank);

/* The calling thread's last failure, in words; "" if there was none. Valid until its next call. */
ML_EXPORT const char *ml_error(void);

/* Version and build of the library, for example "0.1.0 (3f9a…)". */
ML_EXPORT const char *ml_version(void);

/* Ends the whole job: this process exits with `status` (1 if it is 0), the launcher names this rank
 * and `why` (may be NULL), and stops all others. Never returns. */
ML_EXPORT ML_NORETURN void ml_abort(int status, const char *why);

/* Splits g: ranks that give the same color >= 0 form a new group, ordered by key, then by rank in g.
 * color < 0: *out = NULL. Collective over g. The caller frees *out with ml_group_free. */
ML_EXPORT int ml_split(ml_group *g, int color, int key, ml_group **out);

/* Frees a group made by ml_split; not collective. NULL and the world are ignored. */
ML_EXPORT void ml_group_free(ml_group *g);

/* Reductions. The result is deterministic: same type, op, count, placement, backend and MLAUNCH_ALGO
 * give the same bits on every rank and in every run.
 *   all_reduce      in, out: count elements; everyone gets the result
 *   reduce_scatter  in: size * count elements, out: count elements; rank r keeps block r
 *   reduce          as all_reduce, but only root's out is written */
ML_EXPORT int ml_all_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                            ml_op op);
ML_EXPORT int ml_reduce_scatter(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                                ml_op op);
ML_EXPORT int ml_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                        ml_op op, int root);

/* Movements; size is one rank's share in bytes.
 *   all_gather   in: size, out: ranks * size, in rank order
 *   all_to_all   in, out: ranks * size; block j of in goes to rank j's block `rank` of out
 *   broadcast    buf: size, root's is sent, all others' is written
 *   gather       in: size; root's out: ranks * size
 *   scatter      root's in: ranks * size; out: size */
ML_EXPORT int ml_all_gather(ml_group *g, const void *in, void *out, size_t size);
ML_EXPORT int ml_all_to_all(ml_group *g, const void *in, void *out, size_t size);
ML_EXPORT int ml_broadcast(ml_group *g, void *buf, size_t size, int root);
ML_EXPORT int ml_gather(ml_group *g, const void *in, void *out, size_t size, int root);
ML_EXPORT int ml_scatter(ml_group *g, const void *in, void *out, size_t size, int root);

/* Point to point. There are no tags: the calls between two ranks match in order, and sizes must be
 * equal (ML_ERR_MISMATCH names both otherwise). A rank may send to itself. ML_NOBODY as to or from:
 * nothing happens. ml_send may return before the receiver has come, or may not. ml_sendrecv does both
 * at once and can't deadlock. */
ML_EXPORT int ml_send(ml_group *g, const void *buf, size_t size, int to);
ML_EXPORT int ml_recv(ml_group *g, void *buf, size_t size, int from);
ML_EXPORT int ml_sendrecv(ml_group *g, const void *out, size_t out_size, int to, void *in,
                          size_t in_size, int from);

/* Returns once every rank of g has called it. */
ML_EXPORT int ml_barrier(ml_group *g);

/*
 * Calls that are started: ml_start_X makes the call ml_X with the same arguments, but returns at once;
 * *request stands for it. A thread of the library carries it out while the program computes, whether
 * the program makes calls meanwhile or not. Another rank may make the same call in the blocking form.
 *
 *   Buffers     in must not be written, out neither read nor written, until the request is done.
 *   Requests    belong to the caller and are freed by ml_wait: exactly one for each. They may be waited
 *               for in any order, by any thread, also after their group was freed.
 *   Order       A group's calls, started or not, are made in the program's order, and all ranks must
 *               make them in the same order. Collective calls are carried out one after the other, and
 *               after the messages before them; a blocking call, ml_split too, comes after what was
 *               started before it. But messages (send, recv, sendrecv) that follow each other are in
 *               flight together: only those to the same rank, and those from the same rank, go in
 *               order. So two ranks may both start a receive before they send, and none waits for
 *               another one's peer.
 *   Errors      Arguments are checked at once; then *request is NULL, which ml_wait and ml_test take
 *               for one that is done. What fails later is told by ml_test and ml_wait, in the thread
 *               that calls them. After ML_ERR_PEER or ML_ERR_MISMATCH the group is broken, and all that
 *               was started on it ends with that error. No request is done, in error either, while
 *               its buffers can still be written.
 *   Threads     One thread at a time may start calls on a group or use it otherwise; ml_test and
 *               ml_wait may be called by others at the same time, but one thread a request.
 *   The end     ml_group_free and ml_finalize wait for what was started as for a blocking call, and no
 *               thread may be in ml_wait for it then. The requests are still to be waited for, which
 *               then costs nothing. ml_abort waits for nothing. A forked child gets ML_ERR_STATE.
 *
 * The thread is made by a group's first start, blocks all signals, and ends with the group; while
 * nothing is under way it sleeps. Programs that start nothing have none.
 */
typedef struct ml_request ml_request;

ML_EXPORT int ml_start_all_reduce(ml_group *g, const void *in, void *out, size_t count,
                                  ml_type type, ml_op op, ml_request **request);
ML_EXPORT int ml_start_reduce_scatter(ml_group *g, const void *in, void *out, size_t count,
                                      ml_type type, ml_op op, ml_request **request);
ML_EXPORT int ml_start_reduce(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                              ml_op op, int root, ml_request **request);
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
ML_EXPORT int ml_start_send(ml_group *g, const void *buf, size_t size, int to,
                            ml_request **request);
ML_EXPORT int ml_start_recv(ml_group *g, void *buf, size_t size, int from, ml_request **request);
ML_EXPORT int ml_start_sendrecv(ml_group *g, const void *out, size_t out_size, int to, void *in,
                                size_t in_size, int from, ml_request **request);
ML_EXPORT int ml_start_barrier(ml_group *g, ml_request **request);

/* Whether the request is done: *done is 1 or 0; never waits. Once it is done, returns what the call
 * has: 0 or its error. It frees nothing: ml_wait is still to be called. */
ML_EXPORT int ml_test(ml_request *request, int *done);

/* Waits until the request is done, frees it, and returns what the call has: 0 or its error. */
ML_EXPORT int ml_wait(ml_request *request);

/* Memory for any call: *out is `size` bytes of zeros, page-aligned, at any time, before ml_init too; it
 * is the program's until ml_free, whatever becomes of groups and of the job. RDMA devices register it
 * when they first use it and keep it so: long messages then go from it, and into it where they are not
 * reduced, without a copy. Ranks of one host read it in each other's memory in a long ml_all_reduce, without a
 * copy for others, if all of them have in and out there. Everywhere else it is memory like any other. A forked
 * child may read it, until its parent frees it. Any thread may call both. ml_free ignores NULL; no call
 * may be using the memory. ML_ERR_MEMORY, ML_ERR_ARGUMENT (out is NULL). */
ML_EXPORT int ml_alloc(size_t size, void **out);
ML_EXPORT void ml_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
