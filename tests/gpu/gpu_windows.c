/* SPDX-License-Identifier: MIT */
/*
 * gpu_windows: three ranks make every call on windows whose parts are in the memory of GPUs. Each
 * case runs with a few ints, and with more than one frame takes. Rank 0 prints "right: CASE" or
 * "wrong: CASE". --list prints the cases. With --far, rank 0 has no driver, and so host memory
 * only. With --named, calls name the stream of the program's work. With --few it is the first case
 * alone.
 */
#include "common/mlaunch.h"
#include "tests/gpu/gpu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, STEP = 1000, NUMBERS = 4 };

static ml_group *world;
static int rank, left, right;
static bool has_gpu = true, is_named;

static bool is_done(int rc)
{
    if (rc)
        fprintf(stderr, "%s: rank %d: %d: %s\n", gpu_program_case, rank, rc, ml_error());
    return rc == 0;
}

static bool everywhere(bool is_right)
{
    uint8_t mine = is_right, all = 0;

    return is_done(ml_all_reduce(world, &mine, &all, 1, ML_UINT8, ML_MIN)) && all;
}

/* --- vectors, on a GPU if this rank has one --------------------------------------------------- */

static int *vector(size_t n, int first, bool on_gpu)
{
    int *v = on_gpu ? gpu_ints(n, GPU_PLAIN) : calloc(n, sizeof(int));

    if (on_gpu)
        gpu_count_up(v, n, first); /* nobody waits for it */
    for (size_t i = 0; i < n && !on_gpu; i++)
        v[i] = first + (int)i;
    return v;
}

static bool counts(const int *v, size_t n, int first, bool on_gpu)
{
    if (on_gpu)
        return gpu_counts(v, n, first, 1);
    for (size_t i = 0; i < n; i++)
        if (v[i] != first + (int)i)
            return false;
    return true;
}

static bool drop(int *v, bool on_gpu, bool is_right)
{
    if (on_gpu)
        gpu_free(v);
    else
        free(v);
    return is_right;
}

/* --- the window ------------------------------------------------------------------------------- */

/* A part: two vectors, and numbers. */
struct part {
    ml_window *window;
    int *gpu; /* NULL: host memory of the library */
    size_t n, room, numbers;
};

static bool part_open(struct part *p, size_t n, bool on_gpu, enum gpu_kind kind)
{
    static const int zeros[2 * NUMBERS];
    size_t room = (n * sizeof(int) + 7) / 8 * 8;

    *p = (struct part){.n = n, .room = room, .numbers = 2 * room};
    if (on_gpu) {
        p->gpu = gpu_ints((2 * room + sizeof(zeros)) / sizeof(int), kind);
        gpu_copy(p->gpu + 2 * room / sizeof(int), zeros, 2 * NUMBERS);
    }
    return is_done(ml_window_create(world, p->gpu, 2 * room + sizeof(zeros), &p->window));
}

static bool part_close(struct part *p, bool is_right)
{
    is_right = is_done(ml_window_free(p->window)) && is_right;
    if (p->gpu)
        gpu_free(p->gpu);
    return is_right;
}

static bool part_counts(const struct part *p, size_t offset, int first)
{
    const char *at = p->gpu ? (const char *)p->gpu : ml_window_memory(p->window, rank, NULL);

    return counts((const int *)(const void *)(at + offset), p->n, first, p->gpu != NULL);
}

/* The window, for a call whose buffer is changed in gpu_work. */
static ml_window *next(const struct part *p)
{
    if (is_named && !is_done(ml_next_window_stream(p->window, gpu_work)))
        exit(95);
    return p->window;
}

