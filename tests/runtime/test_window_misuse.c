/* SPDX-License-Identifier: MIT */
/* test_window_misuse.c: calls on windows that reach beyond a part or come from a forked child, and
 * ranks that end in the middle of a window.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config shm = {.size = 3};
static const struct job_config tcp = {.size = 3, .backend = "tcp", .local_net = true};

/* --- bounds ----------------------------------------------------------------------------------- */

static bool is_within(size_t offset, size_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

static void expect(int rc, bool is_valid)
{
    REQUIRE(rc == (is_valid ? 0 : ML_ERR_ARGUMENT));
}

/* All that is written is 0. */
static void try_bytes(ml_window *w, int rank, size_t offset, size_t length, size_t size)
{
    static unsigned char zeros[4096];
    ml_request *request = NULL;
    bool is_valid = is_within(offset, length, size);

    expect(ml_put(w, zeros, length, rank, offset), is_valid);
    expect(ml_get(w, zeros, length, rank, offset), is_valid);
    expect(ml_start_put(w, zeros, length, rank, offset, &request), is_valid);
    REQUIRE(ml_wait(request) == 0);
    expect(ml_start_get(w, zeros, length, rank, offset, &request), is_valid);
    REQUIRE(ml_wait(request) == 0);
    expect(ml_put_signal(w, zeros, length, rank, offset, 0, 0), is_valid && is_within(0, 8, size));
}

static void try_number(ml_window *w, int rank, int me, size_t offset, size_t size)
{
    bool is_valid = is_within(offset, 8, size) && offset % 8 == 0;
    uint64_t old = 1;

    expect(ml_fetch_add(w, rank, offset, 0, &old), is_valid);
    REQUIRE(!is_valid || old == 0);
    expect(ml_compare_swap(w, rank, offset, 0, 0, &old), is_valid);
    expect(ml_put_signal(w, NULL, 0, rank, 0, offset, 0), is_valid);
    if (rank == me)
        expect(ml_wait_signal(w, offset, 0, 0), is_valid);
}

static void bounds(struct job *j, int me)
{
    static const size_t sizes[] = {0, 8, 64, 1, 7, 9, 4096};
    static const size_t offsets[] = {
        0, 8, 64, SIZE_MAX, SIZE_MAX - 7, 1, 7, 63, SIZE_MAX / 2, 1ull << 62, 4088, 4096, 4097};
    static const size_t lengths[] = {0,  1,  64,   SIZE_MAX,      8,
                                     63, 65, 4096, SIZE_MAX - 63, 1ull << 63};
    bool is_long = getenv("MLAUNCH_TEST_LONG");
    int size_count = is_long ? 7 : 3, offset_count = is_long ? 13 : 5,
        length_count = is_long ? 10 : 4;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    for (int s = 0; s < size_count; s++) {
        REQUIRE(ml_window_create(g, NULL, sizes[s], &w) == 0);
        for (int o = 0; o < offset_count; o++) {
            for (int rank = 0; rank < 3; rank++) {
                for (int l = 0; l < length_count; l++)
                    try_bytes(w, rank, offsets[o], lengths[l], sizes[s]);
                try_number(w, rank, me, offsets[o], sizes[s]);
            }
        }
        REQUIRE(ml_window_free(w) == 0);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_bounds(void **state)
{
    (void)state;
    job_do(&shm, bounds);
    job_do(&tcp, bounds);
}

/* --- forked children -------------------------------------------------------------------------- */

static bool is_child;

/* Asked by LeakSanitizer before it looks. In a child it would wait for ever: the window's server
 * may have held the allocator's lock when the rank forked. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_child;
}

static void child_calls(ml_group *g, ml_window *w)
{
    uint64_t number = 0;
    ml_window *made;

    REQUIRE(ml_put(w, &number, 8, 0, 0) == ML_ERR_STATE);
    REQUIRE(ml_get(w, &number, 8, 0, 0) == ML_ERR_STATE);
    REQUIRE(ml_flush(w, ML_ALL) == ML_ERR_STATE);
    REQUIRE(ml_fetch_add(w, 1, 0, 1, &number) == ML_ERR_STATE);
    REQUIRE(ml_wait_signal(w, 0, 1, -1) == ML_ERR_STATE);
    REQUIRE(ml_window_free(w) == ML_ERR_STATE);
    REQUIRE(ml_window_create(g, NULL, 8, &made) == ML_ERR_STATE);
    exit(0); /* and not _exit(): what the library has registered must do no harm */
}

static void forks(struct job *j, int rank)
{
    int count = getenv("MLAUNCH_TEST_LONG") ? 20 : 3, status;
    ml_window *w;
    ml_group *g;
    pid_t child;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    for (int i = 0; i < count; i++) {
        child = fork();
        REQUIRE(child >= 0);
        is_child = child == 0;
        if (is_child)
            child_calls(g, w);
        REQUIRE(ml_put_signal(w, NULL, 0, (rank + 1) % 3, 0, 0, 1) == 0);
        REQUIRE(ml_wait_signal(w, 0, (uint64_t)i + 1, -1) == 0);
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_forks(void **state)
{
    (void)state;
    job_do(&shm, forks);
    job_do(&tcp, forks);
}

/* --- ends ------------------------------------------------------------------------------------- */

static enum end { END_EXIT, END_FINALIZE, END_EXEC, END_CRASH, ENDS } ends_by;

static void end(void)
{
    if (ends_by == END_FINALIZE)
        REQUIRE(ml_finalize() == 0);
    else if (ends_by == END_EXEC)
        execl("/bin/true", "true", (char *)NULL);
    signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
    if (ends_by == END_CRASH)
        raise(SIGSEGV);
    _exit(0);
}

/* Rank 2 ends and leaves its window. The others wait for it: one for a signal, one to free it. */
static void ending(struct job *j, int rank)
{
    ml_window *w;
    ml_group *g;
    int rc;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    REQUIRE(ml_barrier(g) == 0);
    job_meet(j);
    if (rank == 2) {
        job_be_busy(20);
        end();
    }
    rc = rank ? ml_wait_signal(w, 0, 1, -1) : ml_window_free(w);
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 2");
    job_meet_left(j, 2); /* else rank 1 may leave before rank 0 has heard of rank 2 */
    REQUIRE(rank == 0 || ml_window_free(w) == ML_ERR_PEER);
    REQUIRE(ml_finalize() == 0);
}

static void end_one(const struct job_config *config)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < 3; i++)
        job_spawn(&j, i, ending);
    job_wait(&j, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

static void test_ends(void **state)
{
    (void)state;
    for (int i = 0; i < ENDS; i++) {
        ends_by = (enum end)i;
        end_one(&shm);
        end_one(&tcp);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
