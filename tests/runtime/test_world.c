/* SPDX-License-Identifier: MIT */
/* test_world.c: which process is a rank, when, and how often: init, finalize, claims, generations,
 * forks.
 * TEST_TIER=quick */
#include "common/agent_to_rank.h"
#include "tests/runtime/test_job.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config pair = {.size = 2};
static const struct job_config four = {.size = 4, .hosts = 2, .backend = "tcp"};
static const char *program; /* this one, to be executed again */

static int sum_of_ranks(ml_group *w)
{
    int v = ml_rank(w), sum = -1;

    REQUIRE(ml_all_reduce(w, &v, &sum, 1, ML_INT32, ML_SUM) == 0);
    return sum;
}

/* A process that belongs to no job. */
static void alone(struct job *j, int rank)
{
    ml_group *w, *part;
    char buf[4] = "abc", got[4];

    (void)j, (void)rank;
    unsetenv("MLAUNCH_RANK");
    unsetenv("MLAUNCH_JOB_DIR");
    REQUIRE(ml_finalize() == ML_ERR_STATE);
    REQUIRE(ml_init(NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_init(&w) == 0 && ml_rank(w) == 0 && ml_size(w) == 1);
    REQUIRE(ml_host(w, 0) && !ml_host(w, 1) && !ml_host(NULL, 0));
    REQUIRE(ml_rank(NULL) == ML_ERR_ARGUMENT && ml_size(NULL) == ML_ERR_ARGUMENT);
    REQUIRE(sum_of_ranks(w) == 0 && ml_barrier(w) == 0 && ml_should_stop(w) == 0);
    REQUIRE(ml_send(w, buf, 4, 0) == 0 && ml_recv(w, got, 4, 0) == 0 && !strcmp(got, "abc"));
    REQUIRE(ml_split(w, 3, 0, &part) == 0 && ml_size(part) == 1 && sum_of_ranks(part) == 0);
    REQUIRE(ml_split(part, -1, 0, &part) == 0 && !part);
    REQUIRE(ml_finalize() == 0);
}

static void test_alone(void **state)
{
    struct job_config one = {.size = 1};

    (void)state;
    job_do(&one, alone);
}

/* Several calls of ml_init, and three generations in one process. */
static void thrice(struct job *j, int rank)
{
    ml_group *w, *again;

    for (int i = 0; i < 3; i++) {
        REQUIRE(ml_init(&w) == 0 && ml_init(&again) == 0 && w == again);
        REQUIRE(ml_rank(w) == rank && !strcmp(ml_host(w, 3), "host1"));
        REQUIRE(ml_finalize() == 0);
        REQUIRE(sum_of_ranks(w) == 6);
        REQUIRE(ml_finalize() == 0);
        REQUIRE(ml_finalize() == ML_ERR_STATE);
    }
    (void)j;
}

/* `bash -c './step1; ./step2'`: one process after the other claims the rank; the first one just
 * ends, as `true` would, or calls ml_finalize. */
static void step(void)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(sum_of_ranks(w) == 1);
    REQUIRE(ml_finalize() == 0);
    exit(0);
}

static void steps(struct job *j, int rank)
{
    (void)j, (void)rank;
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            execl(program, program, "step", (char *)NULL);
            _exit(127);
        }
        REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

static void test_generations(void **state)
{
    (void)state;
    job_do(&four, thrice);
    job_do(&pair, steps);
}

/* While one process is the rank, no other can be, not even its forked child, which keeps none of
 * its connections. */
