/* SPDX-License-Identifier: MIT */
#include "launcher/agent/stack/stack_debugger.h"

#include "common/clock.h"
#include "common/text/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINES_MAX = 400, /* for one process, which may have many threads */
    TEXT_MAX = 1 << 18,
    WORDS = 20,
};

/* Programs that print stacks; "PID" becomes the process's number. gdb runs without start-up files,
 * scripts beside the program, and servers for debug information. */
static const struct debugger {
    const char *words[WORDS];
} debuggers[] = {
    {{"gdb", "-batch", "-nx", "-nw", "-iex", "set auto-load off", "-iex",
      "set debuginfod enabled off", "-iex", "set pagination off", "-iex", "set width 0", "-p",
      "PID", "-ex", "thread apply all backtrace 40"}},
    {{"eu-stack", "-s", "-n", "40", "-p", "PID"}},
};

/* Reads until end of file, at most `size` - 1 bytes and until the deadline; terminates them. */
static size_t pipe_read(int fd, char *text, size_t size, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t used = 0;

    while (used < size - 1) {
        int ready = poll(&p, 1, clock_left_ms(deadline_ms));
        ssize_t n;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        n = read(fd, text + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = '\0';
    return used;
}

/* In a process group of its own, which ends with it. -1: it is not installed. */
static pid_t debugger_start(const struct debugger *d, pid_t pid, int out)
{
    char number[16], *argv[WORDS] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all;
    pid_t child = -1;
    int err;

    snprintf(number, sizeof(number), "%d", (int)pid);
    for (int i = 0; d->words[i]; i++)
        argv[i] = strcmp(d->words[i], "PID") == 0 ? number : (char *)(uintptr_t)d->words[i];
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!err)
        err = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!err && argv[0])
        err = posix_spawnp(&child, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return err ? -1 : child;
}

/* Keeps the frames and the titles of threads. What eu-stack says of a frame's source is on a line
 * of its own, and is added to the frame. */
static void lines_keep(char *text, json_t *lines)
{
    char *rest = text, *line, joined[1024];

    while ((line = strsep(&rest, "\n")) && json_array_size(lines) < LINES_MAX) {
        size_t blanks = strspn(line, " ");
        bool is_source = rest && rest[0] == ' ' && line[0] == '#';

        if (is_source) {
            char *source = strsep(&rest, "\n");

            snprintf(joined, sizeof(joined), "%s at %s", line, source + strspn(source, " "));
            line = joined;
        }
        if (blanks == 0 &&
            (line[0] == '#' || strncmp(line, "Thread ", 7) == 0 || strncmp(line, "TID ", 4) == 0))
            json_array_append_new(lines, text_json(line));
    }
}

/* False: it is not installed. */
static bool debugger_run(const struct debugger *d, pid_t pid, int64_t deadline_ms, char *text,
                         json_t *lines)
{
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC))
        return false;
    child = debugger_start(d, pid, ends[1]);
    close(ends[1]);
    if (child > 0) {
        pipe_read(ends[0], text, TEXT_MAX, deadline_ms);
        /* At the end of its output it has detached; one that is late detaches when it is
         * killed. */
        kill(-child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        lines_keep(text, lines);
    }
    close(ends[0]);
    return child > 0;
}

const char *stack_debugger_ask(pid_t pid, int64_t deadline_ms, json_t *lines)
{
    char *text = malloc(TEXT_MAX);
    const char *by = NULL;

    for (size_t i = 0; text && i < sizeof(debuggers) / sizeof(*debuggers) && !by; i++) {
        if (debugger_run(&debuggers[i], pid, deadline_ms, text, lines))
            by = debuggers[i].words[0];
    }
    free(text);
    return json_array_size(lines) > 0 ? by : NULL;
}
