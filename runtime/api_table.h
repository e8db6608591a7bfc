/* SPDX-License-Identifier: MIT */
/*
 * api_table.h: what the shim (libmlaunch.so, libc alone) finds in the module (mlaunch-runtime.so, all
 * else): one exported function that gives the whole API as a table.
 */
#ifndef RUNTIME_API_TABLE_H
#define RUNTIME_API_TABLE_H

#include "common/mlaunch.h"

struct runtime_table {
    const char *build; /* shim and module of different builds refuse each other */
    int (*init)(ml_group **world);
    int (*init_eager)(void); /* before main(): the program's first init takes it over, uncounted */
    int (*finalize)(void);
    int (*rank)(const ml_group *g);
    int (*size)(const ml_group *g);
    const char *(*host)(const ml_group *g, int rank);
    const char *(*error)(void);
    __attribute__((noreturn)) void (*abort)(int status, const char *why);
    int (*split)(ml_group *g, int color, int key, ml_group **out);
    void (*group_free)(ml_group *g);
    int (*all_reduce)(ml_group *g, const void *in, void *out, size_t count, ml_type type, ml_op op);
    int (*reduce_scatter)(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                          ml_op op);
    int (*reduce)(ml_group *g, const void *in, void *out, size_t count, ml_type type, ml_op op,
                  int root);
    int (*all_gather)(ml_group *g, const void *in, void *out, size_t size);
    int (*all_to_all)(ml_group *g, const void *in, void *out, size_t size);
    int (*broadcast)(ml_group *g, void *buf, size_t size, int root);
    int (*gather)(ml_group *g, const void *in, void *out, size_t size, int root);
    int (*scatter)(ml_group *g, const void *in, void *out, size_t size, int root);
    int (*send)(ml_group *g, const void *buf, size_t size, int to);
    int (*recv)(ml_group *g, void *buf, size_t size, int from);
    int (*sendrecv)(ml_group *g, const void *out, size_t out_size, int to, void *in, size_t in_size,
                    int from);
    int (*barrier)(ml_group *g);
    int (*alloc)(size_t size, void **out);
    void (*free)(void *memory);
    int (*start_all_reduce)(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                            ml_op op, ml_request **request);
    int (*start_reduce_scatter)(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                                ml_op op, ml_request **request);
    int (*start_reduce)(ml_group *g, const void *in, void *out, size_t count, ml_type type,
                        ml_op op, int root, ml_request **request);
    int (*start_all_gather)(ml_group *g, const void *in, void *out, size_t size,
                            ml_request **request);
    int (*start_all_to_all)(ml_group *g, const void *in, void *out, size_t size,
                            ml_request **request);
    int (*start_broadcast)(ml_group *g, void *buf, size_t size, int root, ml_request **request);
    int (*start_gather)(ml_group *g, const void *in, void *out, size_t size, int root,
                        ml_request **request);
    int (*start_scatter)(ml_group *g, const void *in, void *out, size_t size, int root,
                         ml_request **request);
    int (*start_send)(ml_group *g, const void *buf, size_t size, int to, ml_request **request);
    int (*start_recv)(ml_group *g, void *buf, size_t size, int from, ml_request **request);
    int (*start_sendrecv)(ml_group *g, const void *out, size_t out_size, int to, void *in,
                          size_t in_size, int from, ml_request **request);
    int (*start_barrier)(ml_group *g, ml_request **request);
    int (*test)(ml_request *request, int *done);
    int (*wait)(ml_request *request);
};

/* The module's only export. */
#define RUNTIME_TABLE_SYMBOL "mlaunch_runtime_table"
typedef const struct runtime_table *runtime_table_fn(void);
ML_EXPORT runtime_table_fn mlaunch_runtime_table;

#endif
