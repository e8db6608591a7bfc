/* SPDX-License-Identifier: MIT */
#include "launcher/agent/answer/stack_linux.h"

#include "common/clock.h"
#include "common/text/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GDB_MS = 10000,  /* for one process */
    LINES_MAX = 400, /* for one process, which may have many threads */
    TEXT_MAX = 1 << 18,
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

/* Without start-up files, scripts beside the program, and servers for debug information. */
static pid_t gdb_start(pid_t pid, int out)
{
    char number[16];
    char *argv[] = {"gdb",  "-batch",
                    "-nx",  "-nw",
                    "-iex", "set auto-load off",
                    "-iex", "set debuginfod enabled off",
                    "-iex", "set pagination off",
                    "-iex", "set width 0",
                    "-p",   number,
                    "-ex",  "thread apply all backtrace 40",
                    NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all;
    pid_t child = -1;
    int err;

    snprintf(number, sizeof(number), "%d", (int)pid);
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
    if (!err)
        err = posix_spawnp(&child, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return err ? -1 : child;
}

/* Keeps the lines "Thread 1 (…):" and "#0 …" of gdb's output. */
static void gdb_lines(char *text, json_t *lines)
{
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")) && json_array_size(lines) < LINES_MAX) {
        if (line[0] == '#' || strncmp(line, "Thread ", 7) == 0)
            json_array_append_new(lines, text_json(line));
    }
}

static bool gdb_describe(const struct process *p, int64_t deadline_ms, json_t *lines)
{
    char *text = malloc(TEXT_MAX);
    int ends[2];
    pid_t child;

    if (!text || pipe2(ends, O_CLOEXEC)) {
        free(text);
        return false;
    }
    child = gdb_start(p->pid, ends[1]);
    close(ends[1]);
    if (child > 0) {
        pipe_read(ends[0], text, TEXT_MAX, deadline_ms);
        /* At the end of its output gdb has detached; one that is late detaches when it is
         * killed. */
        kill(-child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        gdb_lines(text, lines);
    }
    close(ends[0]);
    free(text);
    return json_array_size(lines) > 0;
}

/* Reads the first line of /proc/PID/`name`; false: it cannot be read. */
static bool proc_line(pid_t pid, const char *name, char *out, int size)
{
    char path[64];
    bool has_line = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "re");
    if (f) {
        has_line = fgets(out, size, f);
        fclose(f);
    }
    if (has_line)
        out[strcspn(out, "\n")] = '\0';
    return has_line;
}

/* System calls in which programs wait; some exist on older architectures only. */
static const struct call {
    long number;
    const char *name;
} calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_rt_sigtimedwait, "sigtimedwait"},
    {SYS_accept, "accept"},
    {SYS_connect, "connect"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_fsync, "fsync"},
    {SYS_openat, "openat"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

static const char *call_name(long number)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        if (calls[i].number == number)
            return calls[i].name;
    }
    return NULL;
}

static void call_describe(pid_t pid, json_t *lines)
{
    char line[256], text[64];
    const char *name;
    long number;

    if (!proc_line(pid, "syscall", line, sizeof(line)))
        return;
    if (strncmp(line, "running", 7) == 0) {
        json_array_append_new(lines, json_string("running, in no system call"));
        return;
    }
    number = strtol(line, NULL, 10);
    if (number < 0)
        return;
    name = call_name(number);
    if (name)
        snprintf(text, sizeof(text), "in the system call %s", name);
    else
        snprintf(text, sizeof(text), "in system call number %ld", number);
    json_array_append_new(lines, json_string(text));
}

static void kernel_stack(pid_t pid, json_t *lines)
{
    char path[64], line[256];
    bool has_stack = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stack", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        json_array_append_new(
            lines, json_sprintf("kernel: %.200s", strncmp(line, "[<0>] ", 6) ? line : line + 6));
        has_stack = true;
    }
    if (f)
        fclose(f);
    if (!has_stack && proc_line(pid, "wchan", line, sizeof(line)) && strcmp(line, "0") != 0)
        json_array_append_new(lines, json_sprintf("kernel: %.200s", line));
}

void stack_describe(const struct process *p, int64_t deadline_ms, json_t *out)
{
    int64_t mine_ms = clock_ms() + GDB_MS;
    json_t *lines = json_array();
    const char *by = "";

    /* A debugger would wait for a process in uninterruptible sleep, and wake one that is
     * stopped. */
    if (p->state != 'D' && p->state != 'T' && p->state != 't' && clock_left_ms(deadline_ms) > 0 &&
        gdb_describe(p, mine_ms < deadline_ms ? mine_ms : deadline_ms, lines)) {
        by = "gdb";
    } else {
        if (p->state == 'T' || p->state == 't')
            json_array_append_new(lines, json_string("stopped by a signal or a debugger"));
        call_describe(p->pid, lines);
        kernel_stack(p->pid, lines);
        if (json_array_size(lines) > 0)
            by = "kernel";
        else
            json_object_set_new(out, "why",
                                json_string("no stack can be read: there is no gdb, or tracing "
                                            "the process is not permitted (see "
                                            "/proc/sys/kernel/yama/ptrace_scope)"));
    }
    json_object_set_new(out, "by", json_string(by));
    json_object_set_new(out, "stack", lines);
}
