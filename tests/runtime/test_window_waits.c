/* SPDX-License-Identifier: MIT */
/* test_window_waits.c: who waits in ml_window_free and ml_wait_signal is told of.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct job_config shm = {.size = 3, .stall_ms = 1500};
static const struct job_config tcp = {
    .size = 3, .stall_ms = 1500, .backend = "tcp", .local_net = true};

static void await_stall(const struct job *j)
{
    while (j->seen->stalls == 0)
        sched_yield();
}

/* What rank 0 has left of its wait in a window, the first group that the world has made; or "". */
static void note_read(const struct job *j, char note[512])
{
    char dir[PATH_MAX], path[PATH_MAX + 32];
    FILE *f;

    note[0] = '\0';
    job_dir(j, 0, dir);
    snprintf(path, sizeof(path), "%s/rank.0.waiting.1", dir);
    f = fopen(path, "r");
    if (!f)
        return;
    if (!fgets(note, 512, f))
        note[0] = '\0';
    fclose(f);
}

static void stall_once(const struct job_config *config, rank_fn *fn, const char *text)
{
    struct job j;

    job_open(&j, config);
    job_run(&j, fn);
    assert_int_equal(j.seen->stalls, 1);
    if (!strstr(j.seen->stall, text))
        fail_msg("\"%s\" does not contain \"%s\"", j.seen->stall, text);
    job_close(&j);
}

/* --- ml_window_free --------------------------------------------------------------------------- */

/* Rank 2 is late. */
static void late_free(struct job *j, int rank)
{
    char note[512];
    ml_window *w;
    ml_group *g;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    if (rank == 2) {
        await_stall(j);
        note_read(j, note);
        REQUIRE_TEXT(note, "\"text\":\"window_free of window 1\"");
        REQUIRE_TEXT(note, "\"receives_from\":[2]");
        REQUIRE_TEXT(note, "\"window\":true");
    }
    REQUIRE(ml_window_free(w) == 0);
    note_read(j, note);
    REQUIRE(rank != 0 || !note[0]);
    REQUIRE(ml_finalize() == 0);
}

static void test_late_free(void **state)
{
    static const char text[] = "rank 2 on host host0 has not come to window_free (call 1 of window "
                               "1); ranks 0,1 have waited 1 s for it";

    (void)state;
    stall_once(&shm, late_free, text);
    stall_once(&tcp, late_free, text);
}

/* --- ml_wait_signal --------------------------------------------------------------------------- */

static void late_signal(struct job *j, int rank)
{
    uint64_t one = 1;
    char note[512];
    ml_window *w;
    ml_group *g;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    if (rank == 0)
        REQUIRE(ml_wait_signal(w, 8, 3, -1) == 0);
    if (rank == 2) {
        REQUIRE(ml_put_signal(w, &one, 8, 0, 0, 8, 2) == 0);
        await_stall(j);
        note_read(j, note);
        REQUIRE_TEXT(note, "\"text\":\"wait_signal of window 1 from any rank: 3 or more at offset "
                           "8, where 2 is\"");
        REQUIRE(ml_put_signal(w, &one, 8, 0, 0, 8, 1) == 0);
    }
    job_meet(j);
    note_read(j, note);
    REQUIRE(!note[0]);
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_late_signal(void **state)
{
    static const char text[] =
        "rank 0 on host host0 has waited 1 s in wait_signal from any rank (window 1)";

    (void)state;
    stall_once(&shm, late_signal, text);
    stall_once(&tcp, late_signal, text);
}

/* --- threads ---------------------------------------------------------------------------------- */

static ml_window *shared;

static void *await_number(void *offset)
{
    REQUIRE(ml_wait_signal(shared, *(size_t *)offset, 1, -1) == 0);
    return NULL;
}

/* Two threads of rank 0 wait. One is told of, and when it goes on, the other. */
static void two_wait(struct job *j, int rank)
{
    static size_t offsets[] = {0, 8};
    int told = -1, first = -1;
    pthread_t threads[2];
    char note[512];
    ml_group *g;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &shared) == 0);
    for (int i = 0; i < 2 && rank == 0; i++)
        REQUIRE(pthread_create(&threads[i], NULL, await_number, &offsets[i]) == 0);
    for (int i = 0; i < 2 && rank == 1; i++) {
        do {
            note_read(j, note);
            told = strstr(note, "offset 0,") ? 0 : strstr(note, "offset 8,") ? 1 : -1;
            sched_yield();
        } while (told < 0 || told == first);
        REQUIRE_TEXT(note, "from rank 1");
        first = told;
        REQUIRE(ml_put_signal(shared, NULL, 0, 0, 0, offsets[told], 1) == 0);
    }
    for (int i = 0; i < 2 && rank == 0; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    note_read(j, note);
    REQUIRE(rank != 0 || !note[0]);
    REQUIRE(ml_window_free(shared) == 0 && ml_finalize() == 0);
}

static void test_threads(void **state)
{
    static const struct job_config pair = {.size = 2};

    (void)state;
    job_do(&pair, two_wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_free),
        cmocka_unit_test(test_late_signal),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
