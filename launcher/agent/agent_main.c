/* SPDX-License-Identifier: MIT */
/* agent_main.c: mlaunch-agent, which mlaunch starts on each host of a job; mlaunch-agent(8). */
#include "common/agent_to_rank.h"
#include "common/build_id.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/worker.h"
#include "launcher/base/process/close_range_linux.h"
#include "launcher/base/process/loop_memory.h"
#include "launcher/wire/join/join_node.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The agent ends when its channel ends, not by the signals that a terminal or a lost connection
 * sends. Slurm's warnings (--signal=USR1@60) go to every process of a step: to the ranks and to the
 * agent. */
static void signals_ignore(void)
{
    static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2};
    sigset_t none;

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, no child could be waited for */
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Opens all three standard streams and keeps every other inherited descriptor from the ranks. */
static void descriptors_settle(void)
{
    while (open("/dev/null", O_RDWR) < 3)
        ;
    close(3);
    /* Before Linux 5.11 this call fails, and what sshd or mlaunch left open stays open. */
    close_range_at_exec(3);
}

static int usage(void)
{
    fprintf(stderr,
            "mlaunch-agent: mlaunch starts this program on each host of a job and talks to it in "
            "frames; it is not for use by hand (see mlaunch-agent(8))\n");
    return STATUS_OURS;
}

int main(int argc, char **argv)
{
    bool joins = argc == 4 && strcmp(argv[3], "--join") == 0;
    bool has_build = (argc == 3 || joins) && strcmp(argv[1], "--build") == 0;

    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("mlaunch-agent %s (%s)\n", build_version, build_id);
        return 0;
    }
    if ((argc > 1 && !has_build) || (!has_build && isatty(STDIN_FILENO)))
        return usage();
    if (has_build && strcmp(argv[2], build_id) != 0)
        return AGENT_EXIT_NOT_OURS;
    descriptors_settle();
    signals_ignore();
    log_open("mlaunch-agent", LOG_WARN);
    prctl(PR_SET_NAME, AGENT_PROCESS_NAME);
    if (joins)
        return join_node_run_order();
    loop_memory_prepare();
    return guard_run(worker_run);
}
