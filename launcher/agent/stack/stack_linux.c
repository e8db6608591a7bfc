/* SPDX-License-Identifier: MIT */
#include "launcher/agent/stack/stack_linux.h"

#include "common/clock.h"
#include "launcher/agent/stack/stack_debugger.h"
#include "launcher/agent/stack/stack_python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { DEBUGGER_MS = 10000 }; /* for one process */

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

static void kernel_describe(const struct process *p, json_t *lines)
{
    if (p->state == 'T' || p->state == 't')
        json_array_append_new(lines, json_string("stopped by a signal or a debugger"));
    call_describe(p->pid, lines);
    kernel_stack(p->pid, lines);
}

void stack_describe(const struct process *p, const struct stack_request *r, json_t *out)
{
    int64_t mine_ms = clock_ms() + DEBUGGER_MS;
    json_t *lines = json_array(), *python = json_array();
    /* A debugger would wait for a process in uninterruptible sleep, and wake one that is
     * stopped. */
    bool is_still = p->state == 'D' || p->state == 'T' || p->state == 't';
    const char *by = NULL;

    if (!is_still && clock_left_ms(r->deadline_ms) > 0)
        stack_python_ask(r->dir, p->pid, r->deadline_ms, python);
    if (r->may_debug && !is_still && clock_left_ms(r->deadline_ms) > 0)
        by = stack_debugger_ask(p->pid, mine_ms < r->deadline_ms ? mine_ms : r->deadline_ms, lines);
    if (!by) {
        kernel_describe(p, lines);
        by = json_array_size(lines) > 0 ? "kernel" : "";
    }
    if (!*by)
        json_object_set_new(out, "why",
                            json_string("no stack can be read: there is no gdb, or tracing "
                                        "the process is not permitted (see "
                                        "/proc/sys/kernel/yama/ptrace_scope)"));
    json_object_set_new(out, "by", json_string(by));
    json_object_set_new(out, "stack", lines);
    if (json_array_size(python) > 0)
        json_object_set(out, "python", python);
    json_decref(python);
}