static bool puts_and_gets(struct part *p, bool on_gpu)
{
    size_t size = p->n * sizeof(int);
    int *from = vector(p->n, rank * STEP, on_gpu), *into = vector(p->n, -1, on_gpu);
    bool is_right =
        is_done(ml_put(next(p), from, size, right, 0)) && is_done(ml_flush(p->window, right)) &&
        is_done(ml_barrier(world)) && part_counts(p, 0, left * STEP) &&
        is_done(ml_get(next(p), into, size, left, 0)) && counts(into, p->n, right * STEP, on_gpu) &&
        is_done(ml_get(next(p), into, size, rank, 0)) && counts(into, p->n, left * STEP, on_gpu) &&
        is_done(ml_put(next(p), from, size, rank, p->room)) && part_counts(p, p->room, rank * STEP);

    return drop(from, on_gpu, drop(into, on_gpu, everywhere(is_right)));
}

static bool started(struct part *p, bool on_gpu)
{
    size_t size = p->n * sizeof(int);
    int *from = vector(p->n, rank * STEP + 7, on_gpu), *into = vector(p->n, -1, on_gpu);
    ml_request *put = NULL, *get = NULL;
    bool is_right = is_done(ml_start_put(next(p), from, size, left, 0, &put)) &&
                    is_done(ml_wait(put)) && is_done(ml_flush(p->window, ML_ALL)) &&
                    is_done(ml_barrier(world)) &&
                    is_done(ml_start_get(next(p), into, size, right, 0, &get)) &&
                    is_done(ml_wait(get)) && counts(into, p->n, left * STEP + 7, on_gpu);

    return drop(from, on_gpu, drop(into, on_gpu, everywhere(is_right)));
}

/* The bytes are there when the signal is. */
static bool signals(struct part *p, bool on_gpu)
{
    size_t size = p->n * sizeof(int), at = p->numbers;
    int *from = vector(p->n, rank * STEP + 3, on_gpu);
    bool is_right =
        is_done(ml_put_signal(next(p), from, size, right, p->room, at, 2)) &&
        is_done(ml_put_signal(p->window, NULL, 0, rank, 0, at, 1)) &&
        is_done(ml_wait_signal(p->window, at, 3, -1)) && part_counts(p, p->room, left * STEP + 3) &&
        ml_wait_signal(p->window, at, 4, 0) == ML_ERR_TIMEOUT && strstr(ml_error(), "it is 3") &&
        ml_put_signal(p->window, from, size, right, p->room, at + 4, 2) == ML_ERR_ARGUMENT;

    return drop(from, on_gpu, everywhere(is_right));
}

/* All ranks at once, and one that waits for them. */
static bool numbers(struct part *p)
{
    enum { TIMES = 20 };
    size_t at = p->numbers + 8, other = p->numbers + 16;
    uint64_t old = 0;
    bool is_right = true;

    for (int i = 0; i < TIMES && is_right; i++)
        for (int to = 0; to < RANKS && is_right; to++)
            is_right = is_done(ml_fetch_add(p->window, to, at, 1, &old));
    is_right = is_right && is_done(ml_wait_signal(p->window, at, (uint64_t)TIMES * RANKS, -1)) &&
               is_done(ml_fetch_add(p->window, rank, at, 0, &old)) &&
               old == (uint64_t)TIMES * RANKS && everywhere(true) &&
               is_done(ml_compare_swap(p->window, right, other, 5, 9, &old)) && old == 0 &&
               is_done(ml_compare_swap(p->window, right, other, 0, 9, &old)) && old == 0 &&
               is_done(ml_compare_swap(p->window, right, other, 0, 7, &old)) && old == 9 &&
               everywhere(true) && is_done(ml_compare_swap(p->window, rank, other, 9, 1, &old)) &&
               old == 9;
    return everywhere(is_right);
}