static void held(struct job *j, int rank)
{
    int status, pipes[2];
    ml_group *w;
    char byte;
    pid_t pid;

    (void)j, (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(pipe(pipes) == 0);
    pid = fork();
    if (pid == 0) {
        ml_group *mine = NULL;

        REQUIRE(ml_barrier(w) == ML_ERR_STATE);
        REQUIRE(ml_should_stop(w) == ML_ERR_STATE);
        REQUIRE_TEXT(ml_error(), "forked child");
        REQUIRE(ml_init(&mine) == ML_ERR_STATE && ml_finalize() == ML_ERR_STATE);
        ml_group_free(w);
        close(pipes[1]);
        REQUIRE(read(pipes[0], &byte, 1) == 0); /* lives until the parent has finalized */
        _exit(0);
    }
    close(pipes[0]);
    if (fork() == 0) {
        execl(program, program, "claim", (char *)NULL);
        _exit(127);
    }
    REQUIRE(wait(&status) > 0 && status == 0);
    REQUIRE(sum_of_ranks(w) == 1);
    REQUIRE(ml_finalize() == 0);
    close(pipes[1]);
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

static void claim(void)
{
    ml_group *w;
    char pid[32];

    REQUIRE(ml_init(&w) == ML_ERR_STATE);
    snprintf(pid, sizeof(pid), "held by process %d", (int)getppid());
    REQUIRE_TEXT(ml_error(), pid);
    exit(0);
}

static void test_held(void **state)
{
    (void)state;
    job_do(&pair, held);
}

/* The sentence names a rank that never comes, and one that has ended. */
static void absent(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    if (rank == 1) {
        char path[PATH_MAX];

        /* Wait until the other has given up. */
        job_dir(j, 0, path);
        strcat(path, "/gave-up");
        while (access(path, F_OK) != 0)
            sched_yield();
        return;
    }
    REQUIRE(ml_init(&w) == ML_ERR_TIMEOUT);
    REQUIRE_TEXT(ml_error(), "rank 1 on host host0");
    REQUIRE(ml_finalize() == ML_ERR_STATE);
    {
        char path[PATH_MAX];

        job_dir(j, 0, path);
        strcat(path, "/gave-up");
        REQUIRE(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
    }
}

static void ended(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    if (rank == 1)
        return;
    REQUIRE(ml_init(&w) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
}

static void test_absent(void **state)
{
    struct job_config short_patience = {.size = 2, .init_timeout_ms = 300};
    struct job j;

    (void)state;
    job_do(&short_patience, absent);
    job_open(&j, &pair);
    job_spawn(&j, 1, ended);
    assert_int_equal(job_wait(&j, 1), 0);
    job_spawn(&j, 0, ended);
    assert_int_equal(job_wait(&j, 0), 0);
    job_close(&j);
}

/* --eager: ml_init before main(), which the program's own call takes over. */
static void eager(struct job *j, int rank)
{
    char pid[16];

    (void)j, (void)rank;
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("MLAUNCH_EAGER", pid, 1);
    execl(program, program, "step", (char *)NULL);
    _exit(127);
}

static void test_eager(void **state)
{
    (void)state;
    job_do(&pair, eager);
}

/* No standard descriptors, as in a daemon. None of the library's may take their place, or what the
 * program prints would go to another rank. */
static void closed_stdio(struct job *j, int rank)
{
    ml_group *w, *part;
    int one = 1;

    (void)j, (void)rank;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    REQUIRE(ml_init(&w) == 0 && ml_split(w, 0, 0, &part) == 0);
    if (rank == 0)
        job_be_busy(20); /* so that bells are rung */
    REQUIRE(sum_of_ranks(w) == 1 && sum_of_ranks(part) == 1);
    for (int fd = 0; fd < 3; fd++)
        REQUIRE(write(fd, &one, sizeof(one)) < 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_closed_stdio(void **state)
{
    static const struct job_config tcp = {.size = 2, .backend = "tcp", .local_net = true};

    (void)state;
    job_do(&pair, closed_stdio);
    job_do(&tcp, closed_stdio);
}

/* --starting-port, and strangers that connect to that port; some send nonsense, some nothing. They
 * are dropped and disturb no rank. The port is outside the range from which the system assigns
 * ports, for instance to another test that runs beside this one. */
static int free_port(int *listener)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 20000 + getpid() % 10000;

    do {
        a.sin_port = htons((uint16_t)port++);
    } while (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 && port < 32000);
    assert_int_equal(listen(fd, 1), 0);
    if (listener)
        *listener = fd;
    else
        close(fd);
    return ntohs(a.sin_port);
}

static void be_a_stranger(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)port)};
    int held[200], count = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0;; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
            close(fd);
            sched_yield();
            continue;
        }
        if (i % 2 && send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) < 0)
            sched_yield();
        if (count == 200)
            while (count)
                close(held[--count]);
        held[count++] = fd;
    }
}

static void thrice_of_two(struct job *j, int rank)
{
    ml_group *w, *part;

    (void)j;
    for (int i = 0; i < 3; i++) {
        REQUIRE(ml_init(&w) == 0 && sum_of_ranks(w) == 1);
        REQUIRE(ml_split(w, 0, -rank, &part) == 0 && sum_of_ranks(part) == 1);
        REQUIRE(ml_finalize() == 0);
    }
}

static void taken(struct job *j, int rank)
{
    ml_group *w;

    (void)j, (void)rank;
    REQUIRE(ml_init(&w) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "rank 1 on host host0 cannot listen");
}

static void test_ports(void **state)
{
    /* Rank r listens on starting_port + 1 + r; of two ranks, only rank 1 does. */
    struct job_config config = {.size = 2, .backend = "tcp", .local_net = true};
    int status, listener, port = free_port(NULL);
    pid_t stranger;

    (void)state;
    config.starting_port = port - 2;
    stranger = fork();
    if (stranger == 0)
        be_a_stranger(port);
    job_do(&config, thrice_of_two);
    kill(stranger, SIGKILL);
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    config.starting_port = free_port(&listener) - 2;
    job_do(&config, taken);
    close(listener);
}

