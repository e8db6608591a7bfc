/* SPDX-License-Identifier: MIT */
/*
 * flooder PORT FILE SECONDS [HELLO]: a stranger that only connects to 127.0.0.1:PORT, as fast as it
 * can, and sends nothing, or what is in the file HELLO. It keeps its last HOLD connections open,
 * creates FILE when the system has accepted ENOUGH of them, and ends after SECONDS, or with its
 * parent. Without FILE (an empty word) it stops connecting when it has HOLD connections, and keeps
 * these.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOLD = 900, ENOUGH = 1000 };

static char hello[4096];

static ssize_t hello_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, hello, sizeof(hello));

    close(fd);
    return size;
}

int main(int argc, char **argv)
{
    /* Closed with a reset, so that their ports are free at once. */
    static const struct linger at_once = {.l_onoff = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ssize_t size = argc == 5 ? hello_read(argv[4]) : 0;
    int held[HOLD], accepted = 0;

    if (argc < 4 || size < 0) {
        fprintf(stderr, "usage: flooder PORT FILE SECONDS [HELLO]\n");
        return 2;
    }
    to.sin_port = htons((uint16_t)atoi(argv[1]));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm((unsigned)atoi(argv[3]));
    for (int i = 0; i < HOLD; i++)
        held[i] = -1;
    for (int i = 0;; i = (i + 1) % HOLD) {
        struct sockaddr_in peer;
        socklen_t length = sizeof(peer);

        if (held[i] >= 0 && *argv[2] == '\0')
            pause(); /* ended by a signal */
        if (held[i] >= 0 && getpeername(held[i], (struct sockaddr *)&peer, &length) == 0 &&
            ++accepted == ENOUGH)
            close(open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        if (held[i] >= 0)
            close(held[i]);
        held[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (held[i] < 0)
            continue;
        setsockopt(held[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        (void)!connect(held[i], (struct sockaddr *)&to, sizeof(to));
        (void)!send(held[i], hello, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}