/* What makes no sense harms nothing. */
static bool slips(struct part *p)
{
    ml_window *made = NULL;
    size_t size = 0;
    bool is_right =
        ml_put(p->window, &size, sizeof(size), right, p->numbers + 8 * NUMBERS) == ML_ERR_ARGUMENT;

    if (p->gpu) {
        is_right = is_right && ml_window_memory(p->window, rank, &size) == p->gpu &&
                   size == p->numbers + 8 * NUMBERS &&
                   ml_window_create(world, p->gpu + 1, 8, &made) == ML_ERR_ARGUMENT &&
                   ml_window_create(world, p->gpu, size + 8, &made) == ML_ERR_ARGUMENT &&
                   strstr(ml_error(), "must be in one allocation of GPU");
    }
    return everywhere(is_right);
}

static bool run_on(size_t n, bool on_gpu, enum gpu_kind kind, bool buffers_on_gpu)
{
    struct part p;
    bool is_right = everywhere(part_open(&p, n, on_gpu && has_gpu, kind)),
         on = buffers_on_gpu && has_gpu;

    /* One after the other, on all ranks. */
    is_right = is_right && puts_and_gets(&p, on) && started(&p, on) && signals(&p, on) &&
               numbers(&p) && slips(&p);
    return part_close(&p, is_right);
}

static bool plain(size_t n)
{
    return run_on(n, true, GPU_PLAIN, true);
}

static bool from_host(size_t n)
{
    return run_on(n, true, GPU_PLAIN, false);
}

static bool managed(size_t n)
{
    return run_on(n, true, GPU_MANAGED, true);
}

static bool pool(size_t n)
{
    return run_on(n, true, GPU_POOL, true);
}

