/* SPDX-License-Identifier: MIT */
/*
 * faulty: ranks that fail on demand, and ranks that are hard to end.
 *
 *     faulty call RANK HOW    all call all_reduce for ever; after 20 calls RANK does HOW: exit:N,
 *                             kill:N, abort
 *     faulty absent RANK      RANK exits with 0 and never calls ml_init, the others call it
 *     faulty flooded N FILE   rank N and those after it wait for FILE before ml_init, the others
 *                             after it; then they split the world again and again, and leave
 *     faulty kept FILE        waits for FILE before ml_init, keeps some memory under the name
 *                             "state", and ends once FILE is gone
 *     faulty repaired FILE    the last rank ends with 1; rank 0 calls ml_repair, the others wait
 *                             for FILE before it; then they leave
 *     faulty zoo N            each rank, by its number modulo 4: has left a daemon behind (two
 *                             forks, setsid); ignores signals; is stopped; has N children in
 *                             sessions of their own
 *
 * All print "ready" when the test may harm them. After an error a rank prints it and exits with 3.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say_ready(void)
{
    (void)!write(STDOUT_FILENO, "ready\n", 6);
}

static void fail_as(const char *how)
{
    if (strncmp(how, "exit:", 5) == 0)
        _exit(atoi(how + 5));
    if (strncmp(how, "kill:", 5) == 0) {
        signal(atoi(how + 5), SIG_DFL); /* a sanitizer's handler would exit instead */
        raise(atoi(how + 5));
    }
    ml_abort(9, "as asked");
}

static int failed(void)
{
    fprintf(stderr, "%s\n", ml_error());
    return 3;
}

static int call(int who, const char *how)
{
    ml_group *world;
    float v[1000] = {0};

    if (ml_init(&world) < 0)
        return failed();
    for (int i = 0;; i++) {
        if (i == 20)
            say_ready();
        if (i == 20 && ml_rank(world) == who)
            fail_as(how);
        if (ml_all_reduce(world, v, v, 1000, ML_FLOAT32, ML_SUM) < 0)
            return failed();
    }
}

static int absent(int who)
{
    const char *rank = getenv("MLAUNCH_RANK");
    ml_group *world;

    say_ready();
    if (rank && atoi(rank) == who)
        return 0;
    return ml_init(&world) < 0 || ml_barrier(world) < 0 ? failed() : ml_finalize() < 0;
}

static void wait_for_file(const char *file)
{
    while (access(file, F_OK) != 0)
        usleep(10000);
}

static int flooded(int first, const char *file)
{
    const char *rank = getenv("MLAUNCH_RANK");
    bool is_late = rank && atoi(rank) >= first;
    ml_group *world, *part;
    float v[100] = {0};

    say_ready();
    if (is_late)
        wait_for_file(file);
    if (ml_init(&world) < 0)
        return failed();
    if (!is_late)
        wait_for_file(file);
    for (int i = 0; i < 20; i++) {
        if (ml_split(world, i % 2, 0, &part) < 0 ||
            ml_all_reduce(part, v, v, 100, ML_FLOAT32, ML_SUM) < 0)
            return failed();
        ml_group_free(part);
    }
    return ml_finalize() < 0 ? failed() : 0;
}

static int kept(const char *file)
{
    static char memory[100000];
    uint64_t version;
    ml_group *world;

    say_ready();
    wait_for_file(file);
    if (ml_init(&world) < 0 || ml_kept(world, "state", NULL, 0, &version) < 0 ||
        ml_keep(world, "state", memory, sizeof(memory), 1) < 0)
        return failed();
    while (access(file, F_OK) == 0)
        usleep(10000);
    return ml_finalize() < 0 ? failed() : 0;
}

static int repaired(const char *file)
{
    ml_group *world;

    if (ml_init(&world) < 0 || ml_barrier(world) < 0)
        return failed();
    if (ml_rank(world) == ml_size(world) - 1)
        _exit(1);
    if (ml_barrier(world) == 0)
        return failed();
    say_ready();
    if (ml_rank(world) != 0)
        wait_for_file(file);
    if (ml_repair(world, &world, NULL) < 0 || ml_barrier(world) < 0)
        return failed();
    return ml_finalize() < 0 ? failed() : 0;
}

static void be_deaf(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        signal(signals[i], SIG_IGN);
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void leave_a_daemon(void)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    be_deaf();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    sleep_for_ever();
}

static int zoo(int children)
{
    ml_group *world;

    if (ml_init(&world) < 0 || ml_barrier(world) < 0)
        return failed();
    switch (ml_rank(world) % 4) {
    case 0:
        leave_a_daemon();
        break;
    case 1:
        be_deaf();
        break;
    case 2:
        say_ready();
        raise(SIGSTOP);
        break;
    default:
        for (int i = 0; i < children; i++) {
            if (fork() == 0) {
                setsid();
                be_deaf();
                sleep_for_ever();
            }
        }
    }
    say_ready();
    sleep_for_ever();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "call") == 0)
        return call(atoi(argv[2]), argv[3]);
    if (argc == 3 && strcmp(argv[1], "absent") == 0)
        return absent(atoi(argv[2]));
    if (argc == 4 && strcmp(argv[1], "flooded") == 0)
        return flooded(atoi(argv[2]), argv[3]);
    if (argc == 3 && strcmp(argv[1], "kept") == 0)
        return kept(argv[2]);
    if (argc == 3 && strcmp(argv[1], "repaired") == 0)
        return repaired(argv[2]);
    if (argc == 3 && strcmp(argv[1], "zoo") == 0)
        return zoo(atoi(argv[2]));
    fprintf(stderr, "usage: faulty call RANK HOW | absent RANK | flooded N FILE | kept FILE | "
                    "repaired FILE | zoo CHILDREN\n");
    return 2;
}
