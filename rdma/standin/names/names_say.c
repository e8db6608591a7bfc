/* SPDX-License-Identifier: MIT */
#include "rdma/standin/names/names_say.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void names_say(const char *name, const char *why)
{
    char line[256];
    int err = errno;
    int size = snprintf(line, sizeof(line), "libibverbs (stand-in): %s %s\n", name, why);
    ssize_t written;

    if (size >= (int)sizeof(line)) {
        size = sizeof(line) - 1;
        line[size - 1] = '\n';
    }
    /* A failure is passed over: without a reader of standard error, nobody misses the sentence. */
    written = write(STDERR_FILENO, line, (size_t)size);
    (void)written;
    errno = err;
}

void names_refuse(atomic_flag *said, const char *name, const char *why, int err)
{
    if (!atomic_flag_test_and_set(said))
        names_say(name, why);
    errno = err;
}