static bool mixed(size_t n)
{
    return run_on(n, rank == 1, GPU_PLAIN, rank != 1);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Work of the program in a stream that no call names. */
static void work_elsewhere(int *memory, size_t n)
{
    void *kept = gpu_work;

    gpu_work = gpu_stream();
    gpu_count_up(memory, n, 1);
    gpu_work = kept;
}

/* What was queued is not done, as far as the driver says. */
static bool is_queued(bool wanted)
{
    int works = gpu_left("queued");

    return works < 0 || (works > 0) == wanted;
}

/* A name holds for one call of its thread on its window, and that waits for nothing else. */
static bool one_name(struct part *p, struct part *other, int *from, int *into, int *busy)
{
    size_t size = p->n * sizeof(int);
    ml_request *request = NULL;
    bool is_right;

    work_elsewhere(busy, p->n);
    gpu_count_up(from, p->n, 20);
    is_right = is_done(ml_next_window_stream(p->window, gpu_work)) &&
               is_done(ml_put(p->window, from, size, rank, 0)) && is_queued(true) &&
               part_counts(p, 0, 20) && is_done(ml_next_window_stream(p->window, gpu_work)) &&
               is_done(ml_get(p->window, into, size, rank, 0)) && is_queued(true) &&
               counts(into, p->n, 20, true) &&
               is_done(ml_next_window_stream(p->window, gpu_work)) &&
               is_done(ml_start_put(p->window, from, size, rank, p->room, &request)) &&
               is_done(ml_wait(request)) && is_queued(true) &&
               is_done(ml_next_window_stream(p->window, gpu_work)) &&
               is_done(ml_put(other->window, from, size, rank, 0)) && is_queued(false);
    work_elsewhere(busy, p->n);
    return is_right && is_done(ml_put(p->window, from, size, rank, 0)) && is_queued(true) &&
           is_done(ml_put(p->window, from, size, rank, 0)) && is_queued(false);
}

/* ml_window_create takes the name of the group's next call. */
static bool name_of_create(int *busy, size_t n, int *part)
{
    uint64_t *number = (uint64_t *)(void *)gpu_ints(2, GPU_PLAIN);
    ml_window *made = NULL;
    bool is_right;

    work_elsewhere(busy, n);
    gpu_count_up((int *)(void *)number, 2, 0);
    ml_next_stream(world, gpu_work);
    is_right = is_done(ml_window_create(world, part, 8, &made)) && is_queued(true) &&
               is_done(ml_all_reduce(world, number, number, 1, ML_UINT64, ML_MAX)) &&
               is_queued(false);
    is_right = is_done(ml_window_free(made)) && is_right;
    gpu_free((int *)(void *)number);
    return is_right;
}

static bool capture(struct part *p, int *from)
{
    size_t size = p->n * sizeof(int);
    void *stream = gpu_stream();
    bool is_right = gpu_capture_begin(stream, GPU_RELAXED) &&
                    is_done(ml_next_window_stream(p->window, stream)) &&
                    ml_put(p->window, from, size, rank, 0) == ML_ERR_ARGUMENT &&
                    strstr(ml_error(), "is being captured") &&
                    is_done(ml_next_window_stream(p->window, gpu_work)) &&
                    is_done(ml_put(p->window, from, size, rank, 0));

    return gpu_capture_end(stream) && is_right;
}

static bool names(size_t n)
{
    struct part p = {0}, other = {0};
    int *from, *into, *busy;
    bool is_right;

    if (!everywhere(has_gpu))
        return true;
    is_right = everywhere(part_open(&p, n, true, GPU_PLAIN)) &&
               everywhere(part_open(&other, n, true, GPU_PLAIN));
    from = vector(n, 0, true);
    into = vector(n, 0, true);
    busy = vector(n, 0, true);
    is_right = is_right && one_name(&p, &other, from, into, busy) && capture(&p, from);
    is_right = everywhere(is_right) && name_of_create(busy, n, p.gpu);
    drop(from, true, drop(into, true, drop(busy, true, true)));
    return part_close(&other, part_close(&p, everywhere(is_right)));
}

/* ml_finalize ends it. */
static bool is_kept(size_t n)
{
    struct part p;

    return everywhere(part_open(&p, n, has_gpu, GPU_PLAIN)) && puts_and_gets(&p, has_gpu);
}

static bool leaks(size_t n)
{
    for (int i = 0; i < 2; i++)
        if (!plain(n) || !pool(n))
            return false;
    return everywhere(!has_gpu || (gpu_left("registrations") <= 4 && gpu_left("depth") <= 1 &&
                                   gpu_left("retained") <= 1 && gpu_left("imports") <= 0));
}

static const struct {
    const char *name;
    bool (*run)(size_t n);
} cases[] = {{"all parts on GPUs", plain}, {"with buffers in host memory", from_host},
             {"managed memory", managed},  {"memory of a pool", pool},
             {"one part on a GPU", mixed}, {"streams with names", names},
             {"nothing is left", leaks},   {"what is not freed", is_kept}};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

int main(int argc, char **argv)
{
    static const size_t sizes[] = {5, 600001};
    bool is_right = true, is_few;

    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < CASES; i++)
            puts(cases[i].name);
        return 0;
    }
    if (!is_done(ml_init(&world)))
        return 1;
    rank = ml_rank(world);
    left = (rank + RANKS - 1) % RANKS;
    right = (rank + 1) % RANKS;
    is_named = argc > 1 && strcmp(argv[1], "--named") == 0;
    is_few = argc > 1 && strcmp(argv[1], "--few") == 0;
    has_gpu = rank > 0 || argc < 2 || is_named || is_few;
    if (has_gpu)
        gpu_program_load(rank);
    for (int i = 0; i < (is_few ? 1 : CASES); i++) {
        bool was_right = true;

        gpu_program_case = cases[i].name;
        for (int s = 0; s < 2; s++)
            was_right = everywhere(cases[i].run(sizes[s])) && was_right;
        if (rank == 0)
            printf("%s: %s\n", was_right ? "right" : "wrong", cases[i].name);
        is_right = was_right && is_right;
    }
    if (rank == 0)
        printf("flushes: %s\n", gpu_left("flushes") > 0 ? "some" : "none");
    is_right = ml_finalize() == 0 && is_right &&
               (!has_gpu || (gpu_left("imports") <= 0 && gpu_left("retained") <= 1));
    return !is_right;
}
