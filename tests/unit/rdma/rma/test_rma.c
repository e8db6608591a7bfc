/* SPDX-License-Identifier: MIT */
/*
 * test_rma.c: puts, gets and atomic operations by the device, between two ranks in this process:
 * every size, both kinds of memory, several rails, rails that fail in the middle, windows that
 * break. The verbs are mocks (mock_verbs.h), which check keys and ranges, so that failures come
 * when the test wants them.
 */
#include "rdma/rma/rma.h"

#include "rdma/verbs/rail_end.h"
#include "rdma/verbs/region.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ETHERNET = IBV_LINK_LAYER_ETHERNET, PART = 9 * 1024 * 1024, MOST = 8 * 1024 * 1024 };
#define PORT(gid)                                                                                  \
    {                                                                                              \
        IBV_PORT_ACTIVE, ETHERNET, IBV_MTU_4096, gid                                               \
    }
static const struct mock_device devices[] = {
    {"m", {PORT("::ffff:10.1.0.1"), PORT("::ffff:10.2.0.1")}, MOCK_ALL},
    {"n", {PORT("::ffff:10.3.0.1"), PORT("::ffff:10.4.0.1")}, MOCK_ALL},
    {"x", {PORT("::ffff:10.1.0.2"), PORT("::ffff:10.2.0.2")}, MOCK_ALL},
    {"y", {PORT("::ffff:10.3.0.2"), PORT("::ffff:10.4.0.2")}, MOCK_ALL},
    {"uc", {PORT("::ffff:10.1.0.3"), PORT("::ffff:10.2.0.3")}, MOCK_NO_RC},
    {"plain", {PORT("::ffff:10.1.0.4"), PORT("::ffff:10.2.0.4")}, MOCK_NO_ATOMICS},
    {NULL, {{0}}, MOCK_ALL},
};
static const char *const here[] = {"m:1", "n:1"}, *const there[] = {"x:1", "y:1"};
static const char *const without_rc[] = {"uc:1"}, *const without_atomics[] = {"plain:1"};

/* Rank 0 is what the tests use; rank 1 owns the part. */
static unsigned char *part, *mine; /* `mine` is memory of ml_alloc */
static struct rma *rma[2];
static const char *near;           /* rank 0's GPUs */
static struct region_gpu *part_by; /* the part is a GPU's */

/* What happens when a call has waited for a while, and how the window is broken then. */
static void (*_Atomic meanwhile)(void);
static _Atomic int broken;

static int check(void *arg, struct fault *why)
{
    void (*once)(void) = atomic_exchange(&meanwhile, NULL);

    (void)arg;
    if (once)
        once();
    return broken ? fault_set(why, broken, "rank 1 on host b has died") : 0;
}

static struct rma *rma_of(int rank, int qp)
{
    struct rma_config c = {.peers = 2,
                           .rank = rank,
                           .memory = rank ? part : NULL,
                           .size = rank ? PART : 0,
                           .gpu = rank ? part_by : NULL,
                           .choice = {.gid_index = -1, .qp = qp, .near = rank ? "x,y" : near},
                           .check = check};
    struct fault why;
    struct rma *r;

    if (rma_open(&r, &c, &why))
        fail_msg("%s", why.text);
    return r;
}

static bool add(int rank, const char *const *names, int count, struct fault *why)
{
    struct rma_peer_config c = {.rank = 1 - rank,
                                .name = rank ? "rank 0 on host a" : "rank 1 on host b",
                                .devices = names,
                                .device_count = count};

    why->code = 0;
    return rma_add(rma[rank], 1 - rank, &c, why);
}

static int connect_to(int rank, struct fault *why)
{
    size_t size;
    const void *ends = rma_publish(rma[1 - rank], rank, &size);

    return rma_connect(rma[rank], 1 - rank, ends, size, why);
}

