/* SPDX-License-Identifier: MIT */
/*
 * fuzz_keeper.c: what a rank that has proved itself sends to a keeper, which makes and gives copies
 * of that rank's slots alone, and answers with no more than what it has been given. The input is
 * the bytes of the connection.
 */
#include "common/net/kept_stream.h"
#include "launcher/agent/host/job_directory.h"
#include "launcher/agent/keeper/keeper_serve.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 64 << 10, RANK = 1 };

/* Reads what the keeper answers, so that it never waits. */
static void *drain(void *arg)
{
    char bytes[16384];

    while (recv(*(int *)arg, bytes, sizeof(bytes), 0) > 0)
        ;
    return NULL;
}

/* Each file is of that rank, and of a name and a slot that there may be. */
static void files_check(const char *prefix)
{
    DIR *d = opendir("/dev/shm");
    struct dirent *e;

    while (d && (e = readdir(d))) {
        const char *rest = e->d_name + strlen(prefix);

        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
            (strncmp(rest, ".keep.1.", 8) != 0 || (rest[8] != '0' && rest[8] != '1') ||
             rest[9] != '.' || !kept_is_name(rest + 10)))
            abort();
    }
    closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char dir[64], id[] = "1ngk8fs-q4z7cd";
    const struct keeper_job job = {.dir = dir, .job = id, .size = RANK + 1};
    struct kept_stream *stream;
    char prefix[128];
    struct fault why;
    pthread_t thread;
    int ends[2];

    if (size > LONGEST)
        return 0;
    snprintf(dir, sizeof(dir), "/tmp/1fuzz-%d.0.keeper", (int)getpid());
    snprintf(prefix, sizeof(prefix), "mlaunch-%u-1fuzz-%d.0.keeper", (unsigned)geteuid(),
             (int)getpid());
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        send(ends[0], data, size, MSG_DONTWAIT) != (ssize_t)size || shutdown(ends[0], SHUT_WR) ||
        pthread_create(&thread, NULL, drain, &ends[0]) ||
        kept_stream_create(&stream, ends[1], NULL, &why))
        abort();
    keeper_answer(&job, stream, RANK);
    pthread_join(thread, NULL);
    close(ends[0]);
    files_check(prefix);
    job_directory_sweep_shm(dir, false);
    return 0;
}
