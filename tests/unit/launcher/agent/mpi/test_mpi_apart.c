/* SPDX-License-Identifier: MIT */
/* test_mpi_apart.c: which processes of a rank are told to be MPI programs apart from their job. The
 * rank is this program, executed again: it maps a file with the name of an MPI library, and opens
 * what MPI_Init would. Copies of it seem to have an MPI linked into them: the names of two of its
 * functions are changed there by a letter. */
#include "launcher/agent/mpi/mpi_apart_linux.h"

#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOKS = 5, LIMIT_S = 60 };

static char library[] = "/tmp/test_mpi_apart.XXXXXX/libmpich.so.12";
static char linked[] = "/tmp/test_mpi_apart.XXXXXX/linked";
static const char *program = "/proc/self/exe"; /* the rank's */

int MPID_Inix(void);
int ompi_mpi_inix(void);

int MPID_Inix(void)
{
    return 0;
}

int ompi_mpi_inix(void)
{
    return 0;
}

/* What a rank is. */
struct rank {
    bool maps, opens, forks;
    int sockets;
};

/* The rank's process, or its child. */
static void be(const struct rank *r)
{
    int pair[2], fd;

    alarm(LIMIT_S);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < r->sockets; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || close(pair[0]))
            _exit(1);
    }
    if (r->opens && epoll_create1(0) < 0)
        _exit(1);
    fd = r->maps ? open(library, O_RDONLY) : -1;
    if (r->maps && mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        _exit(1);
    if (write(STDOUT_FILENO, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static int rank_main(char **argv)
{
    struct rank r = {argv[3][0] == '1', argv[3][1] == '1', argv[3][2] == '1', argv[3][3] - '0'};

    memcpy(library, argv[2], sizeof(library));
    if (r.forks && fork()) {
        alarm(LIMIT_S);
        for (;;)
            pause();
    }
    be(&r);
    return 0;
}

static pid_t rank_start(const struct rank *r, const char *variable)
{
    char what[] = {(char)('0' + r->maps), (char)('0' + r->opens), (char)('0' + r->forks),
                   (char)('0' + r->sockets), '\0'};
    char *argv[] = {(char *)(uintptr_t) "rank", (char *)(uintptr_t) "rank", library, what, NULL};
    char *env[] = {(char *)(uintptr_t)variable, NULL}, byte;
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        dup2(ready[1], STDOUT_FILENO);
        execve(program, argv, env);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static struct {
    pid_t pid;
    int looks;
    char found[512];
    struct event_base *base;
} seen;

static pid_t rank_pid(int index, void *arg)
{
    (void)arg;
    assert_int_equal(index, 0);
    if (++seen.looks > LOOKS)
        event_base_loopbreak(seen.base);
    return seen.pid;
}

static void on_found(int index, const char *text, void *arg)
{
    (void)index, (void)arg;
    snprintf(seen.found, sizeof(seen.found), "%s", text);
    event_base_loopbreak(seen.base);
}

/* Whether such a rank is reported, within some looks. */
static bool is_apart(struct rank r, const char *variable)
{
    struct mpi_apart_config config = {.rank_count = 1, .rank_pid = rank_pid, .on_found = on_found};
    struct mpi_apart *m;
    struct fault why;

    memset(&seen, 0, sizeof(seen));
    config.base = seen.base = event_base_new();
    assert_non_null(seen.base);
    seen.pid = rank_start(&r, variable);
    assert_int_equal(mpi_apart_open(&m, &config, &why), 0);
    event_base_dispatch(seen.base);
    mpi_apart_close(m);
    event_base_free(seen.base);
    kill(seen.pid, SIGKILL);
    assert_int_equal(waitpid(seen.pid, NULL, 0), seen.pid);
    assert_true(seen.found[0] || seen.looks > LOOKS);
    return seen.found[0];
}

static void test_apart(void **state)
{
    (void)state;
    assert_true(is_apart((struct rank){.maps = true, .opens = true}, NULL));
    assert_non_null(strstr(seen.found, "has libmpich.so.12, and an environment without"));
    assert_true(is_apart((struct rank){.maps = true, .opens = true}, "PATH=/bin"));
    assert_true(is_apart((struct rank){.maps = true, .sockets = 2}, "PATH=/bin"));
    assert_true(is_apart((struct rank){.maps = true, .opens = true, .forks = true}, NULL));
}

/* A program that has only loaded the library, and one with the socket that it was given. */
static void test_not_initialised(void **state)
{
    (void)state;
    assert_false(is_apart((struct rank){.maps = true}, NULL));
    assert_false(is_apart((struct rank){.maps = true, .sockets = 1}, NULL));
}

static void test_other_programs(void **state)
{
    (void)state;
    assert_false(is_apart((struct rank){.opens = true, .sockets = 2}, NULL));
    assert_false(is_apart((struct rank){.maps = true, .opens = true}, "MLAUNCH_JOB_DIR=/x"));
    assert_false(is_apart((struct rank){.maps = true, .opens = true}, "PMIX_RANK=0"));
    assert_false(is_apart((struct rank){.maps = true, .opens = true}, "PMI_RANK=0"));
    /* Its title lies where the environment was. */
    assert_false(is_apart((struct rank){.maps = true, .opens = true}, "worker 3: busy"));
}

/* Copies this program, with `name` instead of what differs from it in the last letter. */
static void linked_make(const char *name)
{
    static char bytes[1 << 20];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(linked, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    size_t length = strlen(name) - 1, overlap = length + 1, kept = 0;
    ssize_t n;

    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, bytes + kept, sizeof(bytes) - kept)) > 0) {
        size_t size = kept + (size_t)n;

        for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), name, length)); at++) {
            if (at + length < bytes + size && at[length] == 'x')
                at[length] = name[length];
        }
        kept = size < overlap ? size : overlap;
        assert_int_equal(write(to, bytes, size - kept), size - kept);
        memmove(bytes, bytes + size - kept, kept);
    }
    assert_int_equal(write(to, bytes, kept), kept);
    close(from);
    close(to);
    program = linked;
}

