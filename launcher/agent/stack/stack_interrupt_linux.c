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
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 2048, MAPPINGS_MAX = 4096 };

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

/* The mapping of code that has the address; false: none has. */
static bool mapping_find(FILE *maps, uint64_t address, struct mapping *out)
{
    char line[PATH_MAX + 128], path[PATH_MAX], rights[8];

    rewind(maps);
    for (int i = 0; i < MAPPINGS_MAX && fgets(line, sizeof(line), maps); i++) {
        const char *name;

        path[0] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %4095[^\n]", &out->begin,
                   &out->end, rights, path) < 3 ||
            address < out->begin || address >= out->end || rights[2] != 'x')
            continue;
        name = strrchr(path, '/');
        snprintf(out->file, sizeof(out->file), "%.*s", NAME_MAX, name ? name + 1 : path);
        out->is_of_python = strstr(path, "/lib-dynload/");
        return true;
    }
    return false;
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
    struct mapping libc, m;
    ssize_t n = pread(memory, words, sizeof(words), (off_t)sp);

    if (!mapping_find(maps, pc, &libc))
        return false;
    if (is_patient(&libc))
        return true; /* it makes its calls itself */
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(*words); i++) {
        if (mapping_find(maps, words[i], &m) && !is_mediator(&m, &libc))
            return is_patient(&m);
    }
    return false;
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
