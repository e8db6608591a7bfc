/* SPDX-License-Identifier: MIT */
/*
 * first_use HOW [ARG]: ranks, one a host, whose queue pairs come up with their first message.
 *
 *     middle COMMAND  rank 0 sends to rank 1, and each rank says how many queue pairs it has had
 *     busy FILE   rank 1 computes until the file is there, and only then receives from rank 0
 *     dies FILE   … and then kills itself
 *     others      rank 1 waits for rank 2, and meanwhile answers rank 0 in another group
 *     at-once N   in each of N groups, all ranks send to all at once
 *     sums N      when rank 0 has read a line, N sums are made and compared
 *
 * Rank 0 prints "running" on stdout when what the test is to do meanwhile is due.
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 20000, MOST = 8 };

static int rank;
static ml_group *world;

/* Fails the program if a call has. */
static void must(int rc)
{
    if (rc >= 0)
        return;
    printf("rank %d: error %d, %s\n", rank, rc, ml_error());
    exit(1);
}

static void running(void)
{
    if (rank == 0)
        printf("running\n");
    fflush(stdout);
}

/* The command prints how many queue pairs this program has on the host of the rank that it gets. */
static void say_pairs(const char *command, const char *when)
{
    char line[512];
    FILE *f;

    snprintf(line, sizeof(line), "%s %d", command, rank);
    f = popen(line, "re"); /* NOLINT(cert-env33-c): the test's own */
    if (!f || !fgets(line, sizeof(line), f) || pclose(f) != 0)
        snprintf(line, sizeof(line), "unknown\n");
    line[strcspn(line, "\n")] = '\0';
    printf("rank %d: %s queue pairs %s\n", rank, line, when);
}

static void middle(const char *command)
{
    int number = 17;

    say_pairs(command, "after ml_init");
    if (rank == 0)
        must(ml_send(world, &number, sizeof(number), 1));
    number = 0;
    if (rank == 1)
        must(ml_recv(world, &number, sizeof(number), 0));
    if (rank == 1)
        printf("rank 1: got %d\n", number);
    say_pairs(command, "at the end");
}

static void late(const char *file, int dies)
{
    int number = 17;

    running();
    if (rank == 0)
        must(ml_send(world, &number, sizeof(number), 1));
    if (rank != 1)
        return;
    while (access(file, F_OK) != 0)
        continue;
    if (dies)
        raise(SIGKILL);
    number = 0;
    must(ml_recv(world, &number, sizeof(number), 0));
    printf("rank 1: got %d\n", number);
}

static void others(void)
{
    ml_group *two;
    int number = rank;

    must(ml_split(world, rank < 2 ? 0 : 1, 0, &two));
    if (rank == 0) {
        must(ml_send(two, &number, sizeof(number), 1));
        must(ml_send(world, &number, sizeof(number), 2));
    } else if (rank == 2) {
        must(ml_recv(world, &number, sizeof(number), 0));
        number = 2;
        must(ml_send(world, &number, sizeof(number), 1));
    } else {
        must(ml_recv(world, &number, sizeof(number), 2));
        printf("rank 1: got %d in the world\n", number);
        must(ml_recv(two, &number, sizeof(number), 0));
        printf("rank 1: got %d in the group of two\n", number);
    }
    ml_group_free(two);
}

static void at_once(long groups)
{
    int size = ml_size(world), wrong = 0;
    int out[MOST], in[MOST];
    ml_group *g;

    for (long i = 0; i < groups; i++) {
        must(ml_split(world, 0, 0, &g));
        for (int n = 0; n < 3; n++) {
            for (int k = 0; k < size; k++)
                out[k] = (int)(1000 * i + 100 * n + 10 * rank + k);
            must(ml_all_to_all(g, out, in, sizeof(int)));
            for (int k = 0; k < size; k++)
                wrong += in[k] != (int)(1000 * i + 100 * n + 10 * k + rank);
        }
        ml_group_free(g);
    }
    printf("rank %d: %ld groups, %d wrong\n", rank, groups, wrong);
}

static void sums(long rounds)
{
    static int64_t mine[COUNT], all[COUNT];
    int size = ml_size(world), wrong = 0;

    running();
    while (rank == 0 && getchar() != '\n')
        continue;
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < COUNT; k++)
            mine[k] = i + (int64_t)k * (rank + 1);
        must(ml_all_reduce(world, mine, all, COUNT, ML_INT64, ML_SUM));
        for (int k = 0; k < COUNT; k++)
            wrong += all[k] != i * size + (int64_t)k * size * (size + 1) / 2;
    }
    printf("rank %d: %ld sums, %d wrong\n", rank, rounds, wrong);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "1";

    signal(SIGTERM, SIG_IGN); /* mlaunch may know of a failure before the rank has reported it */
    must(ml_init(&world));
    rank = ml_rank(world);
    if (strcmp(how, "middle") == 0)
        middle(arg);
    else if (strcmp(how, "busy") == 0 || strcmp(how, "dies") == 0)
        late(arg, *how == 'd');
    else if (strcmp(how, "others") == 0)
        others();
    else if (strcmp(how, "at-once") == 0)
        at_once(strtol(arg, NULL, 10));
    else
        sums(strtol(arg, NULL, 10));
    must(ml_finalize());
    return 0;
}
