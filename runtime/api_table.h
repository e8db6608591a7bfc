/* SPDX-License-Identifier: MIT */
/*
 * api_table.h: the table through which the shim (libmlaunch.so, on libc alone) calls the module
 * (mlaunch-runtime.so, everything else). The module exports one function that returns it.
 */
#ifndef RUNTIME_API_TABLE_H
#define RUNTIME_API_TABLE_H

#include "common/mlaunch.h"
#include "runtime/call/task.h"

/* Members are called as the functions of mlaunch.h, and do what its comments say. */
struct runtime_table {
    const char *build; /* a shim and a module of different builds refuse each other */
    int (*init)(ml_group **world);
    int (*init_eager)(void); /* before main(); the program's first ml_init takes the rank over */
    int (*finalize)(void);
    int (*rank)(const ml_group *g);
    int (*size)(const ml_group *g);
    const char *(*host)(const ml_group *g, int rank);
    const char *(*error)(void);
    __attribute__((noreturn)) void (*abort)(int status, const char *why);
    int (*split)(ml_group *g, int color, int key, ml_group **out);
    int (*group_create)(ml_group *g, const int *ranks, int count, uint64_t tag, int timeout_ms,
                        ml_group **out);
    void (*group_free)(ml_group *g);
    int (*repair)(ml_group *world, ml_group **next, ml_change *change);
    int (*revoke)(ml_group *g, const char *why);
    int (*agree)(ml_group *g, uint64_t *value);
    int (*id)(const ml_group *g, int rank);
    int (*changed)(const ml_group *world);
    int (*keep)(ml_group *world, const char *name, const void *memory, size_t size,
                uint64_t version);
    int (*kept)(ml_group *world, const char *name, const int *ids, int count, uint64_t *version);
    int (*kept_size)(ml_group *world, const char *name, int id, size_t *size);
    int (*restore)(ml_group *world, const char *name, int id, void *memory, size_t size);
    int (*next_type)(ml_group *g, ml_type type);
    int (*next_place)(ml_group *g, const char *place);
    int (*next_stream)(ml_group *g, void *stream);
    int (*alloc)(size_t size, void **out);
    void (*free)(void *memory);
    int (*pool_create)(size_t size, size_t alignment, ml_pool **out);
    int (*pool_create_at)(void *memory, size_t size, size_t alignment, ml_pool **out);
    void (*pool_destroy)(ml_pool *pool);
    int (*pool_alloc)(ml_pool *pool, size_t size, void **out);
    int (*pool_free)(ml_pool *pool, void *block);
    void *(*pool_memory)(ml_pool *pool, size_t *size);
    int (*pool_left)(ml_pool *pool, size_t *left, size_t *longest);
    /* A call on a group, blocking or started. The module fills in the task's content, checks the
     * task, and copies it if it needs it for longer than this call; the task's name must stay valid
     * until the process ends. */
    int (*run)(ml_group *g, struct task *t);
    int (*start)(ml_group *g, struct task *t, ml_request **request);
    int (*test)(ml_request *request, int *done);
    int (*wait)(ml_request *request);
    int (*should_stop)(ml_group *g);
    int (*window_create)(ml_group *g, void *memory, size_t size, ml_window **out);
    int (*window_free)(ml_window *w);
    void *(*window_memory)(ml_window *w, int rank, size_t *size);
    int (*next_window_stream)(ml_window *w, void *stream);
    int (*put)(ml_window *w, const void *from, size_t size, int to, size_t offset);
    int (*get)(ml_window *w, void *into, size_t size, int from, size_t offset);
    int (*start_put)(ml_window *w, const void *from, size_t size, int to, size_t offset,
                     ml_request **request);
    int (*start_get)(ml_window *w, void *into, size_t size, int from, size_t offset,
                     ml_request **request);
    int (*put_signal)(ml_window *w, const void *from, size_t size, int to, size_t offset,
                      size_t signal_offset, uint64_t add);
    int (*wait_signal)(ml_window *w, size_t signal_offset, uint64_t at_least, int timeout_ms);
    int (*flush)(ml_window *w, int to);
    int (*fetch_add)(ml_window *w, int at, size_t offset, uint64_t add, uint64_t *old);
    int (*compare_swap)(ml_window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                        uint64_t *old);
};

/* The module's only export. */
#define RUNTIME_TABLE_SYMBOL "mlaunch_runtime_table"
typedef const struct runtime_table *runtime_table_fn(void);
ML_EXPORT runtime_table_fn mlaunch_runtime_table;

#endif
