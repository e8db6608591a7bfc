/* SPDX-License-Identifier: MIT */
/*
 * test_keep.c: memory that outlives ranks (ml_keep): which version all have, who gets it back after
 * deaths, and that it is never one that is torn, mixed with another, or another rank's. With
 * MLAUNCH_TEST_LONG 200 ranks are killed inside ml_keep.
 * TEST_TIER=quick
 */
#include "tests/runtime/test_job.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config all_shm = {.size = 4, .elastic = true};
static const struct job_config two_hosts = {
    .size = 4, .hosts = 2, .backend = "tcp", .elastic = true};

enum { WORDS = 5000 };

/* --- oracles ---------------------------------------------------------------------------------- */

/* What `id` keeps as this version, in its life `life`: every word says all of it. */
static uint64_t word_of(int id, uint64_t version, int life, int at)
{
    return (uint64_t)id << 48 ^ version << 24 ^ (uint64_t)life << 56 ^ (uint64_t)at;
}

static void keep(ml_group *w, uint64_t version, int life)
{
    uint64_t words[WORDS];
    int id = ml_id(w, ml_rank(w));

    for (int i = 0; i < WORDS; i++)
        words[i] = word_of(id, version, life, i);
    REQUIRE(ml_keep(w, "words", words, sizeof(words), version) == 0);
}

static void require_kept(ml_group *w, int id, uint64_t version, int life)
{
    uint64_t words[WORDS];
    size_t size = 0;

    REQUIRE(ml_kept_size(w, "words", id, &size) == 0 && size == sizeof(words));
    REQUIRE(ml_restore(w, "words", id, words, sizeof(words)) == 0);
    for (int i = 0; i < WORDS; i++)
        REQUIRE(words[i] == word_of(id, version, life, i));
}

/* ml_kept finds that version, or none (0). */
static void require_agreed(ml_group *w, uint64_t version)
{
    uint64_t found = 0;

    REQUIRE(ml_kept(w, "words", NULL, 0, &found) == (version > 0) && found == version);
}

static void slot_path(const struct job *j, int rank, int slot, char path[PATH_MAX])
{
    char dir[PATH_MAX];

    job_dir(j, j->host_of[rank], dir);
    snprintf(path, PATH_MAX, "/dev/shm/mlaunch-%u-%.100s.keep.%d.%d.words", (unsigned)geteuid(),
             strrchr(dir, '/') + 1, rank, slot);
}

/* Changes a byte of what is kept in the slot. */
static void damage(const struct job *j, int rank, int slot)
{
    char path[PATH_MAX], byte;
    int fd;

    slot_path(j, rank, slot, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, 5000) == 1);
    byte ^= 4;
    REQUIRE(pwrite(fd, &byte, 1, 5000) == 1);
    close(fd);
}

/* --- which version ---------------------------------------------------------------------------- */

static void the_newest_of_all(struct job *j, int rank)
{
    char byte = 0;
    uint64_t version;
    ml_group *w;
    int id = rank;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    require_agreed(w, 0);
    REQUIRE(ml_restore(w, "words", id, &byte, 1) == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "ml_kept finds the one that all ranks have, and has found none");
    REQUIRE(ml_restore(w, "never", id, &byte, 1) == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "was not called for it");

    if (rank != 2)
        keep(w, 1, 1);
    require_agreed(w, 0); /* rank 2 has none */
    keep(w, 1, 2);
    require_agreed(w, 1); /* not the one that only some had */
    require_kept(w, id, 1, 2);
    keep(w, 2, 1);
    keep(w, 3, 1);
    if (rank == 1)
        keep(w, 4, 1);
    require_agreed(w, 3);
    require_kept(w, id, 3, 1);

    /* Another course: rank 1 has a version 4 of before, which is not the 4 of the others. */
    if (rank != 1)
        keep(w, 4, 2);
    require_agreed(w, 3);
    keep(w, 4, 3);
    keep(w, 5, 3);
    require_agreed(w, 5);
    require_kept(w, id, 5, 3);

    /* Apart by more than there are slots. */
    keep(w, 6, 3);
    if (rank == 3) {
        keep(w, 7, 3);
        keep(w, 8, 3);
    }
    require_agreed(w, 0);
    /* Back to an older number, without having restored anything. */
    keep(w, 2, 4);
    require_agreed(w, 2);
    require_kept(w, id, 2, 4);
    keep(w, 2, 5); /* the same again */
    keep(w, 2, 6);
    require_agreed(w, 2);
    require_kept(w, id, 2, 6);

    REQUIRE(ml_keep(w, "empty", NULL, 0, 9) == 0);
    REQUIRE(ml_kept(w, "empty", NULL, 0, &version) == 1 && version == 9);
    REQUIRE(ml_restore(w, "empty", id, NULL, 0) == 0);
    REQUIRE(ml_finalize() == 0);
}

