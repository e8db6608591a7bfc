/* SPDX-License-Identifier: MIT */
/*
 * recorder: ranks that make a few calls, and part.
 *
 *     recorder well           calls of every kind, in the world and in halves of it
 *     recorder differ         in call 4 rank 2 broadcasts, the others all_reduce, which they are
 *                             about to begin by then
 *     recorder late           rank 1 never makes call 4, and says "late"
 *     recorder killed         rank 1 is killed before call 1004, when the others wait in it
 *     recorder twice          joins twice
 *     recorder flip RANK      as well; RANK has one bit of its numbers changed before call 3
 */
#include "common/mlaunch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1000 };
static float v[COUNT], w[4 * COUNT];

static void check(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "%s\n", ml_error());
        exit(3);
    }
}

static void begin(ml_group *g, int calls)
{
    for (int i = 0; i < calls; i++)
        check(ml_all_reduce(g, v, v, COUNT, ML_FLOAT32, ML_SUM));
}

static void talk(ml_group *g)
{
    int me = ml_rank(g), n = ml_size(g);
    ml_request *r[2];

    check(ml_sendrecv(g, v, 8, (me + 1) % n, w, 8, (me + n - 1) % n));
    check(ml_start_recv(g, w, 4000, (me + n - 1) % n, &r[0]));
    check(ml_start_send(g, v, 4000, (me + 1) % n, &r[1]));
    check(ml_wait(r[0]));
    check(ml_wait(r[1]));
    if (me == 0)
        check(ml_send_tag(g, v, 12, 1, 7));
    if (me == 1)
        check(ml_recv_tag(g, w, 4000, ML_ANY, ML_ANY, NULL));
}

static void well(ml_group *g)
{
    ml_group *half;

    begin(g, 2);
    check(ml_broadcast(g, v, sizeof(v), 1));
    check(ml_split(g, ml_rank(g) % 2, 0, &half));
    check(ml_all_gather(half, v, w, sizeof(v)));
    ml_group_free(half);
    talk(g);
    check(ml_barrier(g));
}

/* Until all others wait in a call, as their notes in the job directory say. */
static void await_waiting(const ml_group *g, int odd)
{
    char path[4096];

    for (int i = 0; i < ml_size(g); i++) {
        snprintf(path, sizeof(path), "%s/rank.%d.waiting.0", getenv("MLAUNCH_JOB_DIR"), i);
        while (i != odd && access(path, F_OK) != 0)
            usleep(1000);
    }
}

/* Returns on `odd` when all others are about to begin their next call. */
static void await_others(ml_group *g, int odd)
{
    if (ml_rank(g) != odd)
        check(ml_send(g, v, 8, odd));
    for (int i = 0; ml_rank(g) == odd && i < ml_size(g); i++)
        if (i != odd)
            check(ml_recv(g, v, 8, i));
}

static void part(ml_group *g, const char *how)
{
    int odd = strcmp(how, "differ") == 0 ? 2 : 1;

    begin(g, strcmp(how, "killed") == 0 ? 1003 : 3);
    await_others(g, odd);
    if (ml_rank(g) == odd && strcmp(how, "differ") == 0)
        check(ml_broadcast(g, v, sizeof(v), 2));
    if (ml_rank(g) == odd && strcmp(how, "late") == 0) {
        puts("late");
        fflush(stdout);
        pause();
    }
    if (ml_rank(g) == odd && strcmp(how, "killed") == 0) {
        await_waiting(g, odd);
        raise(SIGKILL);
    }
    begin(g, 1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";
    ml_group *g;

    check(ml_init(&g));
    for (int i = 0; i < COUNT; i++)
        v[i] = (float)(i + ml_rank(g));
    if (strcmp(how, "well") == 0) {
        well(g);
    } else if (strcmp(how, "twice") == 0) {
        begin(g, 2);
        check(ml_finalize());
        check(ml_init(&g));
        begin(g, 3);
    } else if (strcmp(how, "flip") == 0) {
        begin(g, 2);
        if (ml_rank(g) == atoi(argv[2]))
            ((unsigned char *)v)[2001] ^= 1;
        begin(g, 2);
        talk(g);
    } else {
        part(g, how);
    }
    check(ml_finalize());
    return 0;
}
