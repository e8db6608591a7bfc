/* SPDX-License-Identifier: MIT */
/*
 * shim.c: the whole of libmlaunch.so.0, and of libmlaunch.a. Programs link it, and the launcher
 * preloads it into every rank. So it needs libc alone, exports only ml_*, and does little until the
 * first call: then it opens mlaunch-runtime.so, with RTLD_LOCAL so that none of its names meet the
 * program's.
 */
#include "common/mlaunch.h"
#include "common/status.h"
#include "runtime/api_table.h"

#include "build-id.h"
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libmlaunch.so"
#define MODULE  "mlaunch-runtime.so"

/* Set once, by shim_open(). Every call reads it without a lock. */
static const struct runtime_table *_Atomic runtime;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static char open_failure[PATH_MAX + 512]; /* written once, under open_lock */

/* Stores the path of the library that this code is in. If that is a program, linked with
 * libmlaunch.a: the path of the library that is preloaded into ranks, or else of the one that is
 * installed. False: unknown. */
static bool shim_find_library(char path[PATH_MAX])
{
    Dl_info self;
    const char *slash, *name;
    void *preloaded, *call = NULL;

    if (!dladdr((void *)&runtime, &self) || !self.dli_fname)
        return false;
    slash = strrchr(self.dli_fname, '/');
    name = slash ? slash + 1 : self.dli_fname;
    snprintf(path, PATH_MAX, "%s", self.dli_fname);
    if (strncmp(name, LIBRARY, strlen(LIBRARY)) == 0)
        return true;
    snprintf(path, PATH_MAX, "%s/" LIBRARY, LIBDIR);
    preloaded = dlopen(LIBRARY ".0", RTLD_NOW | RTLD_NOLOAD);
    if (preloaded)
        call = dlsym(preloaded, "ml_init");
    if (call && dladdr(call, &self))
        snprintf(path, PATH_MAX, "%s", self.dli_fname);
    if (preloaded)
        dlclose(preloaded);
    return true;
}

/* Opens the module, which lies beside the library (in the build tree, or a copy in a cache) or in
 * mlaunch/ below it (in an installation). NULL: the reason is in `text`. */
static void *shim_open_module(char *text, size_t size)
{
    static const char *const places[] = {"", "mlaunch/"};
    char library[PATH_MAX], path[PATH_MAX];
    const char *slash;
    int directory;

    if (!shim_find_library(library)) {
        snprintf(text, size,
                 "this program is linked with -static, which cannot use the library; link "
                 "libmlaunch.a without -static");
        return NULL;
    }
    slash = strrchr(library, '/');
    directory = slash ? (int)(slash - library) + 1 : 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s%s" MODULE, directory, library, places[i]);
        if (access(path, F_OK) == 0) {
            void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

            if (!module)
                snprintf(text, size, "cannot open the runtime: %s", dlerror());
            return module;
        }
    }
    snprintf(text, size, "cannot open the runtime: no " MODULE " in %.*s and %.*smlaunch/",
             directory, library, directory, library);
    return NULL;
}

/* Opens the module and returns its table. NULL: the reason is in `text`. */
static const struct runtime_table *shim_load(char *text, size_t size)
{
    const struct runtime_table *table;
    runtime_table_fn *get;
    void *module = shim_open_module(text, size);

    if (!module)
        return NULL;
    *(void **)&get = dlsym(module, RUNTIME_TABLE_SYMBOL);
    if (!get) {
        snprintf(text, size, "%s is not mlaunch's runtime: %s", MODULE, dlerror());
        return NULL;
    }
    table = get();
    if (strcmp(table->build, BUILD_ID) != 0) {
        snprintf(text, size, "libmlaunch.so is of build %s, %s beside it of build %s", BUILD_ID,
                 MODULE, table->build);
        return NULL;
    }
    return table;
}

static __attribute__((noinline)) const struct runtime_table *shim_open(void)
{
    const struct runtime_table *table;

    pthread_mutex_lock(&open_lock);
    table = atomic_load_explicit(&runtime, memory_order_relaxed);
    if (!table && !open_failure[0]) {
        table = shim_load(open_failure, sizeof(open_failure));
        atomic_store_explicit(&runtime, table, memory_order_release);
    }
    pthread_mutex_unlock(&open_lock);
    return table;
}

