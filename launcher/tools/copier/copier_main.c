/* SPDX-License-Identifier: MIT */
/*
 * copier_main.c: mlaunch-copier, a host's part of `mlaunch sync`. It is a child of the agent, a
 * program of its own so that the agent has neither its code nor RDMA's. The two speak over its
 * standard input, a socket; once that is closed, or the agent has ended, it ends.
 */
#include "common/build_id.h"
#include "launcher/tools/copier/sync_engine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Signals that are for ranks, or for mlaunch; as the agent, it ends when the socket is closed. */
static void signals_ignore(void)
{
    static const int ignored[] = {SIGPIPE, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
}

int main(int argc, char **argv)
{
    int channel, null;

    if (argc > 1 && strcmp(argv[1], "--build") == 0) {
        puts(build_id);
        return 0;
    }
    /* While it hashes a large file, it does not look at the socket. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_ignore();
    /* Neither git nor a library that prints may reach the socket. */
    channel = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (channel < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 1;
    sync_engine_run(channel);
}