/* Sets how much this process may write to a file. */
static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};

    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* A version that can't be kept takes no later one with it, nor those of before ml_init. */
static void no_room_for_an_earlier(struct job *j, int rank)
{
    uint64_t words[WORDS] = {0};
    ml_group *w;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    keep(w, 5, 1);
    keep(w, 6, 1);
    limit_files(1000);
    REQUIRE(ml_keep(w, "words", words, sizeof(words), 4) == ML_ERR_SYSTEM);
    limit_files(RLIM_INFINITY);
    require_agreed(w, 6);
    require_kept(w, ml_rank(w), 6, 1);
    /* Between the two, it takes the later one's place alone. */
    keep(w, 8, 1);
    keep(w, 7, 1);
    require_agreed(w, 7);
    keep(w, 8, 2);
    REQUIRE(ml_finalize() == 0);

    REQUIRE(ml_init(&w) == 0);
    limit_files(1000);
    REQUIRE(ml_keep(w, "words", words, sizeof(words), 9) == ML_ERR_SYSTEM);
    limit_files(RLIM_INFINITY);
    require_agreed(w, 8);
    require_kept(w, ml_rank(w), 8, 2);
    REQUIRE(ml_finalize() == 0);

    /* What was kept last stays as the second one. */
    REQUIRE(ml_init(&w) == 0);
    if (ml_rank(w) > 0)
        keep(w, 1, 3);
    require_agreed(w, 8);
    require_kept(w, ml_rank(w), 8, 2);
    REQUIRE(ml_finalize() == 0);
}

static void test_no_room_for_an_earlier(void **state)
{
    (void)state;
    job_do(&all_shm, no_room_for_an_earlier);
}

static void test_newest_of_all(void **state)
{
    (void)state;
    job_do(&all_shm, the_newest_of_all);
    job_do(&two_hosts, the_newest_of_all);
}

/* A process of the rank, below that which the agent has started, as of a script. */
static pid_t begin_life(struct job *j, int rank, rank_fn *life)
{
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        life(j, rank);
        _exit(0);
    }
    return pid;
}

static int end_life(pid_t pid)
{
    int status;

    REQUIRE(waitpid(pid, &status, 0) == pid);
    return status;
}

static void first_life(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    keep(w, 1, 1);
    keep(w, 2, 1);
    if (rank == 0)
        keep(w, 3, 1);
    REQUIRE(ml_finalize() == 0);
}

static void second_life(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    require_agreed(w, 2);
    require_kept(w, rank, 2, 1);
    if (rank != 0)
        keep(w, 3, 2);
    require_agreed(w, 2); /* rank 0's 3 was of the first life */
    REQUIRE(ml_finalize() == 0);
}

/* All ranks join anew, in other processes. */
static void two_lives(struct job *j, int rank)
{
    REQUIRE(end_life(begin_life(j, rank, first_life)) == 0);
    REQUIRE(end_life(begin_life(j, rank, second_life)) == 0);
}

static void test_next_process(void **state)
{
    (void)state;
    job_do(&two_hosts, two_lives);
}

/* --- a death ---------------------------------------------------------------------------------- */

/* Rank 1 dies on the host of ranks 0 and 1; if they are all on one host, all read its part. */
static void without_one(struct job *j, int rank)
{
    uint64_t version = 0, word;
    ml_group *w;
    ml_change change;
    bool is_near = j->host_of[rank] == j->host_of[1];

    REQUIRE(ml_init(&w) == 0);
    keep(w, 1, 1);
    keep(w, 2, 1);
    if (rank != 1)
        keep(w, 3, 1);
    job_meet(j);
    if (rank == 1)
        raise(SIGKILL);
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE(ml_repair(w, &w, &change) == 0);
    REQUIRE(ml_kept(w, "words", change.left, change.left_count, &version) == 1 && version == 2);
    require_kept(w, rank, 2, 1);
    if (is_near) {
        require_kept(w, 1, 2, 1);
    } else {
        REQUIRE(ml_restore(w, "words", 1, &word, sizeof(word)) == ML_ERR_STATE);
        REQUIRE_TEXT(ml_error(), "version 2 of \"words\" of rank 1 is not on this host, host1: it "
                                 "was kept on host host0, where a rank can restore it and send it");
    }
    /* The dead rank's 3 would be of another course. */
    keep(w, 3, 2);
    REQUIRE(ml_kept(w, "words", change.left, change.left_count, &version) == 1 && version == 2);
    keep(w, 3, 2);
    require_agreed(w, 3);
    require_kept(w, rank, 3, 2);
    REQUIRE(ml_finalize() == 0);
}

