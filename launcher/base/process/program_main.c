/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/program_main.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/process/loop_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No file or socket of mlaunch's may get the number of a standard descriptor that the caller has
 * closed. Writing to a directory fails, as writing to the closed stdout would have. */
static void standard_descriptors_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int opened = fd;

        if (fcntl(fd, F_GETFD) < 0)
            opened =
                fd == STDOUT_FILENO ? open("/", O_RDONLY | O_DIRECTORY) : open("/dev/null", O_RDWR);
        if (opened >= 0 && opened != fd) { /* there is no /dev/null */
            dup2(opened, fd);
            close(opened);
        }
    }
}

static void process_prepare(void)
{
    standard_descriptors_open();
    signal(SIGCHLD, SIG_DFL); /* a caller that ignores it would hide the status of children */
    log_open("mlaunch", LOG_WARN);
    loop_memory_prepare();
}

/* Flushes stdout, so that a full disk is reported as a failure. */
static int output_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    log_error("cannot write to stdout: %s", strerror(errno));
    return STATUS_OURS;
}

int program_main(int argc, char **argv, program_run *run)
{
    int status;

    process_prepare();
    status = run(argc, argv);
    return status ? status : output_flush();
}

int program_main_word(int argc, char **argv, const struct program_word *words)
{
    for (const struct program_word *w = words; argc > 1 && w->name; w++)
        if (strcmp(argv[1], w->name) == 0)
            return program_main(argc - 1, argv + 1, w->run);
    process_prepare();
    log_error("%s is the program that mlaunch %s becomes: run that", program_invocation_short_name,
              words->name);
    return STATUS_OURS;
}