static inline const struct runtime_table *shim_runtime(void)
{
    const struct runtime_table *table = atomic_load_explicit(&runtime, memory_order_acquire);

    return __builtin_expect(table != NULL, 1) ? table : shim_open();
}

/* Sets the buffer of standard output, if that is the rank's own pipe: the C library would keep 4
 * KiB of lines until it writes them, and lose them when the process is killed. MLAUNCH_STDOUT is
 * "line:DEVICE:INODE" or "none:DEVICE:INODE". Children of the rank inherit it, but files and pipes
 * within a rank are others. stdbuf(1) has set a buffer already, which the user wants. */
static __attribute__((constructor)) void shim_set_buffer(void)
{
    const char *wanted = getenv("MLAUNCH_STDOUT");
    const char *pipe = wanted ? strchr(wanted, ':') : NULL;
    struct stat st;
    char own[64];

    if (!pipe || getenv("_STDBUF_O") || fstat(STDOUT_FILENO, &st))
        return;
    snprintf(own, sizeof(own), ":%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    if (strcmp(pipe, own) == 0)
        setvbuf(stdout, NULL, wanted[0] == 'n' ? _IONBF : _IOLBF, 0);
}

/* --eager: connects to the other ranks before main(), but only in the process that the agent itself
 * started, because its children inherit the variable, but have other pids. */
static __attribute__((constructor)) void shim_load_eagerly(void)
{
    const char *eager = getenv("MLAUNCH_EAGER");
    char pid[24];

    if (!eager)
        return;
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    if (strcmp(eager, pid) != 0)
        return;
    if (shim_runtime() && shim_runtime()->init_eager() == 0)
        return;
    fprintf(stderr, "mlaunch: --eager: %s\n", ml_error());
    _exit(STATUS_OURS);
}

const char *ml_error(void)
{
    const struct runtime_table *table = shim_runtime();

    return table ? table->error() : open_failure;
}

const char *ml_version(void)
{
    return PACKAGE_VERSION " (" BUILD_ID ")";
}

ML_NORETURN void ml_abort(int status, const char *why)
{
    const struct runtime_table *table = shim_runtime();

    if (table)
        table->abort(status, why);
    fprintf(stderr, "mlaunch: aborted: %s (and %s)\n", why ? why : "no reason given", open_failure);
    _exit((status & 0xff) ? status : 1);
}

const char *ml_host(const ml_group *g, int rank)
{
    const struct runtime_table *table = shim_runtime();

    return table ? table->host(g, rank) : NULL;
}

void ml_group_free(ml_group *g)
{
    const struct runtime_table *table = shim_runtime();

    if (table)
        table->group_free(g);
}

void ml_free(void *memory)
{
    const struct runtime_table *table = shim_runtime();

    if (table)
        table->free(memory);
}

void ml_pool_destroy(ml_pool *pool)
{
    const struct runtime_table *table = shim_runtime();

    if (table)
        table->pool_destroy(pool);
}

void *ml_pool_memory(ml_pool *pool, size_t *size)
{
    const struct runtime_table *table = shim_runtime();

    return table ? table->pool_memory(pool, size) : NULL;
}

void *ml_window_memory(ml_window *w, int rank, size_t *size)
{
    const struct runtime_table *table = shim_runtime();

    if (size)
        *size = 0;
    return table ? table->window_memory(w, rank, size) : NULL;
}

/* --- forwarded as they are ---------------------------------------------------------------------
 */

#define FORWARD(call, parameters, arguments)                                                       \
    int ml_##call parameters                                                                       \
    {                                                                                              \
        const struct runtime_table *table = shim_runtime();                                        \
                                                                                                   \
        return table ? table->call arguments : ML_ERR_SYSTEM;                                      \
    }

/* The same, but while the call waits it stays on the stack, where a report of a job that hangs
 * looks for the line of the program that has made it. */
#define FORWARD_ON_STACK(call, parameters, arguments)                                              \
    int ml_##call parameters                                                                       \
    {                                                                                              \
        const struct runtime_table *table = shim_runtime();                                        \
        int rc = table ? table->call arguments : ML_ERR_SYSTEM;                                    \
                                                                                                   \
        __asm__ volatile("" : "+r"(rc)); /* the call is not the last that is done */               \
        return rc;                                                                                 \
    }

FORWARD_ON_STACK(init, (ml_group * *world), (world))
FORWARD_ON_STACK(finalize, (void), ())
FORWARD(rank, (const ml_group *g), (g))
FORWARD(size, (const ml_group *g), (g))
FORWARD_ON_STACK(split, (ml_group * g, int color, int key, ml_group **out), (g, color, key, out))
FORWARD_ON_STACK(group_create,
                 (ml_group * g, const int *ranks, int count, uint64_t tag, int timeout_ms,
                  ml_group **out),
                 (g, ranks, count, tag, timeout_ms, out))
FORWARD_ON_STACK(repair, (ml_group * world, ml_group **next, ml_change *change),
                 (world, next, change))
FORWARD(revoke, (ml_group * g, const char *why), (g, why))
FORWARD(agree, (ml_group * g, uint64_t *value), (g, value))
FORWARD(id, (const ml_group *g, int rank), (g, rank))
FORWARD(changed, (const ml_group *world), (world))
FORWARD(keep,
        (ml_group * world, const char *name, const void *memory, size_t size, uint64_t version),
        (world, name, memory, size, version))
FORWARD_ON_STACK(kept,
                 (ml_group * world, const char *name, const int *ids, int count, uint64_t *version),
                 (world, name, ids, count, version))
FORWARD(kept_size, (ml_group * world, const char *name, int id, size_t *size),
        (world, name, id, size))
FORWARD(restore, (ml_group * world, const char *name, int id, void *memory, size_t size),
        (world, name, id, memory, size))
FORWARD(next_type, (ml_group * g, ml_type type), (g, type))
FORWARD(next_place, (ml_group * g, const char *place), (g, place))
FORWARD(next_stream, (ml_group * g, void *stream), (g, stream))
FORWARD(next_window_stream, (ml_window * w, void *stream), (w, stream))
FORWARD(alloc, (size_t size, void **out), (size, out))
FORWARD(pool_create, (size_t size, size_t alignment, ml_pool **out), (size, alignment, out))
FORWARD(pool_create_at, (void *memory, size_t size, size_t alignment, ml_pool **out),
        (memory, size, alignment, out))
FORWARD(pool_alloc, (ml_pool * pool, size_t size, void **out), (pool, size, out))
FORWARD(pool_free, (ml_pool * pool, void *block), (pool, block))
FORWARD(pool_left, (ml_pool * pool, size_t *left, size_t *longest), (pool, left, longest))
FORWARD(test, (ml_request * request, int *done), (request, done))
FORWARD_ON_STACK(wait, (ml_request * request), (request))
FORWARD_ON_STACK(should_stop, (ml_group * g), (g))
FORWARD_ON_STACK(window_create, (ml_group * g, void *memory, size_t size, ml_window **out),
                 (g, memory, size, out))
FORWARD_ON_STACK(window_free, (ml_window * w), (w))
FORWARD(put, (ml_window * w, const void *from, size_t size, int to, size_t offset),
        (w, from, size, to, offset))
FORWARD(get, (ml_window * w, void *into, size_t size, int from, size_t offset),
        (w, into, size, from, offset))
FORWARD(start_put,
        (ml_window * w, const void *from, size_t size, int to, size_t offset, ml_request **request),
        (w, from, size, to, offset, request))
FORWARD(start_get,
        (ml_window * w, void *into, size_t size, int from, size_t offset, ml_request **request),
        (w, into, size, from, offset, request))
FORWARD(put_signal,
        (ml_window * w, const void *from, size_t size, int to, size_t offset, size_t signal_offset,
         uint64_t add),
        (w, from, size, to, offset, signal_offset, add))
FORWARD_ON_STACK(wait_signal,
                 (ml_window * w, size_t signal_offset, uint64_t at_least, int timeout_ms),
                 (w, signal_offset, at_least, timeout_ms))
FORWARD(flush, (ml_window * w, int to), (w, to))
FORWARD(fetch_add, (ml_window * w, int at, size_t offset, uint64_t add, uint64_t *old),
        (w, at, offset, add, old))
FORWARD(compare_swap,
        (ml_window * w, int at, size_t offset, uint64_t expected, uint64_t wanted, uint64_t *old),
        (w, at, offset, expected, wanted, old))

/* --- calls on a group --------------------------------------------------------------------------
 * A task holds the arguments of both forms of a call: the blocking one and the one that is started.
 */

static inline struct task task_reducing(enum call_kind kind, const void *in, void *out,
                                        size_t count, ml_type type, ml_op op, int root)
{
    return (struct task){.kind = kind,
                         .name = call_names[kind],
                         .in = in,
                         .out = out,
                         .count = count,
                         .type = type,
                         .op = op,
                         .root = root};
}

/* The module refuses this one, as it does an operator without a function. */
static const ml_operator no_operator;

static inline struct task task_operating(enum call_kind kind, const void *in, void *out,
                                         size_t count, const ml_operator *with, int root)
{
    return (struct task){.kind = kind,
                         .name = call_names[kind],
                         .in = in,
                         .out = out,
                         .count = count,
                         .with = with ? with : &no_operator,
                         .root = root};
}

static inline struct task task_moving(enum call_kind kind, const void *in, void *out, size_t size,
                                      int root)
{
    return (struct task){
        .kind = kind, .name = call_names[kind], .in = in, .out = out, .count = size, .root = root};
}

static inline struct task task_sharing(enum call_kind kind, const void *in, void *out,
                                       const struct task_shares *shares)
{
    return (struct task){
        .kind = kind, .name = call_names[kind], .in = in, .out = out, .root = -1, .shares = shares};
}

static inline struct task task_message(const char *name, const void *out, size_t out_size, int to,
                                       void *in, size_t in_size, int from)
{
    return (struct task){.kind = CALL_SEND,
                         .name = name,
                         .in = out,
                         .out = in,
                         .count = out_size,
                         .root = -1,
                         .to = to,
                         .from = from,
                         .out_size = in_size};
}

static inline struct task task_tagged(enum task_tagged tagged, const char *name, void *buf,
                                      size_t size, int from, int tag, ml_status *status, int *found)
{
    return (struct task){.kind = CALL_SEND,
                         .name = name,
                         .out = buf,
                         .root = -1,
                         .to = ML_NOBODY,
                         .from = from,
                         .out_size = size,
                         .tagged = tagged,
                         .tag = tag,
                         .status = status,
                         .found = found};
}

static inline struct task task_send_tag(const void *buf, size_t size, int to, int tag)
{
    struct task t = task_message("send_tag", buf, size, to, NULL, 0, ML_NOBODY);

    t.tagged = TAGGED_MESSAGE;
    t.tag = tag;
    return t;
}

static int shim_run(ml_group *g, struct task *t)
{
    const struct runtime_table *table = shim_runtime();

    return table ? table->run(g, t) : ML_ERR_SYSTEM;
}

/* In error there is no request, and ml_wait takes NULL for a request that is done. */
static int shim_start(ml_group *g, struct task *t, ml_request **request)
{
    const struct runtime_table *table = shim_runtime();

    if (table)
        return table->start(g, t, request);
    if (request)
        *request = NULL;
    return ML_ERR_SYSTEM;
}

/* Defines ml_CALL and ml_start_CALL with the given parameters; `made` makes the task from them. */
#define CALL(call, made, ...)                                                                      \
    int ml_##call(__VA_ARGS__)                                                                     \
    {                                                                                              \
        struct task t = made;                                                                      \
                                                                                                   \
        return shim_run(g, &t);                                                                    \
    }                                                                                              \
    int ml_start_##call(__VA_ARGS__, ml_request **request)                                         \
    {                                                                                              \
        struct task t = made;                                                                      \
                                                                                                   \
        return shim_start(g, &t, request);                                                         \
    }

CALL(all_reduce, task_reducing(CALL_ALL_REDUCE, in, out, count, type, op, -1), ml_group *g,
     const void *in, void *out, size_t count, ml_type type, ml_op op)
CALL(reduce_scatter, task_reducing(CALL_REDUCE_SCATTER, in, out, count, type, op, -1), ml_group *g,
     const void *in, void *out, size_t count, ml_type type, ml_op op)
CALL(reduce, task_reducing(CALL_REDUCE, in, out, count, type, op, root), ml_group *g,
     const void *in, void *out, size_t count, ml_type type, ml_op op, int root)
CALL(scan, task_reducing(CALL_SCAN, in, out, count, type, op, -1), ml_group *g, const void *in,
     void *out, size_t count, ml_type type, ml_op op)
CALL(exclusive_scan, task_reducing(CALL_EXCLUSIVE_SCAN, in, out, count, type, op, -1), ml_group *g,
     const void *in, void *out, size_t count, ml_type type, ml_op op)
CALL(all_reduce_with, task_operating(CALL_ALL_REDUCE, in, out, count, with, -1), ml_group *g,
     const void *in, void *out, size_t count, const ml_operator *with)
CALL(reduce_scatter_with, task_operating(CALL_REDUCE_SCATTER, in, out, count, with, -1),
     ml_group *g, const void *in, void *out, size_t count, const ml_operator *with)
CALL(reduce_with, task_operating(CALL_REDUCE, in, out, count, with, root), ml_group *g,
     const void *in, void *out, size_t count, const ml_operator *with, int root)
CALL(scan_with, task_operating(CALL_SCAN, in, out, count, with, -1), ml_group *g, const void *in,
     void *out, size_t count, const ml_operator *with)
CALL(exclusive_scan_with, task_operating(CALL_EXCLUSIVE_SCAN, in, out, count, with, -1),
     ml_group *g, const void *in, void *out, size_t count, const ml_operator *with)
CALL(all_gather, task_moving(CALL_ALL_GATHER, in, out, size, -1), ml_group *g, const void *in,
     void *out, size_t size)
CALL(all_to_all, task_moving(CALL_ALL_TO_ALL, in, out, size, -1), ml_group *g, const void *in,
     void *out, size_t size)
#define SHARES(...)                                                                                \
    &(struct task_shares)                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
CALL(all_gather_v, task_sharing(CALL_ALL_GATHER_V, in, out, SHARES(NULL, NULL, sizes, offsets)),
     ml_group *g, const void *in, void *out, const size_t *sizes, const size_t *offsets)
CALL(all_to_all_v,
     task_sharing(CALL_ALL_TO_ALL_V, in, out, SHARES(in_sizes, in_offsets, out_sizes, out_offsets)),
     ml_group *g, const void *in, const size_t *in_sizes, const size_t *in_offsets, void *out,
     const size_t *out_sizes, const size_t *out_offsets)
CALL(broadcast, task_moving(CALL_BROADCAST, NULL, buf, size, root), ml_group *g, void *buf,
     size_t size, int root)
CALL(gather, task_moving(CALL_GATHER, in, out, size, root), ml_group *g, const void *in, void *out,
     size_t size, int root)
CALL(scatter, task_moving(CALL_SCATTER, in, out, size, root), ml_group *g, const void *in,
     void *out, size_t size, int root)
CALL(send, task_message("send", buf, size, to, NULL, 0, ML_NOBODY), ml_group *g, const void *buf,
     size_t size, int to)
CALL(recv, task_message("recv", NULL, 0, ML_NOBODY, buf, size, from), ml_group *g, void *buf,
     size_t size, int from)
CALL(sendrecv, task_message("sendrecv", out, out_size, to, in, in_size, from), ml_group *g,
     const void *out, size_t out_size, int to, void *in, size_t in_size, int from)
CALL(send_tag, task_send_tag(buf, size, to, tag), ml_group *g, const void *buf, size_t size, int to,
     int tag)
CALL(recv_tag, task_tagged(TAGGED_MESSAGE, "recv_tag", buf, size, from, tag, status, NULL),
     ml_group *g, void *buf, size_t size, int from, int tag, ml_status *status)
CALL(barrier, task_moving(CALL_BARRIER, NULL, NULL, 0, -1), ml_group *g)

int ml_probe(ml_group *g, int from, int tag, ml_status *status)
{
    struct task t = task_tagged(TAGGED_PROBE, "probe", NULL, 0, from, tag, status, NULL);

    return shim_run(g, &t);
}

int ml_try_probe(ml_group *g, int from, int tag, int *found, ml_status *status)
{
    struct task t = task_tagged(TAGGED_TRY, "try_probe", NULL, 0, from, tag, status, found);

    return shim_run(g, &t);
}