static void open_over(const char *const *own, const char *const *others, int rails)
{
    struct fault why;

    for (int i = 0; i < 2; i++) {
        rma[i] = rma_of(i, RDMA_PAIRS_OFFERED);
        if (!add(i, i ? others : own, rails, &why))
            fail_msg("%s", why.text);
    }
    for (int i = 0; i < 2; i++)
        if (connect_to(i, &why))
            fail_msg("%s", why.text);
    assert_true(rma_has(rma[0], 1) && rma_has(rma[1], 0));
}

static void open_both(int rails)
{
    open_over(here, there, rails);
}

static int setup(void **state)
{
    (void)state;
    mock_verbs_begin(devices);
    rma[0] = rma[1] = NULL;
    meanwhile = NULL;
    broken = 0;
    near = NULL;
    part_by = NULL;
    part = calloc(1, PART);
    mine = calloc(1, MOST);
    assert_true(part && mine);
    region_add(mine, MOST);
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < 2; i++)
        rma_close(rma[i]);
    region_drop(mine);
    free(mine);
    free(part);
    return mock_verbs_end(state);
}

static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)((i * 131 + seed * 7 + (i >> 8)) % 251 + 1);
}

static void fill(unsigned char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        at[i] = pattern(i, seed);
}

static void assert_pattern(const unsigned char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        if (at[i] != pattern(i, seed))
            fail_msg("byte %zu of %zu is %d", i, size, at[i]);
}

static void put(const void *from, size_t size, uint64_t offset)
{
    struct fault why;

    if (rma_put(rma[0], 1, from, size, offset, &why))
        fail_msg("%s", why.text);
}

static void flush(void)
{
    struct fault why;

    if (rma_flush(rma[0], 1, &why))
        fail_msg("%s", why.text);
}

static void get(void *into, size_t size, uint64_t offset)
{
    struct fault why;

    if (rma_get(rma[0], 1, into, size, offset, &why))
        fail_msg("%s", why.text);
}

/* --- what arrives ----------------------------------------------------------------------------- */

static void pass(unsigned char *local, size_t size, uint64_t offset, unsigned seed)
{
    fill(local, size, seed);
    put(local, size, offset);
    memset(local, 0, size < 64 ? size : 64); /* it is the caller's again */
    flush();
    assert_pattern(part + offset, size, seed);
    get(local, size, offset);
    assert_pattern(local, size, seed);
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0,     1,     2,      7,      8,       220,     221,
                                   4095,  4096,  4097,   32768,  32769,   65535,   65536,
                                   65537, 99991, 131072, 300001, 1048577, 4194303, MOST};
    unsigned char *other = malloc(MOST);

    (void)state;
    assert_non_null(other);
    for (int rails = 1; rails <= 2; rails++) {
        open_both(rails);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            uint64_t offset = i % 3 ? 12345 + i : PART - sizes[i];

            pass(mine, sizes[i], offset, (unsigned)i);
            pass(other, sizes[i], offset, (unsigned)i + 100);
        }
        for (int i = 0; i < 2; i++) {
            rma_close(rma[i]);
            rma[i] = NULL;
        }
    }
    free(other);
}

static void test_without_copies(void **state)
{
    int before;

    (void)state;
    open_both(1);
    put(mine, MOST, 0);
    /* Slices of at most 1 MiB; copies would be of 32 KiB. */
    assert_int_equal(mock_verbs_writes(), 8);
    get(mine, MOST, 0);
    assert_int_equal(mock_verbs_reads(), 8);
    before = mock_verbs_writes();
    put(part, 1024 * 1024, 1024 * 1024); /* this memory is not of ml_alloc */
    assert_int_equal(mock_verbs_writes() - before, 32);
}

/* --- memory of a GPU -------------------------------------------------------------------------- */

static bool reaches(const void *at, size_t size, enum region_way *way, struct fault *why)
{
    return rma_reaches(rma[0], 1, at, size, way, why);
}