/* A broken environment is reported as an error. */
static void environment(struct job *j, int rank)
{
    ml_group *w;

    (void)j, (void)rank;
    setenv("MLAUNCH_RANK", "1", 1);
    REQUIRE(ml_init(&w) == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "MLAUNCH_RANK is \"1\"");
    setenv("MLAUNCH_RANK", "zero", 1);
    REQUIRE(ml_init(&w) == ML_ERR_STATE);
    setenv("MLAUNCH_RANK", "0", 1);
    setenv("MLAUNCH_JOB_DIR", "/nowhere", 1);
    REQUIRE(ml_init(&w) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "/nowhere");
    unsetenv("MLAUNCH_JOB_DIR");
    REQUIRE(ml_init(&w) == ML_ERR_STATE);
}

static void test_environment(void **state)
{
    struct job_config one = {.size = 1};

    (void)state;
    job_do(&one, environment);
}

/* After ml_finalize a program still has its handles. */
static void expect_gone(ml_group *g)
{
    ml_request *r = NULL;
    ml_group *part;
    int v = 0;

    REQUIRE(ml_all_reduce(g, &v, &v, 1, ML_INT32, ML_SUM) == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "the group is gone");
    REQUIRE(ml_start_all_reduce(g, &v, &v, 1, ML_INT32, ML_SUM, &r) == ML_ERR_STATE && !r);
    REQUIRE(ml_barrier(g) == ML_ERR_STATE);
    REQUIRE(ml_broadcast(g, &v, sizeof(v), 0) == ML_ERR_STATE);
    REQUIRE(ml_send(g, &v, sizeof(v), 0) == ML_ERR_STATE);
    REQUIRE(ml_recv(g, &v, sizeof(v), 0) == ML_ERR_STATE);
    REQUIRE(ml_split(g, 0, 0, &part) == ML_ERR_STATE);
    REQUIRE(ml_rank(g) == ML_ERR_STATE && ml_size(g) == ML_ERR_STATE && !ml_host(g, 0));
    ml_group_free(g);
}

static void outlived(struct job *j, int rank)
{
    ml_request *r;
    ml_group *w, *part, *freed;
    int v = 1, n = 0;

    (void)rank;
    for (int i = 0; i < 3; i++) {
        REQUIRE(ml_init(&w) == 0);
        REQUIRE(ml_split(w, 0, 0, &part) == 0 && ml_split(w, 0, 0, &freed) == 0);
        ml_group_free(freed);
        expect_gone(freed);
        REQUIRE(ml_start_all_reduce(part, &v, &n, 1, ML_INT32, ML_SUM, &r) == 0);
        REQUIRE(ml_finalize() == 0);
        expect_gone(w);
        expect_gone(part);
        REQUIRE(ml_wait(r) == 0);
        REQUIRE(n == j->config.size);
    }
}

static void test_outlived_handles(void **state)
{
    static const struct job_config one = {.size = 1}, shm = {.size = 2},
                                   tcp = {.size = 2, .backend = "tcp", .local_net = true};

    (void)state;
    job_do(&one, outlived);
    job_do(&shm, outlived);
    job_do(&tcp, outlived);
}

/* --- who can't hear whether it is to stop ----------------------------------------------------- */

/* On rank 3's host there is no file in which its agent could say it. */
static void deaf(struct job *j, int rank)
{
    char dir[PATH_MAX], path[PATH_MAX + 8];
    ml_group *w;

    job_dir(j, j->host_of[3], dir);
    snprintf(path, sizeof(path), "%s/" STOP_MARK_FILE, dir);
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(rank != 3 || mkdir(path, 0700) == 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_should_stop(w) == ML_ERR_SYSTEM);
    if (j->host_of[rank] == j->host_of[3])
        REQUIRE_TEXT(ml_error(), "by which a rank hears that its job is to stop");
    else
        REQUIRE_TEXT(ml_error(), "another rank can't hear whether the job is to stop");
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(rank != 3 || rmdir(path) == 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_should_stop(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_deaf(void **state)
{
    (void)state;
    job_do(&four, deaf);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_eager),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_closed_stdio),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_outlived_handles),
        cmocka_unit_test(test_deaf),
    };

    program = "/proc/self/exe";
    if (argc == 2 && strcmp(argv[1], "step") == 0)
        step();
    if (argc == 2 && strcmp(argv[1], "claim") == 0)
        claim();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
