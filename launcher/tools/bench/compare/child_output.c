/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/child_output.h"

#include "common/status.h"
#include "launcher/base/process/install_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MOST = 64 << 20 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING = sizeof(ending) / sizeof(*ending) };

static volatile sig_atomic_t running; /* the child, or 0 */

/* The terminal's Ctrl-C has reached the child by itself. */
static void signal_forward(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (running && info->si_code <= 0)
        kill((pid_t)running, number);
}

/* Leaves them blocked, until `running` is known; *mask is what was blocked before. */
static void signals_take(struct sigaction old[ENDING], sigset_t *mask)
{
    sigset_t all;
    struct sigaction mine = {.sa_sigaction = signal_forward, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigemptyset(&mine.sa_mask);
    for (int i = 0; i < ENDING; i++)
        sigaction(ending[i], &mine, &old[i]);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, mask);
}

static void signals_restore(const struct sigaction old[ENDING])
{
    for (int i = 0; i < ENDING; i++)
        sigaction(ending[i], &old[i], NULL);
}

/* In the child. What this process ignored, nohup's SIGHUP for instance, the child ignores too. */
static void child_become(const char *program, char *const argv[], int to,
                         const struct sigaction old[ENDING], const sigset_t *mask, pid_t parent)
{
    signals_restore(old);
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && dup2(to, STDOUT_FILENO) >= 0)
        execv(program, argv);
    _exit(STATUS_OURS);
}

/* ML_ERR_MEMORY also if there is too much; then the rest is not read. */
static int output_read(int from, char **text, size_t *size, struct fault *why)
{
    FILE *to = open_memstream(text, size);
    char buffer[65536];
    ssize_t n = 1;
    size_t sum = 0;

    while (to && n && sum < OUTPUT_MOST) {
        n = read(from, buffer, sizeof(buffer));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        fwrite(buffer, 1, (size_t)n, to);
        sum += (size_t)n;
    }
    if (to && fclose(to) == 0 && n == 0)
        return 0;
    return fault_set(why, ML_ERR_MEMORY, "cannot read what a run of mlaunch bench prints: %s",
                     n < 0 ? "a read failed" : "there is too much of it");
}

static int status_wait(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return STATUS_OURS;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_output_run(char *const argv[], char **text, size_t *size, int *status, struct fault *why)
{
    struct sigaction old[ENDING];
    char program[PATH_MAX];
    int ends[2], rc = install_path_find(program, INSTALL_MLAUNCH, why);
    pid_t child, parent = getpid();
    sigset_t mask;

    *text = NULL;
    if (rc)
        return rc;
    if (pipe2(ends, O_CLOEXEC))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe");
    fflush(NULL);
    signals_take(old, &mask);
    child = fork();
    if (child == 0)
        child_become(program, argv, ends[1], old, &mask, parent);
    running = child > 0 ? (sig_atomic_t)child : 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (child < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot start mlaunch again");
    } else {
        rc = output_read(ends[0], text, size, why);
        close(ends[0]);
        ends[0] = -1;
        *status = status_wait(child);
        running = 0;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    signals_restore(old);
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
}
