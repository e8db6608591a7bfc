/* SPDX-License-Identifier: MIT */
#include "runtime/tcp/tcp_farewell_linux.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { LOOK_MS = 1 /* no event says that all has been acknowledged */ };

/* Drops what has come. False: nothing more will. */
static bool farewell_drain(int fd, int64_t *moved)
{
    static const size_t MOST = 1 << 20;
    ssize_t n;

    do {
        n = recv(fd, NULL, MOST, MSG_DONTWAIT | MSG_TRUNC);
        *moved += n > 0 ? n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Bytes that the peer's system lacks, without the end of the stream itself. */
static int farewell_left(int fd)
{
    int left = 0;

    return ioctl(fd, SIOCOUTQ, &left) == 0 && left > 1 ? left - 1 : 0;
}

void tcp_farewell_run(int *fds, int count)
{
    int64_t silent_since = clock_ms(), before = -1;

    while (count) {
        int64_t all = 0;

        for (int i = 0; i < count;) {
            int64_t came = 0;
            int left = farewell_drain(fds[i], &came) ? farewell_left(fds[i]) : 0;

            all += left - came;
            if (left) {
                i++;
            } else {
                fork_guard_close(fds[i]);
                fds[i] = fds[--count];
                before = -1;
            }
        }
        if (all != before)
            silent_since = clock_ms();
        before = all;
        if (clock_ms() - silent_since >= FAREWELL_MS)
            break;
        if (count)
            poll(NULL, 0, LOOK_MS);
    }
    while (count)
        fork_guard_close(fds[--count]);
}