/* The mock fails if the processor reads any of it. */
static void test_gpu(void **state)
{
    static const size_t sizes[] = {4097, 65537, 300001, 1048577 + 20, MOST};
    struct region_gpu by = {0};
    unsigned char *gpu = malloc(MOST);
    enum region_way way;
    struct fault why;

    (void)state;
    by.dmabuf = dup(STDERR_FILENO);
    assert_true(gpu && region_add_gpu(gpu, MOST, &by));
    open_both(2);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_true(reaches(gpu, sizes[i], &way, &why));
        assert_int_equal(way, REGION_DMABUF);
        pass(gpu, sizes[i], 77 + i, (unsigned)i);
    }
    assert_false(reaches(gpu, 4096, &way, &why));
    assert_int_equal(why.code, 0);
    region_drop(gpu);
    assert_false(reaches(gpu, MOST, &way, &why));
    assert_int_equal(why.code, 0);
    free(gpu);
}

/* The part of rank 1 is a GPU's, of which the peer reaches the part and nothing else. */
static void test_gpu_part(void **state)
{
    struct region_gpu by = {.dmabuf = STDERR_FILENO, .offset = 512};
    uint64_t offset = 0, old = 0;
    struct rma_change add = {.kind = RMA_ADD, .value = 1};
    struct fault why;

    (void)state;
    part_by = &by;
    open_both(2);
    assert_int_equal(mock_verbs_dmabuf(&offset), STDERR_FILENO);
    assert_int_equal(offset, 512);
    assert_int_equal(rma_part_way(rma[1], 0), REGION_DMABUF);
    assert_int_equal(rma_part_way(rma[0], 1), REGION_HOST);
    for (unsigned i = 0; i < 3; i++)
        pass(mine, 100000 * i + 5, 77 + i, i);
    assert_false(rma_own(rma[1], 1));
    assert_int_not_equal(rma_change(rma[0], 1, &add, 8, &old, &why), 0);
}

static void test_gpu_part_by_peermem(void **state)
{
    struct region_gpu by = {.dmabuf = -1, .refusal = "the driver has none"};

    (void)state;
    part_by = &by;
    open_both(1);
    assert_int_equal(rma_part_way(rma[1], 0), REGION_PEERMEM);
    pass(mine, 300001, 8, 3);
}

static void test_gpu_part_refused(void **state)
{
    struct region_gpu by = {.dmabuf = STDERR_FILENO};
    struct fault why;

    (void)state;
    part_by = &by;
    mock_verbs_refuse_dmabuf(EOPNOTSUPP);
    mock_verbs_refuse_remote(EFAULT);
    rma[1] = rma_of(1, RDMA_PAIRS_OFFERED);
    assert_false(add(1, there, 1, &why));
    assert_string_equal(why.text,
                        "9216 KiB of GPU memory can't be registered on x port 1: neither by a "
                        "dma-buf (the device: Operation not supported) nor by nvidia-peermem (Bad "
                        "address; is the kernel module nvidia_peermem loaded?)");
    assert_false(rma_has(rma[1], 0));
}

static void test_gpu_refused(void **state)
{
    struct region_gpu by = {.dmabuf = -1, .refusal = "the driver has none"};
    unsigned char *gpu = malloc(MOST);
    enum region_way way;
    struct fault why;

    (void)state;
    assert_true(gpu && region_add_gpu(gpu, MOST, &by));
    open_both(2);
    mock_verbs_refuse_memory(EFAULT);
    for (int i = 0; i < 2; i++) {
        assert_false(reaches(gpu, MOST, &way, &why));
        assert_string_equal(why.text,
                            "8192 KiB of GPU memory can't be registered on m port 1: neither by a "
                            "dma-buf (the driver has none) nor by nvidia-peermem (Bad address; is "
                            "the kernel module nvidia_peermem loaded?)");
    }
    region_drop(gpu);
    free(gpu);
}

/* --- many operations -------------------------------------------------------------------------- */

