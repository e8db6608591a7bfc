/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_hook.h"

#include "common/clock.h"
#include "common/text/text_stream.h"
#include "launcher/base/process/stream_child.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads until the command and all its children have closed their standard output. */
static int output_read(FILE *to, int fd, const char *command, struct fault *why)
{
    int64_t deadline = clock_ms() + METRIC_HOOK_MS;
    size_t total = 0;
    char bytes[4096];

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n == 0)
            return total ? 0
                         : fault_set(why, ML_ERR_SYSTEM, "--command %.200s has printed nothing",
                                     command);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "--command %.200s: cannot read its output",
                            command);
        total += n > 0 ? (size_t)n : 0;
        if (total > METRIC_HOOK_MOST)
            return fault_set(why, ML_ERR_SYSTEM, "--command %.200s has printed more than %d KiB",
                             command, METRIC_HOOK_MOST / 1024);
        if (n > 0)
            fwrite(bytes, 1, (size_t)n, to);
        else if (poll(&p, 1, clock_left_ms(deadline)) == 0)
            return fault_set(why, ML_ERR_SYSTEM, "--command %.200s was ended after %d s", command,
                             METRIC_HOOK_MS / 1000);
    }
}

int metric_hook_run(char **out, const char *command, struct fault *why)
{
    char *argv[] = {strdup("/bin/sh"), strdup("-c"), strdup(command), NULL}, *text = NULL;
    struct stream_child child = {0};
    struct text_stream s;
    FILE *to = text_stream_open(&s);
    int rc = fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (to && argv[0] && argv[1] && argv[2])
        rc = stream_child_start(&child, argv, environ, false, why);
    if (!rc)
        rc = output_read(to, child.fd, command, why);
    stream_child_end(&child);
    if (to)
        text = text_stream_close(to, &s);
    if (!rc && !text)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        free(text);
    else
        *out = text;
    for (int i = 0; i < 3; i++)
        free(argv[i]);
    return rc;
}
