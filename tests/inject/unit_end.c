/* SPDX-License-Identifier: MIT */
#include "tests/inject/unit_end.h"

#include "tests/inject/code_map.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *log_path; /* NULL: this is no unit test */
static pid_t program;        /* its forked children end as they like */

void unit_end_note(const char *log, const char *line)
{
    int err = errno;
    long fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0) {
        syscall(SYS_write, fd, line, strlen(line));
        syscall(SYS_close, fd);
    }
    errno = err;
}

static void crash_note(int number)
{
    enum { MOST = 16 };
    struct code_place place = code_map_place();
    uintptr_t stack[MOST];
    int count = code_map_stack(stack, MOST);
    char line[40 + MOST * 20];
    int size = snprintf(line, sizeof(line), "crash %d %c", number, place.owner);

    for (int i = 0; i < count; i++)
        size +=
            snprintf(line + size, sizeof(line) - (size_t)size, " %#lx", (unsigned long)stack[i]);
    snprintf(line + size, sizeof(line) - (size_t)size, "\n");
    unit_end_note(log_path, line);
    raise(number); /* as the system does it: SA_RESETHAND */
}

void unit_end_start(const char *log)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct sigaction action = {.sa_handler = crash_note, .sa_flags = SA_RESETHAND};

    log_path = log;
    program = getpid();
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        sigaction(crashes[i], &action, NULL);
}

/* cmocka would make failed assertions of crashes. */
sighandler_t signal(int number, sighandler_t handler)
{
    static __typeof__(&signal) next;
    Dl_info by = {0};

    if (!next)
        next = (__typeof__(&signal))(uintptr_t)dlsym(RTLD_NEXT, "signal");
    if (log_path && dladdr(__builtin_return_address(0), &by) && strstr(by.dli_fname, "libcmocka"))
        return SIG_DFL;
    return next(number, handler);
}

/* What all of cmocka's assertions call when they fail, with the stack of the test still there. */
void _fail(const char *file, int line);
void _fail(const char *file, int line)
{
    static __typeof__(&_fail) next;
    int (*leaks_check)(void);
    char text[512];

    if (!next)
        next = (__typeof__(&_fail))(uintptr_t)dlsym(RTLD_NEXT, "_fail");
    if (!log_path || getpid() != program) {
        next(file, line);
        return;
    }
    snprintf(text, sizeof(text), "assertion %s %d\n", file, line);
    unit_end_note(log_path, text);
    leaks_check = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");
    if (leaks_check && leaks_check())
        unit_end_note(log_path, "leak\n");
    _exit(1);
}