static void test_random(void **state)
{
    enum { SPAN = 300000, ROUNDS = 10000 };
    unsigned char *model = calloc(1, SPAN), *other = malloc(SPAN);
    uint32_t seed = 12345;

    (void)state;
    assert_true(model && other);
    open_both(2);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char *local = i % 2 ? mine : other;
        uint32_t offset = (seed = seed * 1664525 + 1013904223) % SPAN;
        uint32_t size = (seed = seed * 1664525 + 1013904223) >> 8;

        size %= i % 16 ? 600 : SPAN - offset;
        if (size > SPAN - offset)
            size = SPAN - offset;
        if (seed & 1) {
            fill(local, size, seed);
            put(local, size, offset);
            flush(); /* the next one may overlap it */
            memcpy(model + offset, local, size);
        } else {
            get(local, size, offset);
            assert_memory_equal(local, model + offset, size);
        }
    }
    assert_memory_equal(part, model, SPAN);
    free(model);
    free(other);
}

/* --- many at a time --------------------------------------------------------------------------- */

static void release(void)
{
    mock_verbs_release("m");
}

/* The device keeps everything for a while: more work than there are slots for it. */
static void test_slow(void **state)
{
    (void)state;
    open_both(1);
    for (int i = 0; i < 300; i++) {
        fill(mine, 1000, (unsigned)i);
        mock_verbs_hold("m");
        meanwhile = release;
        put(mine, 1000, (uint64_t)i * 1000);
    }
    meanwhile = release;
    flush();
    for (int i = 0; i < 300; i++)
        assert_pattern(part + (size_t)i * 1000, 1000, (unsigned)i);
    mock_verbs_hold("m");
    meanwhile = release; /* the mock fails if more than MOCK_READS are under way */
    get(mine, MOST, 0);
    assert_memory_equal(mine, part, MOST);
}

enum { THREADS = 8, THREAD_ROUNDS = 200, THREAD_SPAN = 100000 };