/* A program that has its MPI in itself is served by that MPI's protocol alone. */
static void test_linked(void **state)
{
    struct rank opens = {.opens = true};

    (void)state;
    linked_make("MPID_Init");
    assert_true(is_apart(opens, NULL));
    assert_non_null(strstr(seen.found, "has MPICH linked into it, and an environment without"));
    assert_true(is_apart((struct rank){.opens = true, .forks = true}, "PATH=/bin"));
    assert_true(is_apart(opens, "PMIX_RANK=0"));
    assert_non_null(strstr(seen.found, "has MPICH linked into it, and is not served by PMI-1"));
    assert_false(is_apart(opens, "PMI_RANK=0"));
    assert_false(is_apart((struct rank){.sockets = 1}, NULL));
    linked_make("ompi_mpi_init");
    assert_true(is_apart(opens, NULL));
    assert_non_null(strstr(seen.found, "has Open MPI linked into it, and an environment without"));
    assert_true(is_apart(opens, "PMI_RANK=0"));
    assert_non_null(strstr(seen.found, "is not served by PMIx, so that it is a world of one. Start "
                                       "the job with --mpi pmix"));
    assert_false(is_apart(opens, "PMIX_RANK=0"));
    unlink(linked);
    program = "/proc/self/exe";
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_not_initialised),
        cmocka_unit_test(test_other_programs),
        cmocka_unit_test(test_linked),
    };
    char *slash = strrchr(library, '/');
    int failed, fd;

    if (argc == 4 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv);
    *slash = '\0';
    if (!mkdtemp(library))
        return 1;
    memcpy(linked, library, (size_t)(slash - library));
    *slash = '/';
    fd = open(library, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 1))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(library);
    *slash = '\0';
    rmdir(library);
    return failed;
}