static void test_one_dies(void **state)
{
    const struct job_config *const kinds[] = {&all_shm, &two_hosts};

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct job j;

        job_open(&j, kinds[kind]);
        for (int i = 0; i < 4; i++)
            job_spawn(&j, i, without_one);
        assert_int_equal(job_wait(&j, 1), SIGKILL);
        for (int i = 0; i < 4; i++)
            if (i != 1)
                assert_int_equal(job_wait(&j, i), 0);
        job_close(&j);
    }
}

/* --- damage ----------------------------------------------------------------------------------- */

static void damaged(struct job *j, int rank)
{
    uint64_t words[WORDS];
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    keep(w, 1, 1);
    keep(w, 2, 1);
    if (rank == 2)
        damage(j, 2, 1);
    require_agreed(w, 1); /* with what all have whole */
    require_kept(w, rank, 1, 1);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == 2) {
        damage(j, 2, 0);
        REQUIRE(ml_restore(w, "words", rank, words, sizeof(words)) == ML_ERR_REFUSED);
        REQUIRE_TEXT(ml_error(), "version 1 of \"words\", which rank 2 has kept on host ");
        REQUIRE_TEXT(ml_error(), "is damaged: its bytes differ from the hash");
    }
    require_agreed(w, 0);
    /* What bears a rank's name, and is another's. */
    keep(w, 3, 1);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == 2) {
        char mine[PATH_MAX], theirs[PATH_MAX];

        for (int slot = 0; slot < 2; slot++) {
            slot_path(j, 2, slot, mine);
            slot_path(j, 3, slot, theirs);
            rename(theirs, mine);
        }
    }
    require_agreed(w, 0);
    keep(w, 4, 1);
    require_agreed(w, 4);
    require_kept(w, rank, 4, 1);
    REQUIRE(ml_finalize() == 0);
}

static void test_damage(void **state)
{
    (void)state;
    job_do(&all_shm, damaged);
    job_do(&two_hosts, damaged);
}

/* --- slips ------------------------------------------------------------------------------------ */