static void *thread_run(void *arg)
{
    size_t index = (size_t)(uintptr_t)arg;
    unsigned char *local = malloc(THREAD_SPAN), *back = malloc(THREAD_SPAN);
    struct fault why;
    uintptr_t bad = 0;

    for (unsigned i = 0; i < THREAD_ROUNDS && local && back; i++) {
        size_t size = i % 10 ? 1 + i * 17 : THREAD_SPAN;
        uint64_t offset = index * THREAD_SPAN;

        fill(local, size, i + (unsigned)index);
        bad += rma_put(rma[0], 1, local, size, offset, &why) != 0;
        bad += rma_flush(rma[0], 1, &why) != 0;
        bad += rma_get(rma[0], 1, back, size, offset, &why) != 0;
        bad += memcmp(local, back, size) != 0;
    }
    bad += !local || !back;
    free(local);
    free(back);
    return (void *)bad; /* NOLINT: a number */
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    open_both(2);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_run, (void *)i), 0); /* NOLINT */
    for (int i = 0; i < THREADS; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

/* --- those that are started ------------------------------------------------------------------- */

struct started {
    struct rma_op op;
    _Atomic bool is_done;
    struct fault why;
};

static void on_done(struct rma_op *w, const struct fault *why)
{
    struct started *s = (struct started *)w;

    if (why)
        s->why = *why;
    atomic_store(&s->is_done, true);
}

/* Returns what rma_start does. */
static int start(struct started *s, bool is_get, void *local, size_t size, uint64_t offset)
{
    int rc;

    *s = (struct started){.op = {.is_get = is_get,
                                 .peer = 1,
                                 .local = local,
                                 .size = size,
                                 .offset = offset,
                                 .on_done = on_done}};
    rc = rma_start(rma[0], &s->op, &s->why);
    if (rc)
        atomic_store(&s->is_done, true);
    return rc;
}

/* No call on the window is made meanwhile. */
static void await_helper(const struct started *s)
{
    while (!atomic_load(&s->is_done))
        sched_yield();
}

static void test_started(void **state)
{
    struct started get_all, put_all;
    unsigned char *other = malloc(MOST);

    (void)state;
    assert_non_null(other);
    open_both(2);
    fill(part, PART, 3);
    assert_int_equal(start(&get_all, true, mine, MOST, 5), 0); /* more reads than there may be */
    await_helper(&get_all);
    assert_int_equal(get_all.why.code, 0);
    assert_memory_equal(mine, part + 5, MOST);

    mock_verbs_hold("m");
    fill(mine, MOST, 4);
    assert_int_equal(start(&put_all, false, mine, MOST, 9), 0);
    assert_false(put_all.is_done); /* the caller continues meanwhile */
    meanwhile = release;
    rma_await(rma[0], &put_all.is_done);
    assert_int_equal(put_all.why.code, 0);
    flush();
    assert_pattern(part + 9, MOST, 4);

    assert_int_equal(start(&put_all, false, other, 4096, 0), 1); /* a copy was made */
    free(other);
}

/* More than the device takes at a time, in copies and without, and calls among them. */
static void test_started_many(void **state)
{
    enum { COUNT = 100, EACH = 40000 };
    static struct started all[COUNT];
    unsigned char *other = calloc(COUNT, EACH), *local = NULL;

    (void)state;
    assert_non_null(other);
    open_both(1);
    mock_verbs_hold("m");
    fill(mine, COUNT * EACH, 1);
    fill(other, COUNT * EACH, 1);
    for (size_t i = 0; i < COUNT; i++) {
        local = i % 2 ? mine : other;
        start(&all[i], false, local + i * EACH, EACH, i * EACH);
    }
    assert_false(all[COUNT - 1].is_done);
    meanwhile = release;
    flush(); /* waits for them too */
    for (size_t i = 0; i < COUNT; i++)
        assert_true(all[i].is_done && !all[i].why.code);
    assert_pattern(part, COUNT * EACH, 1);
    memset(mine, 0, COUNT * EACH);
    for (size_t i = 0; i < COUNT; i++)
        start(&all[i], true, mine + i * EACH, EACH, i * EACH);
    get(other, 10, 0);
    for (size_t i = COUNT; i-- > 0;)
        rma_await(rma[0], &all[i].is_done);
    assert_pattern(mine, COUNT * EACH, 1);
    free(other);
}

static void break_window(void)
{
    broken = ML_ERR_PEER;
}

static void test_started_broken(void **state)
{
    struct started under_way, queued;

    (void)state;
    open_both(1);
    mock_verbs_hold("m");
    start(&under_way, true, mine, MOST / 2, 0);
    start(&queued, false, mine + MOST / 2, MOST / 2, 0);
    meanwhile = break_window;
    await_helper(&under_way);
    await_helper(&queued);
    assert_int_equal(under_way.why.code, ML_ERR_PEER);
    assert_int_equal(queued.why.code, ML_ERR_PEER);
    assert_string_equal(queued.why.text, "rank 1 on host b has died");
    assert_int_equal(start(&queued, true, mine, 8, 0), ML_ERR_PEER);
}

static void test_started_closed(void **state)
{
    struct started s;

    (void)state;
    open_both(1);
    mock_verbs_hold("m");
    start(&s, true, mine, MOST, 0);
    rma_close(rma[0]);
    rma[0] = NULL;
    assert_true(s.is_done);
    assert_int_equal(s.why.code, ML_ERR_STATE);
    assert_string_equal(s.why.text, "the window was freed before this was done");
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint64_t change(int by, int at, uint64_t offset, const struct rma_change *c)
{
    struct fault why;
    uint64_t old;

    if (rma_change(rma[by], at, c, offset, &old, &why))
        fail_msg("%s", why.text);
    return old;
}

static uint64_t fetch_add(int by, int at, uint64_t offset, uint64_t value)
{
    const struct rma_change c = {.kind = RMA_ADD, .value = value};

    return change(by, at, offset, &c);
}

static uint64_t compare_swap(int by, int at, uint64_t offset, uint64_t expected, uint64_t wanted)
{
    const struct rma_change c = {.kind = RMA_SWAP, .value = wanted, .expected = expected};

    return change(by, at, offset, &c);
}

static void test_numbers(void **state)
{
    uint64_t *number = (uint64_t *)(void *)(part + 64);

    (void)state;
    open_both(1);
    assert_true(rma_own(rma[0], 0) && rma_own(rma[1], 1));
    *number = 5;
    assert_int_equal(fetch_add(0, 1, 64, 3), 5);
    assert_int_equal(fetch_add(1, 1, 64, 10), 8); /* the owner goes by its device too */
    assert_int_equal(compare_swap(0, 1, 64, 18, 100), 18);
    assert_int_equal(compare_swap(1, 1, 64, 18, 200), 100);
    assert_int_equal(fetch_add(0, 1, 64, UINT64_MAX), 100);
    assert_int_equal(*number, 99);
    mock_verbs_hold("m");
    meanwhile = release;
    assert_int_equal(fetch_add(0, 1, 64, 1), 99);
    assert_int_equal(*number, 100);
}

/* Two rails, or a device without atomic operations: processors do it. */
static void test_no_numbers(void **state)
{
    (void)state;
    open_both(2);
    assert_false(rma_own(rma[0], 0) || rma_own(rma[1], 1));
    rma_close(rma[0]);
    rma_close(rma[1]);
    open_over(here, without_atomics, 1);
    assert_true(rma_own(rma[0], 0));
    assert_false(rma_own(rma[1], 1));
    assert_false(rma_has(rma[1], 1));
    rma_remove(rma[0], 0); /* as the caller does then */
    assert_false(rma_has(rma[0], 0));
}

static void cut_m(void)
{
    mock_verbs_cut("m");
}

/* It may have been carried out or not, so it is not repeated. */
static void test_numbers_cut(void **state)
{
    const struct rma_change add = {.kind = RMA_ADD, .value = 3};
    const struct rma_change swap = {.kind = RMA_SWAP, .value = 3};
    struct fault why;
    uint64_t old = 7;

    (void)state;
    open_both(1);
    assert_true(rma_own(rma[0], 0) && rma_own(rma[1], 1));
    mock_verbs_hold("m");
    meanwhile = cut_m;
    assert_int_equal(rma_change(rma[0], 1, &add, 64, &old, &why), ML_ERR_LINK);
    assert_non_null(strstr(why.text, "towards rank 1 on host b"));
    mock_verbs_release("m");
    assert_int_equal(old, 7);
    assert_int_equal(part[64], 0);
    assert_int_equal(rma_change(rma[0], 1, &swap, 64, &old, &why), ML_ERR_LINK);
}

/* --- failures --------------------------------------------------------------------------------- */

static void cut_n(void)
{
    mock_verbs_cut("n");
}

static void assert_dropped(const char *device)
{
    struct fault why;
    int left;

    assert_true(rma_dropped(rma[0], &why, &left));
    assert_int_equal(left, 1);
    assert_int_equal(why.code, ML_ERR_LINK);
    assert_non_null(strstr(why.text, device));
    assert_non_null(strstr(why.text, "towards rank 1 on host b"));
    assert_false(rma_dropped(rma[0], &why, &left));
}

/* What was copied has left the caller's memory before the rail fails. Packets of puts may still be
 * under way then, so it takes 2 s until they go again. */
static void test_rail_cut(void **state)
{
    (void)state;
    open_both(2);
    mock_verbs_hold("m");
    for (int i = 0; i < 40; i++) {
        fill(mine, 1000, (unsigned)i);
        put(mine, 1000, (uint64_t)i * 1000);
    }
    meanwhile = cut_m;
    fill(mine, MOST, 1);
    put(mine, MOST, 50000);
    flush();
    for (int i = 0; i < 40; i++)
        assert_pattern(part + (size_t)i * 1000, 1000, (unsigned)i);
    assert_pattern(part + 50000, MOST, 1);
    assert_dropped("on m port 1");
    memset(mine, 0, MOST);
    get(mine, MOST, 50000);
    assert_pattern(mine, MOST, 1);
}

static void test_rail_cut_get(void **state)
{
    (void)state;
    open_both(2);
    fill(part, MOST, 5);
    mock_verbs_hold("n");
    meanwhile = cut_n;
    get(mine, MOST, 0);
    assert_pattern(mine, MOST, 5);
    assert_dropped("on n port 1");
}

/* Nothing goes over the rail that is farther from the GPU, until the nearer one fails. */
static void test_near_gpus(void **state)
{
    struct fault why;
    int left;

    (void)state;
    near = "m";
    open_both(2);
    fill(part, MOST, 5);
    mock_verbs_hold("n");
    meanwhile = cut_n;
    get(mine, MOST, 0);
    assert_pattern(mine, MOST, 5);
    assert_false(rma_dropped(rma[0], &why, &left));
    mock_verbs_release("n");
    mock_verbs_hold("m");
    meanwhile = cut_m;
    fill(part, MOST, 6);
    get(mine, MOST, 0);
    assert_pattern(mine, MOST, 6);
    assert_dropped("on m port 1");
}

/* Gets go again over the other rail, posted by the helper. */
static void test_started_cut(void **state)
{
    struct started s;

    (void)state;
    open_both(2);
    fill(part, MOST, 6);
    mock_verbs_hold("n");
    start(&s, true, mine, MOST, 0);
    meanwhile = cut_n;
    await_helper(&s);
    assert_int_equal(s.why.code, 0);
    assert_pattern(mine, MOST, 6);
    assert_dropped("on n port 1");
}

static void port_goes_down(void)
{
    mock_verbs_event("m", IBV_EVENT_PORT_ERR, 1);
}

static void test_port_down(void **state)
{
    struct fault why;
    int left;

    (void)state;
    open_both(2);
    mock_verbs_hold("m");
    meanwhile = port_goes_down;
    fill(part, MOST, 9);
    get(mine, MOST, 0);
    assert_pattern(mine, MOST, 9);
    assert_true(rma_dropped(rma[0], &why, &left));
    assert_string_equal(why.text, "m port 1 has gone down: look at its cable and its network "
                                  "device (ip link)");
}

static void test_last_rail_cut(void **state)
{
    struct fault why;

    (void)state;
    open_both(1);
    mock_verbs_hold("m");
    put(mine, 100, 0);
    meanwhile = cut_m;
    assert_int_equal(rma_flush(rma[0], 1, &why), ML_ERR_LINK);
    assert_non_null(strstr(why.text, "the link on m port 1"));
    assert_non_null(strstr(why.text, "towards rank 1 on host b"));
    assert_int_equal(rma_get(rma[0], 1, mine, MOST, 0, &why), ML_ERR_LINK);
    assert_int_equal(rma_put(rma[0], 1, mine, 1, 0, &why), ML_ERR_LINK);
    assert_int_equal(rma_flush(rma[0], 1, &why), ML_ERR_LINK);
}

static void test_broken(void **state)
{
    struct fault why;

    (void)state;
    open_both(2);
    mock_verbs_hold("m");
    broken = ML_ERR_PEER;
    memset(mine, 1, MOST);
    assert_int_equal(rma_get(rma[0], 1, mine, MOST, 0, &why), ML_ERR_PEER);
    assert_string_equal(why.text, "rank 1 on host b has died");
    memset(mine, 1, MOST);
    mock_verbs_release("m"); /* nothing is kept that could still write */
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(mine[i], 1);
    assert_int_equal(rma_put(rma[0], 1, mine, 1, 0, &why), ML_ERR_PEER);
}

/* The device of the owner refuses what is not the part. */
static void test_beyond_part(void **state)
{
    struct fault why;

    (void)state;
    open_both(1);
    assert_int_equal(rma_get(rma[0], 1, mine, 8, PART - 7, &why), ML_ERR_LINK);
    assert_non_null(strstr(why.text, "the other end refuses"));
}

/* --- not within reach ------------------------------------------------------------------------- */

static void assert_without(void)
{
    struct fault why;

    for (int i = 0; i < 2; i++)
        assert_int_equal(connect_to(i, &why), 0);
    assert_false(rma_has(rma[0], 1));
    assert_false(rma_has(rma[1], 0));
}

static void test_no_rc(void **state)
{
    struct fault why;

    (void)state;
    rma[0] = rma_of(0, RDMA_PAIRS_OFFERED);
    rma[1] = rma_of(1, RDMA_PAIRS_OFFERED);
    assert_true(add(0, here, 1, &why));
    assert_false(add(1, without_rc, 1, &why));
    assert_int_equal(why.code, 0);
    assert_without();
}

static void test_uc_chosen(void **state)
{
    struct fault why;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rma[i] = rma_of(i, RDMA_PAIRS_UC);
        assert_false(add(i, i ? there : here, 2, &why));
        assert_int_equal(why.code, 0);
    }
    assert_without();
}

static void test_no_memory(void **state)
{
    struct fault why;

    (void)state;
    rma[0] = rma_of(0, RDMA_PAIRS_OFFERED);
    rma[1] = rma_of(1, RDMA_PAIRS_OFFERED);
    assert_true(add(0, here, 2, &why));
    mock_verbs_refuse_memory(ENOMEM);
    assert_false(add(1, there, 2, &why));
    assert_int_equal(why.code, ML_ERR_MEMORY);
    assert_non_null(strstr(why.text, "cannot register memory on x port 1: Cannot allocate memory; "
                                     "the limit of locked memory is too low"));
    assert_without();
}

static void test_does_not_fit(void **state)
{
    struct rail_end ends[2];
    struct fault why;
    size_t size;

    (void)state;
    rma[0] = rma_of(0, RDMA_PAIRS_OFFERED);
    rma[1] = rma_of(1, RDMA_PAIRS_OFFERED);
    assert_true(add(0, here, 2, &why));
    assert_true(add(1, there, 1, &why));
    assert_int_equal(connect_to(0, &why), ML_ERR_LINK);
    assert_string_equal(why.text, "the hostfile's wiring has 2 devices from here to rank 1 on host "
                                  "b, but 1 the other way");
    assert_true(add(1, there + 1, 1, &why));
    memcpy(ends, rma_publish(rma[1], 0, &size), sizeof(ends));
    assert_int_equal(size, sizeof(ends));
    ends[1].gid_count = GID_MOST + 1;
    assert_int_equal(rma_connect(rma[0], 1, ends, sizeof(ends), &why), ML_ERR_REFUSED);
    assert_string_equal(why.text,
                        "the description that rank 1 on host b sent of its devices is damaged");
    assert_int_equal(rma_connect(rma[0], 1, ends, sizeof(ends) - 1, &why), ML_ERR_LINK);
}

static void test_no_device(void **state)
{
    static const char *const none[] = {"z:1"};
    struct fault why;

    (void)state;
    rma[0] = rma_of(0, RDMA_PAIRS_OFFERED);
    assert_false(add(0, none, 1, &why));
    assert_int_equal(why.code, ML_ERR_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_copies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu_part, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu_part_by_peermem, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu_part_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_near_gpus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rail_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rail_cut_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_port_down, setup, teardown),
        cmocka_unit_test_setup_teardown(test_last_rail_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beyond_part, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_rc, setup, teardown),
        cmocka_unit_test_setup_teardown(test_uc_chosen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_device, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
