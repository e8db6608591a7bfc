/* SPDX-License-Identifier: MIT */
/*
 * loop_clock: a library to preload that measures the turns of event loops: the time that a thread
 * has of a processor from one epoll_wait(2) to the next, in which all callbacks of that turn are.
 * Each turn that took longer than those before it in its process is a line in the file $LOOP_CLOCK:
 * program, pid, microseconds, events.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    int64_t longest_us;
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int64_t begun_us; /* this thread's turn; 0: it waits */
static __thread int events_of_turn;

static int64_t processor_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void turn_note(int64_t us)
{
    const char *path = getenv("LOOP_CLOCK");
    char line[120];
    int fd, size;

    pthread_mutex_lock(&turns.lock);
    if (us > turns.longest_us && path) {
        turns.longest_us = us;
        size = snprintf(line, sizeof(line), "%s %d %lld %d\n", program_invocation_short_name,
                        (int)getpid(), (long long)us, events_of_turn);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        (void)!write(fd, line, (size_t)size);
        close(fd);
    }
    pthread_mutex_unlock(&turns.lock);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    int n;

    if (begun_us)
        turn_note(processor_us() - begun_us);
    n = (int)syscall(SYS_epoll_pwait, epoll, events, most, timeout_ms, NULL, 0);
    events_of_turn = n;
    begun_us = processor_us();
    return n;
}
