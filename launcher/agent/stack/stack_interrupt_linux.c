/* SPDX-License-Identifier: MIT */
/* stack_interrupt_linux.c: who has made the call of the system that a thread waits in: the library
 * that the return address closest to the top of the thread's stack points into. The C library is
 * left out, because it makes the call in the name of others. */
#include "launcher/agent/stack/stack_interrupt_linux.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 2048, CODE_MAX = 4096 };

/* Those that a handler ends with EINTR in spite of SA_RESTART, or may: connect() goes on behind the
 * program's back, and a second one fails with EALREADY. restart_syscall is a poll or a sleep that a
 * debugger has stopped. */
static const long interrupted[] = {
#ifdef SYS_poll
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_pause,
#endif
    SYS_restart_syscall,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_pwait,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_connect,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_semtimedop,
    SYS_msgrcv,
    SYS_msgsnd,
    SYS_io_getevents,
};

/* What a file's name begins with whose code calls again after EINTR. */
static const char *const patient[] = {
    "python", "libpython", "mlaunch", "libmlaunch", "libevent", "libopen-pal", "libcuda.",
};

/* Libraries that make calls in the name of others, as the C library does. */
static const char *const mediators[] = {"ld-linux", "libpthread", "libasan.", "libtsan."};

struct mapping {
    uint64_t begin, end;
    char file[NAME_MAX + 1]; /* "" for memory that belongs to no file */
    bool is_of_python;       /* one of Python's own modules */
};

static bool is_interrupted(long number)
{
    for (size_t i = 0; i < sizeof(interrupted) / sizeof(*interrupted); i++)
        if (interrupted[i] == number)
            return true;
    return false;
}

/* Reads the mappings of code, CODE_MAX at most, once: a process with torch has a thousand. */
static size_t code_read(FILE *maps, struct mapping *code)
{
    char line[PATH_MAX + 128], path[PATH_MAX], rights[8];
    size_t count = 0;

    while (count < CODE_MAX && fgets(line, sizeof(line), maps)) {
        struct mapping *m = &code[count];
        const char *name;

        path[0] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %4095[^\n]", &m->begin, &m->end,
                   rights, path) < 3 ||
            rights[2] != 'x')
            continue;
        name = strrchr(path, '/');
        snprintf(m->file, sizeof(m->file), "%.*s", NAME_MAX, name ? name + 1 : path);
        m->is_of_python = strstr(path, "/lib-dynload/");
        count++;
    }
    return count;
}

/* NULL: no code has the address. */
static const struct mapping *code_find(const struct mapping *code, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address >= code[i].begin && address < code[i].end)
            return &code[i];
    return NULL;
}

static bool begins_with_one(const char *file, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_patient(const struct mapping *m)
{
    return m->is_of_python || begins_with_one(m->file, patient, sizeof(patient) / sizeof(*patient));
}

static bool is_mediator(const struct mapping *m, const struct mapping *libc)
{
    return m->file[0] == '\0' || m->file[0] == '[' || strcmp(m->file, libc->file) == 0 ||
           begins_with_one(m->file, mediators, sizeof(mediators) / sizeof(*mediators));
}

/* Whether the caller of the C library calls again. pc: where the C library is. */
static bool caller_is_patient(FILE *maps, int memory, uint64_t sp, uint64_t pc)
{
    uintptr_t words[WORDS];
    struct mapping *code = malloc(CODE_MAX * sizeof(*code));
    size_t count = code ? code_read(maps, code) : 0;
    const struct mapping *libc = code_find(code, count, pc), *caller = libc;
    ssize_t n = pread(memory, words, sizeof(words), (off_t)sp);
    bool is_harmless;

    if (libc && !is_patient(libc)) { /* otherwise it makes its calls itself */
        caller = NULL;
        for (size_t i = 0; !caller && n > 0 && i < (size_t)n / sizeof(*words); i++) {
            caller = code_find(code, count, words[i]);
            if (caller && is_mediator(caller, libc))
                caller = NULL;
        }
    }
    is_harmless = caller && is_patient(caller);
    free(code);
    return is_harmless;
}

static FILE *proc_open(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

bool stack_interrupt_is_harmless(pid_t pid)
{
    char line[256], path[64];
    uint64_t sp = 0, pc = 0;
    long number = -1;
    FILE *f = proc_open(pid, "syscall");
    bool is_read = f && fgets(line, sizeof(line), f), is_harmless;
    int memory;

    if (f)
        fclose(f);
    if (!is_read)
        return false;
    if (sscanf(line, "%ld %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64, &number, &sp, &pc) != 3 ||
        !is_interrupted(number))
        return true; /* it runs, or waits where it goes on */
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    f = proc_open(pid, "maps");
    is_harmless = f && memory >= 0 && caller_is_patient(f, memory, sp, pc);
    if (f)
        fclose(f);
    if (memory >= 0)
        close(memory);
    return is_harmless;
}
