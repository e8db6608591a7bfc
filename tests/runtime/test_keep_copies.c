/* SPDX-License-Identifier: MIT */
/*
 * test_keep_copies.c: copies of what a rank keeps on the next host (--keep 2). A rank that has lost
 * its files gets a copy that is whole, also from a host that was the next one before; one that is
 * torn, damaged or foreign is never taken. With MLAUNCH_TEST_LONG 200 ranks are killed inside
 * ml_keep, and each time the next process has nothing but the copies.
 * TEST_TIER=quick
 */
#include "common/net/address.h"
#include "common/net/job_file.h"
#include "common/net/kept_stream.h"
#include "launcher/agent/keeper/keeper_serve.h"
#include "tests/runtime/test_job.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { WORDS = 1 << 17 };

static uint64_t words[WORDS];

/* --- keepers ---------------------------------------------------------------------------------- */

struct keeper {
    pid_t pid;
    char address[ADDRESS_TEXT];
};

static struct keeper_job keeper_job;

static void *visit_run(void *arg)
{
    keeper_serve(&keeper_job, (int)(intptr_t)arg, NULL, NULL);
    return NULL;
}

static void keeper_run(int listener)
{
    struct pollfd p = {listener, POLLIN, 0};
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = poll(&p, 1, -1) > 0 ? address_accept(listener) : -1;

        if (fd >= 0 && pthread_create(&thread, NULL, visit_run, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
    }
}

/* The job has host 0; the others are there for copies alone. */
static void host_dir(const struct job *j, int host, char path[PATH_MAX])
{
    job_dir(j, 0, path);
    if (host)
        snprintf(path + strlen(path), 16, ".%d", host);
}

/* The keeper of that host. */
static struct keeper keeper_begin(const struct job *j, int host)
{
    static char dir[PATH_MAX], id[sizeof(j->id)];
    struct job_file file;
    struct address bound;
    struct fault why;
    char home[PATH_MAX];
    struct keeper k;
    int listener;

    job_dir(j, 0, home);
    host_dir(j, host, dir);
    strcpy(id, j->id);
    keeper_job = (struct keeper_job){.dir = dir, .job = id, .size = j->config.size};
    keeper_job.is_secure = j->config.secure;
    REQUIRE(job_file_read(home, &file, keeper_job.secret, &why) == 0);
    REQUIRE(address_listen("127.0.0.1", 0, 16, &listener, &bound, &why) == 0);
    address_format(&bound, k.address);
    k.pid = fork();
    REQUIRE(k.pid >= 0);
    if (k.pid == 0)
        keeper_run(listener);
    close(listener);
    return k;
}

static void keeper_end(const struct keeper *k)
{
    kill(k->pid, SIGKILL);
    REQUIRE(waitpid(k->pid, NULL, 0) == k->pid);
}

/* Host 0's agent writes where copies go, and where there may be others. */
static void keepers_write(const struct job *j, const char *first, const char *second)
{
    uint8_t secret[AUTH_SECRET];
    struct job_file file;
    char dir[PATH_MAX];
    struct fault why;

    job_dir(j, 0, dir);
    REQUIRE(job_file_read(dir, &file, secret, &why) == 0);
    snprintf(file.keeper, sizeof(file.keeper), "%s%s%s", first, second[0] ? " " : "", second);
    REQUIRE(job_file_write(dir, &file, secret, &why) == 0);
}

/* --- files ------------------------------------------------------------------------------------ */

static void slot_path(const struct job *j, int host, int slot, char path[KEPT_PATH])
{
    char dir[PATH_MAX];

    host_dir(j, host, dir);
    kept_path(path, dir, 0, slot, "words");
}

static void slots_remove(const struct job *j, int host)
{
    char path[KEPT_PATH];

    for (int slot = 0; slot < KEPT_SLOTS; slot++) {
        slot_path(j, host, slot, path);
        unlink(path);
    }
}

static void slot_poke(const struct job *j, int host, int slot, int at)
{
    char path[KEPT_PATH], byte;
    int fd;

    slot_path(j, host, slot, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 4;
    REQUIRE(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

static int slots_count(const struct job *j, int host)
{
    char path[KEPT_PATH];
    int count = 0;

    for (int slot = 0; slot < KEPT_SLOTS; slot++) {
        slot_path(j, host, slot, path);
        count += access(path, F_OK) == 0;
    }
    return count;
}

/* --- versions --------------------------------------------------------------------------------- */

static uint64_t word_of(uint64_t version, int at)
{
    return version << 32 ^ (uint64_t)at;
}

static void keep(ml_group *w, uint64_t version)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = word_of(version, i);
    REQUIRE(ml_keep(w, "words", words, sizeof(words), version) == 0);
}

/* ml_kept finds that version, or none (0), and it is restored. */
static void require_kept(ml_group *w, uint64_t version)
{
    uint64_t found = 0;

    REQUIRE(ml_kept(w, "words", NULL, 0, &found) == (version > 0) && found == version);
    if (version == 0)
        return;
    memset(words, 0, sizeof(words));
    REQUIRE(ml_restore(w, "words", 0, words, sizeof(words)) == 0);
    for (int i = 0; i < WORDS; i++)
        REQUIRE(words[i] == word_of(version, i));
}

/* --- the next host ---------------------------------------------------------------------------- */

static void fetched(struct job *j, int rank)
{
    struct keeper b = keeper_begin(j, 1);
    ml_group *w;

    (void)rank;
    keepers_write(j, b.address, "");
    REQUIRE(ml_init(&w) == 0);
    require_kept(w, 0);
    keep(w, 1);
    keep(w, 2);
    slots_remove(j, 0);
    require_kept(w, 2);
    REQUIRE(slots_count(j, 0) == 1); /* no more than is restored */
    keep(w, 3);
    slots_remove(j, 0);
    require_kept(w, 3);
    keeper_end(&b);
    keep(w, 4); /* on this host alone */
    require_kept(w, 4);
    REQUIRE(ml_finalize() == 0);
}

static void test_fetched(void **state)
{
    const struct job_config plain = {.size = 1, .elastic = true};
    const struct job_config secure = {.size = 1, .elastic = true, .secure = true};

    (void)state;
    job_do(&plain, fetched);
    job_do(&secure, fetched);
}

/* Host 1 is the next one, then host 2, without the other or with it. */
static void moved(struct job *j, int rank)
{
    struct keeper b = keeper_begin(j, 1), c = keeper_begin(j, 2);
    ml_group *w;

    (void)rank;
    keepers_write(j, b.address, "");
    REQUIRE(ml_init(&w) == 0);
    keep(w, 1);
    keep(w, 2);
    /* Nothing has been kept since host 2 is next: the copies are still on host 1. */
    keepers_write(j, c.address, b.address);
    slots_remove(j, 0);
    require_kept(w, 2);
    keep(w, 3);
    REQUIRE(slots_count(j, 2) == 2); /* the version before it has been sent there, too */
    slots_remove(j, 0);
    require_kept(w, 3);
    slots_remove(j, 0);
    slots_remove(j, 1);
    slot_poke(j, 2, 0, KEPT_HEAD + 99); /* version 3 */
    require_kept(w, 2);
    keep(w, 4);
    keeper_end(&b);
    keeper_end(&c);
    keep(w, 5); /* alone */
    c = keeper_begin(j, 2);
    keepers_write(j, c.address, "");
    keep(w, 6);
    slots_remove(j, 0);
    require_kept(w, 6);
    keepers_write(j, "", "");
    keep(w, 7);
    require_kept(w, 7);
    REQUIRE(ml_finalize() == 0);
    keeper_end(&c);
}

static void test_moved(void **state)
{
    const struct job_config alone = {.size = 1, .elastic = true};

    (void)state;
    job_do(&alone, moved);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void damaged(struct job *j, int rank)
{
    struct keeper b = keeper_begin(j, 1);
    char path[KEPT_PATH], other[KEPT_PATH];
    ml_group *w;

    (void)rank;
    keepers_write(j, b.address, "");
    REQUIRE(ml_init(&w) == 0);
    keep(w, 1);
    keep(w, 2);
    slots_remove(j, 0);
    slot_poke(j, 1, 1, KEPT_HEAD + (int)sizeof(words) - 1);
    require_kept(w, 1);
    REQUIRE(slots_count(j, 0) == 1); /* what was damaged is not there */
    slots_remove(j, 0);
    slot_poke(j, 1, 0, 40); /* in the head */
    require_kept(w, 0);
    keep(w, 3);
    keep(w, 4);
    slots_remove(j, 0);
    slot_path(j, 1, 0, path);
    REQUIRE(truncate(path, KEPT_HEAD + 8) == 0);
    slot_path(j, 1, 1, other);
    REQUIRE(truncate(other, KEPT_HEAD + (int)sizeof(words) + 1) == 0);
    require_kept(w, 0);
    keep(w, 5);
    slots_remove(j, 0);
    require_kept(w, 5);
    keeper_end(&b);
    REQUIRE(ml_finalize() == 0);
}

static void test_damage(void **state)
{
    const struct job_config alone = {.size = 1, .elastic = true};

    (void)state;
    job_do(&alone, damaged);
}

/* --- kills inside ml_keep --------------------------------------------------------------------- */

/* Shared with the test: which version is being kept, or 0; and the last one that was. */
static struct progress {
    _Atomic uint64_t inside, done;
} * progress;

/* Gets back what the one before it has left on the next host, and keeps until it is killed. */
static void keep_for_ever(void)
{
    uint64_t version = 0, done = atomic_load(&progress->done);
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_kept(w, "words", NULL, 0, &version) == (done > 0));
    REQUIRE(done == 0 || version == done || version == done + 1);
    require_kept(w, version);
    for (;;) {
        atomic_store(&progress->inside, ++version);
        keep(w, version);
        atomic_store(&progress->done, version);
        atomic_store(&progress->inside, 0);
    }
}

static pid_t life_begin(void)
{
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        keep_for_ever();
    }
    return pid;
}

/* Kills the process once it is inside ml_keep, a little later each time. True if it was still
 * inside. */
static bool kill_inside(const struct job *j, int turn)
{
    uint64_t enough = atomic_load(&progress->done) + 1 + (uint64_t)turn % 3;
    siginfo_t ended = {0};
    pid_t pid;
    int status;

    atomic_store(&progress->inside, 0);
    pid = life_begin();
    while (atomic_load(&progress->inside) == 0 || atomic_load(&progress->done) < enough) {
        REQUIRE(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
        REQUIRE(ended.si_pid == 0);
    }
    for (int i = 0; i < turn * 9973 % 100000; i++)
        atomic_load(&progress->inside);
    kill(pid, SIGKILL);
    REQUIRE(waitpid(pid, &status, 0) == pid && status == SIGKILL);
    slots_remove(j, 0);
    return atomic_load(&progress->inside) != 0;
}

static void kill_many(struct job *j, int rank)
{
    int turns = getenv("MLAUNCH_TEST_LONG") ? 200 : 20, inside = 0;
    struct keeper b = keeper_begin(j, 1);

    (void)rank;
    keepers_write(j, b.address, "");
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(progress != MAP_FAILED);
    for (int turn = 0; inside < turns; turn++)
        inside += kill_inside(j, turn);
    keeper_end(&b);
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
        cmocka_unit_test(test_fetched),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_kills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
