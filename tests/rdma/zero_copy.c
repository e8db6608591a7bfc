/* SPDX-License-Identifier: MIT */
/*
 * zero_copy: what long messages between memory of ml_alloc may do, and what they must not do.
 *
 *   passed SIZE ROUNDS  each rank sends SIZE bytes to the next rank and receives the same number
 *   from the
 *                       previous one, other bytes in every round, all compared; then prints how
 *                       long the longest round took. Rank 0 prints "running" on stdout after the
 *                       third round.
 *   stopped SIZE        two ranks: "running" once rank 1 waits for SIZE bytes and is stopped
 *                       (SIGSTOP). Rank 0 sends them when it has read a line from stdin; then a
 *                       child of rank 1 prints how many of them lie in the receive buffer, where
 *                       only the device can have put them.
 *   broken SIZE         three ranks, 1 and 2 on one host: rank 1 gathers SIZE bytes from each. When
 *                       rank 0's begin to arrive, rank 2 is killed; rank 1 prints whether its call
 *                       failed, and whether its memory changed afterwards, while rank 0 had more
 *                       to write.
 *   timed SIZE ROUNDS   as passed, unchecked; medians in us with memory of malloc, with memory of
 *                       ml_alloc, and with memory of ml_alloc that the call has to register first.
 *
 * Status 1 if a call failed that should not.
 */
#include "common/mlaunch.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILL = 0xa5, WAIT_MS = 30000, WATCH_MS = 3000 };

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "zero_copy: %s\n", ml_error());
    exit(1);
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static unsigned char *take(size_t size)
{
    void *memory = NULL;

    must(ml_alloc(size, &memory));
    return memory;
}

/* --- passed ------------------------------------------------------------------------------------
 */

static unsigned char byte_of(int rank, long round, size_t index)
{
    return (unsigned char)((size_t)rank * 101 + (size_t)round * 13 + index * 7 + (index >> 12));
}

static size_t pass_once(ml_group *w, unsigned char *out, unsigned char *in, size_t size, long round)
{
    int rank = ml_rank(w), n = ml_size(w), from = (rank + n - 1) % n;
    size_t wrong = 0;

    for (size_t i = 0; i < size; i++)
        out[i] = byte_of(rank, round, i);
    memset(in, 0, size);
    must(ml_sendrecv(w, out, size, (rank + 1) % n, in, size, from));
    for (size_t i = 0; i < size; i++)
        wrong += in[i] != byte_of(from, round, i);
    return wrong;
}

static int passed(ml_group *w, size_t size, long rounds)
{
    unsigned char *out = take(size), *in = take(size);
    long longest = 0;
    size_t wrong = 0;

    for (long round = 0; round < rounds; round++) {
        long begun = now_ms();

        wrong += pass_once(w, out, in, size, round);
        longest = now_ms() - begun > longest ? now_ms() - begun : longest;
        if (ml_rank(w) == 0 && round == 2)
            say("running");
    }
    printf("rank %d: %ld rounds, %zu wrong, longest %ld ms\n", ml_rank(w), rounds, wrong, longest);
    ml_free(out);
    ml_free(in);
    return wrong != 0;
}

/* --- timed -------------------------------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double pass_timed(ml_group *w, unsigned char *out, unsigned char *in, size_t size)
{
    int rank = ml_rank(w), n = ml_size(w);
    struct timespec from, to;

    memset(out, FILL, size);
    memset(in, 0, size);
    must(ml_barrier(w));
    clock_gettime(CLOCK_MONOTONIC, &from);
    must(ml_sendrecv(w, out, size, (rank + 1) % n, in, size, (rank + n - 1) % n));
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
}

static int timed(ml_group *w, size_t size, size_t rounds)
{
    enum { COPIED, REGISTERED, FRESH, KINDS };
    unsigned char *plain = malloc(2 * size), *known = take(2 * size);
    double *times = calloc(KINDS * rounds, sizeof(*times));

    if (!plain || !times || !rounds)
        return 1;
    for (size_t i = 0; i < rounds; i++) {
        unsigned char *fresh = take(2 * size);

        times[COPIED * rounds + i] = pass_timed(w, plain, plain + size, size);
        times[REGISTERED * rounds + i] = pass_timed(w, known, known + size, size);
        times[FRESH * rounds + i] = pass_timed(w, fresh, fresh + size, size);
        ml_free(fresh);
    }
    for (size_t kind = 0; kind < KINDS; kind++)
        qsort(times + kind * rounds, rounds, sizeof(*times), compare);
    if (ml_rank(w) == 0)
        printf("%zu bytes: copied %.0f us, registered %.0f us, registered by the call %.0f us\n",
               size, times[rounds / 2], times[rounds + rounds / 2], times[2 * rounds + rounds / 2]);
    ml_free(known);
    free(plain);
    free(times);
    return 0;
}

/* --- the onlooker: a child that looks at its parent's memory -----------------------------------
 */

static int onlooker_pipe = -1;

/* A child that gets the address of the parent's buffer once it is known. */
static void onlooker_start(void (*look)(pid_t parent, unsigned char *at, size_t size), size_t size)
{
    unsigned char *at;
    int ends[2];

    if (pipe(ends))
        exit(1);
    if (fork() > 0) {
        close(ends[0]);
        onlooker_pipe = ends[1];
        return;
    }
    close(ends[1]);
    if (read(ends[0], &at, sizeof(at)) == sizeof(at))
        look(getppid(), at, size);
    _exit(0);
}