static void slips(struct job *j, int rank)
{
    int32_t numbers[] = {1, 2, 3}, back[3] = {0};
    const int right_ids[] = {0, 1}, wrong_ids[] = {0, 4};
    uint64_t version;
    size_t size;
    ml_group *w, *part;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_keep(NULL, "x", numbers, 12, 1) == ML_ERR_ARGUMENT);
    REQUIRE(ml_keep(w, NULL, numbers, 12, 1) == ML_ERR_ARGUMENT);
    REQUIRE(ml_keep(w, "a/b", numbers, 12, 1) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "\"a/b\" is no name for what is kept: take 1 to 63 letters");
    REQUIRE(ml_keep(w, "x", NULL, 12, 1) == ML_ERR_ARGUMENT);
    REQUIRE(ml_kept(w, "x", NULL, 0, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_kept(w, "x", NULL, 1, &version) == ML_ERR_ARGUMENT);
    REQUIRE(ml_kept(w, "x", wrong_ids, 2, &version) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "ids[1] is 4, and the job has those from 0 to 3");
    REQUIRE(ml_kept_size(w, "x", 0, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_split(w, 0, 0, &part) == 0);
    REQUIRE(ml_keep(part, "x", numbers, 12, 1) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "ml_keep takes the world, not a group of it");

    REQUIRE(ml_next_type(w, ML_INT32) == 0);
    REQUIRE(ml_keep(w, "x", numbers, 12, 1) == 0);
    REQUIRE(ml_kept(w, rank == 1 ? "y" : "x", NULL, 0, &version) == ML_ERR_ARGUMENT);
    REQUIRE(ml_kept(w, "x", right_ids, rank == 1 ? 2 : 1, &version) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "calls ml_kept with another name or other ids");
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE_TEXT(ml_error(), "calls ml_kept with another name or other ids than rank 0");
    REQUIRE(ml_kept(w, "x", NULL, 0, &version) == 1 && version == 1);
    REQUIRE(ml_kept_size(w, "x", 4, &size) == ML_ERR_ARGUMENT);
    REQUIRE(ml_restore(w, "x", -1, back, 12) == ML_ERR_ARGUMENT);
    REQUIRE(ml_restore(w, "x", rank, back, 8) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "has 12 bytes, and the buffer 8: ml_kept_size says how many");
    REQUIRE(ml_next_type(w, ML_FLOAT32) == 0);
    REQUIRE(ml_restore(w, "x", rank, back, 12) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "was kept as int32, and is to be restored as float32");
    REQUIRE(back[0] == 0);
    REQUIRE(ml_restore(w, "x", rank, back, 12) == 0 && back[2] == 3);
    REQUIRE(ml_barrier(w) == 0); /* unharmed */
    REQUIRE(ml_finalize() == 0);
    REQUIRE(ml_keep(w, "x", numbers, 12, 1) == ML_ERR_STATE);
}

static void test_slips(void **state)
{
    uint8_t byte = 1;
    ml_group *w;

    (void)state;
    job_do(&all_shm, slips);
    assert_int_equal(ml_init(&w), 0); /* alone */
    assert_int_equal(ml_keep(w, "x", &byte, 1, 1), ML_ERR_STATE);
    assert_non_null(strstr(ml_error(), "start it with mlaunch"));
    assert_int_equal(ml_finalize(), 0);
}

/* --- kills inside ml_keep --------------------------------------------------------------------- */

enum { LONG_WORDS = 1 << 18 };

/* Shared with the test: which version is being kept, or 0; and the last one that was. */
static struct progress {
    _Atomic uint64_t inside, done;
} * progress;

static uint64_t *words; /* LONG_WORDS of them */

/* Keeps until it is killed; before that it looks at what the one before it has left. */
static void keep_for_ever(struct job *j, int rank)
{
    uint64_t version = 0, done = atomic_load(&progress->done);
    ml_group *w;
    int found;

    (void)j, (void)rank;
    REQUIRE(ml_init(&w) == 0);
    found = ml_kept(w, "words", NULL, 0, &version);
    REQUIRE(found == (done > 0) && (found == 0 || version == done || version == done + 1));
    if (found) {
        REQUIRE(ml_restore(w, "words", 0, words, LONG_WORDS * sizeof(*words)) == 0);
        for (int i = 0; i < LONG_WORDS; i++)
            REQUIRE(words[i] == word_of(0, version, 0, i));
    }
    for (;;) {
        version++;
        for (int i = 0; i < LONG_WORDS; i++)
            words[i] = word_of(0, version, 0, i);
        atomic_store(&progress->inside, version);
        REQUIRE(ml_keep(w, "words", words, LONG_WORDS * sizeof(*words), version) == 0);
        atomic_store(&progress->done, version);
        atomic_store(&progress->inside, 0);
    }
}

/* Kills the process once it is inside ml_keep, a little later each time. True if it was still
 * inside. */
static bool kill_inside(struct job *j, int turn)
{
    uint64_t enough = atomic_load(&progress->done) + 1 + (uint64_t)turn % 3;
    siginfo_t ended = {0};
    pid_t pid;

    atomic_store(&progress->inside, 0);
    pid = begin_life(j, 0, keep_for_ever);
    while (atomic_load(&progress->inside) == 0 || atomic_load(&progress->done) < enough) {
        REQUIRE(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
        REQUIRE(ended.si_pid == 0);
    }
    for (int i = 0; i < turn * 997 % 4000; i++)
        atomic_load(&progress->inside);
    kill(pid, SIGKILL);
    REQUIRE(end_life(pid) == SIGKILL);
    return atomic_load(&progress->inside) != 0;
}

static void kill_many(struct job *j, int rank)
{
    int turns = getenv("MLAUNCH_TEST_LONG") ? 200 : 20, inside = 0;

    (void)rank;
    words = malloc(LONG_WORDS * sizeof(*words));
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(words && progress != MAP_FAILED);
    for (int turn = 0; inside < turns; turn++)
        inside += kill_inside(j, turn);
}

static void test_kills(void **state)
{
    const struct job_config alone = {.size = 1};

    (void)state;
    job_do(&alone, kill_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_of_all),
        cmocka_unit_test(test_next_process),
        cmocka_unit_test(test_one_dies),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_no_room_for_an_earlier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