static void onlooker_tell(unsigned char *at)
{
    if (write(onlooker_pipe, &at, sizeof(at)) != sizeof(at))
        exit(1);
}

static int byte_at(pid_t parent, unsigned char *at)
{
    unsigned char byte = 0;
    struct iovec here = {&byte, 1}, there = {at, 1};

    return process_vm_readv(parent, &here, 1, &there, 1, 0) == 1 ? byte : -1;
}

static bool wait_for_byte(pid_t parent, unsigned char *at)
{
    long until = now_ms() + WAIT_MS;

    while (byte_at(parent, at) != FILL) {
        if (now_ms() > until)
            return false;
        poll(NULL, 0, 1);
    }
    return true;
}

/* Whether /proc/PID/FILE has `part` in it, within the time. */
static bool wait_for_proc(pid_t pid, const char *file, const char *part)
{
    long until = now_ms() + WAIT_MS;
    char path[64], text[512];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    while (now_ms() < until) {
        FILE *f = fopen(path, "r");
        size_t size = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

        if (f)
            fclose(f);
        text[size] = 0;
        if (strstr(text, part))
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

/* --- stopped -----------------------------------------------------------------------------------
 */

static void stop_and_look(pid_t parent, unsigned char *at, size_t size)
{
    size_t there = 0;

    /* It sleeps in poll(): so it has announced where the message is to lie. */
    if (!wait_for_proc(parent, "wchan", "poll") || kill(parent, SIGSTOP) ||
        !wait_for_proc(parent, "stat", ") T ")) {
        say("rank 1 can't be stopped");
        return;
    }
    say("running");
    wait_for_byte(parent, at + size - 1);
    for (size_t i = 0; i < size; i += 512)
        there += byte_at(parent, at + i) == FILL ? 512 : 0;
    printf("%zu of %zu bytes are there while their receiver is stopped\n", there, size);
    fflush(stdout);
    kill(parent, SIGCONT);
}

static int stopped(ml_group *w, size_t size)
{
    unsigned char *buf = take(size);
    size_t wrong = 0;

    must(ml_barrier(w)); /* a rank that is stopped later can't be connected to */
    if (ml_rank(w) == 0) {
        char line[8];

        memset(buf, FILL, size);
        if (!fgets(line, sizeof(line), stdin))
            return 1;
        must(ml_send(w, buf, size, 1));
    } else {
        onlooker_tell(buf);
        must(ml_recv(w, buf, size, 0));
        wait(NULL);
        for (size_t i = 0; i < size; i++)
            wrong += buf[i] != FILL;
        printf("%zu wrong\n", wrong);
    }
    ml_free(buf);
    return wrong != 0;
}

/* --- broken ------------------------------------------------------------------------------------
 */

static pid_t victim;

static void kill_when_begun(pid_t parent, unsigned char *at, size_t size)
{
    (void)size;
    if (wait_for_byte(parent, at))
        kill(victim, SIGKILL);
}

static int watch(unsigned char *buf, size_t size)
{
    unsigned char *copy = malloc(size);
    size_t came = 0, changed = 0;
    long until = now_ms() + WATCH_MS;

    if (!copy)
        return 1;
    memcpy(copy, buf, size);
    for (size_t i = 0; i < size; i++)
        came += copy[i] == FILL;
    while (now_ms() < until)
        changed += memcmp(copy, buf, size) != 0;
    printf("%zu of %zu bytes had come; %s\n", came, size,
           changed ? "the memory has changed after the call" : "nothing has changed since");
    free(copy);
    return changed != 0;
}

static int broken(ml_group *w, size_t size)
{
    unsigned char *in = take(size), *out = take(3 * size);
    int64_t pid = getpid();
    int rc;

    must(ml_broadcast(w, &pid, sizeof(pid), 2));
    victim = (pid_t)pid;
    memset(in, FILL, size);
    if (ml_rank(w) == 2)
        pause();
    if (ml_rank(w) == 1) {
        onlooker_start(kill_when_begun, size);
        onlooker_tell(out);
    }
    rc = ml_gather(w, in, out, size, 1);
    printf("rank %d: %d: %s\n", ml_rank(w), rc, rc ? ml_error() : "");
    return ml_rank(w) == 1 ? watch(out, size) : 0;
}

int main(int argc, char **argv)
{
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    const char *what = argc > 1 ? argv[1] : "";
    const char *rank = getenv("MLAUNCH_RANK");
    ml_group *w;
    int status;

    if (strcmp(what, "stopped") == 0 && rank && strcmp(rank, "1") == 0)
        onlooker_start(stop_and_look, size);
    must(ml_init(&w));
    if (strcmp(what, "passed") == 0)
        status = passed(w, size, argc > 3 ? strtol(argv[3], NULL, 10) : 1);
    else if (strcmp(what, "timed") == 0)
        status = timed(w, size, argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
    else if (strcmp(what, "stopped") == 0)
        status = stopped(w, size);
    else
        return broken(w, size);
    must(ml_finalize());
    return status;
}
