/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/spawn.h"

#include "common/status.h"
#include "common/text/cpu_list.h"
#include "launcher/agent/binding/memory_policy_linux.h"
#include "launcher/agent/rank/birth_linux.h"
#include "launcher/agent/rank/rank_view_linux.h"
#include "launcher/base/text/program_path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCRIPT_LINE = 256 };

enum spawn_step {
    STEP_NONE,
    STEP_PARENT,
    STEP_VIEW,
    STEP_DIRECTORY,
    STEP_DESCRIPTORS,
    STEP_TERMINAL,
    STEP_BIND,
    STEP_MEMORY,
    STEP_HOLD,
    STEP_EXEC,
    STEP_PYTHON, /* argv[0] is a Python script, and there is no python3 */
};

/* What the child writes to a pipe if it cannot execute the program; otherwise the pipe just
 * ends. */
struct failure {
    enum spawn_step step; /* where it failed, and errno */
    int error;
};

/* Shared between the agent and the child until it executes; or copied, where vfork is fork
 * (TSan). */
struct child {
    const struct spawn *spawn;
    char **candidates;   /* paths to try, NULL-terminated */
    char **pythons;      /* paths of python3 to try, if argv[0] is named like a script for it */
    const char **script; /* argv for /bin/sh or python3, if the file is a script without #! */
    sigset_t mask;       /* the ranks' signal mask */
    pid_t agent, leader; /* leader: of its process group; -1: it leads it itself */
    int failure[2];      /* a pipe: [0] the agent reads, [1] the child writes */
};

void spawn_prepare(struct spawn_limits *limits)
{
    struct rlimit files;
    int count = 0;

    for (int i = 1; i < NSIG && count < 64; i++) {
        struct sigaction action;

        /* SIGTERM and SIGCHLD will have handlers. Until a child executes its program, it would run
         * them, in the agent's memory. */
        if (i == SIGTERM || i == SIGCHLD ||
            (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN))
            limits->changed[count++] = i;
    }
    limits->changed[count] = 0;
    getrlimit(RLIMIT_NOFILE, &files);
    limits->files = files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* dup2 also clears close-on-exec. None of the three is its own target: pipes are above 2, and only
 * `in` may be 0, which is inherited anyway. */
static int descriptors_place(const struct spawn *s)
{
    if (s->kept >= 0 && fcntl(s->kept, F_SETFD, 0))
        return -1;
    return dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 || dup2(s->err, 2) < 0 ? -1 : 0;
}

/* Runs a script without #! by the interpreter for its name. Returns if that fails. */
static void script_execute(const struct child *c, const char *path)
{
    char *const shell[] = {(char *)(uintptr_t) "/bin/sh", NULL};

    c->script[1] = path;
    for (char *const *interpreter = c->pythons ? c->pythons : shell; *interpreter; interpreter++) {
        c->script[0] = *interpreter;
        execve(*interpreter, (char *const *)(uintptr_t)c->script, c->spawn->env);
    }
}

/* A program for another processor is no script, whatever the kernel says of both. */
static bool is_elf(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
              memcmp(magic, ELFMAG, sizeof(magic)) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

/* Ignores a directory of PATH that may not be searched. Remembers a program that may not be
 * executed, and searches on. Returns an errno. */
static int candidates_execute(const struct child *c)
{
    const struct spawn *s = c->spawn;
    bool is_searched = !strchr(s->program, '/');
    int error = ENOENT;

    for (char **path = c->candidates; *path; path++) {
        execve(*path, (char *const *)(uintptr_t)s->argv, s->env);
        if (errno == ENOEXEC && is_elf(*path))
            return ENOEXEC;
        if (errno == ENOEXEC)
            script_execute(c, *path);
        if (errno == ENOENT || errno == ENOTDIR)
            continue;
        if (errno != EACCES)
            return errno;
        if (!is_searched || access(*path, F_OK) == 0)
            error = EACCES;
    }
    return error;
}

static void child_fail(const struct child *c, enum spawn_step step, int error)
{
    struct failure f = {step, error};

    (void)!write(c->failure[1], &f, sizeof(f));
    _exit(STATUS_OURS);
}

static void program_execute(const struct child *c)
{
    const char *program = c->spawn->program;
    int error = candidates_execute(c);
    struct stat st;

    /* As for torchrun and mlx.launch, a Python script need not be executable or in PATH. */
    if (c->pythons && stat(program, &st) == 0 && S_ISREG(st.st_mode)) {
        script_execute(c, program);
        child_fail(c, STEP_PYTHON, errno);
    }
    child_fail(c, STEP_EXEC, error);
}

/* The leader of the process group that the rank enters: a rank that leads it and becomes setsid(1)
 * forks and ends at once, before its program has, and setsid(2) fails in it. The leader ends as
 * soon as it runs; its number stays the group's until nobody is in it any more, and it has been
 * waited for. It is no child of the rank, in whose new control group it takes longer. -1: no more
 * processes. */
static __attribute__((noinline)) pid_t leader_start(void)
{
    pid_t leader = birth_ended();

    if (leader < 0) /* an older kernel, or a container that permits no clone3 */
        leader = vfork();
    if (leader == 0)
        _exit(0);
    setpgid(leader, leader);
    return leader;
}

/* Runs in the child, in the agent's own memory: system calls only. */
static void child_run(const struct child *c)
{
    const struct spawn *s = c->spawn;

    if (s->is_terminal)
        setsid();
    else if (c->leader < 0 || setpgid(0, c->leader))
        setpgid(0, 0);
    /* Before the next call, whose effect a change of credentials may end. */
    if (s->view && rank_view_enter(s->view))
        child_fail(c, STEP_VIEW, errno);
    /* If the agent is killed, its ranks are killed at once. The kernel sends the signal only if the
     * parent ends after this call, so the parent is compared afterwards. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != c->agent)
        child_fail(c, STEP_PARENT, ESRCH);
    if (s->pid_text)
        snprintf(s->pid_text, 12, "%d", (int)getpid());
    for (const int *i = s->limits->changed; *i; i++)
        signal(*i, SIG_DFL);
    if (s->ignored)
        signal(s->ignored, SIG_IGN);
    if (descriptors_place(s))
        child_fail(c, STEP_DESCRIPTORS, errno);
    if (s->is_terminal && ioctl(0, TIOCSCTTY, 0))
        child_fail(c, STEP_TERMINAL, errno);
    if (chdir(s->cwd))
        child_fail(c, STEP_DIRECTORY, errno);
    if (s->cpus && sched_setaffinity(0, sizeof(*s->cpus), s->cpus))
        child_fail(c, STEP_BIND, errno);
    if (s->memory && s->memory->mode != MEMORY_ANY && memory_policy_set(s->memory))
        child_fail(c, STEP_MEMORY, errno);
    if (s->memory_seen)
        (void)memory_policy_get(s->memory_seen);
    setrlimit(RLIMIT_NOFILE, &s->limits->files);
    sigprocmask(SIG_SETMASK, &c->mask, NULL);
    /* The kernel stops it as it begins the program (child_hold). */
    if (s->is_held && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        child_fail(c, STEP_HOLD, errno);
    program_execute(c);
}

/* The paths to try, NULL-terminated. An empty part of PATH is the current directory. */
static char **candidates_create(const char *program, const char *path)
{
    size_t count = 2, i = 0;
    char **list;

    for (const char *at = path; *at; at++)
        count += *at == ':';
    list = calloc(count, sizeof(*list));
    if (!list)
        return NULL;
    if (strchr(program, '/')) {
        list[0] = strdup(program);
        return list;
    }
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, ":");

        if (asprintf(&list[i], "%.*s%s%s", (int)length, at, length ? "/" : "./", program) < 0)
            list[i] = NULL;
        else
            i++;
        at += length;
        if (!*at)
            return list;
    }
}

static void candidates_destroy(char **list)
{
    for (char **path = list; path && *path; path++)
        free(*path);
    free(list);
}

/* argv for an interpreter: itself and the script (both filled in later), the arguments. */
static const char **script_create(const char *const *argv)
{
    size_t count = 0;
    const char **script;

    while (argv[count])
        count++;
    script = calloc(count + 3, sizeof(*script));
    if (!script)
        return NULL;
    memcpy(script + 2, argv + 1, count * sizeof(*script));
    return script;
}

/* Looks at the program as a path, from the directory of the rank; false: there is nothing. */
static bool program_look(const struct spawn *s, struct stat *st, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s%s%s", s->program[0] == '/' ? "" : s->cwd,
             s->program[0] == '/' ? "" : "/", s->program);
    return stat(path, st) == 0;
}

/* Why a program that is there could not be found: what its first line names, "#!/bin/sh", is
 * missing; or its loader is. */
static int interpreter_fault(const char *program, const char *path, struct fault *why)
{
    char line[SCRIPT_LINE], *name = line + 2, last;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;

    if (fd >= 0)
        close(fd);
    line[n > 2 ? n : 0] = '\0';
    if (strncmp(line, "#!", 2) != 0)
        return fault_set(why, ML_ERR_SYSTEM, "%s: its interpreter or loader is missing", program);
    name += strspn(name, " \t");
    last = name[strcspn(name, " \t\r\n")];
    name[strcspn(name, " \t\r\n")] = '\0';
    if (last == '\r')
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s: its lines end as those of Windows do, and there is no %s with a "
                         "carriage return behind its name; sed -i 's/\\r$//' %s mends that",
                         program, name, program);
    return fault_set(why, ML_ERR_SYSTEM,
                     "%s: %s, the interpreter that its first line names, is missing", program,
                     name);
}

/* Why the program could not be executed, and what helps. */
static int exec_fault(const struct spawn *s, int error, struct fault *why)
{
    const char *program = s->argv[0];
    struct stat st = {0};
    char path[PATH_MAX];
    bool is_there = program_look(s, &st, path), is_file = is_there && S_ISREG(st.st_mode);
    struct utsname here;

    if (error == ENOEXEC && uname(&here) == 0)
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s: it is not a program for this host's processor, %s; build it there",
                         program, here.machine);
    if (error == ENOENT && !is_there && strpbrk(program, " |;&$<>`"))
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s: there is no program of that name; a shell runs such a line: sh -c "
                         "'...'",
                         program);
    if (error == ENOENT && !strchr(s->program, '/') &&
        program_path_of_rank(path, s->program, s->path, s->cwd))
        return interpreter_fault(program, path, why);
    if (error == ENOENT && !strchr(s->program, '/') && is_file)
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s: not found in PATH, but there is a ./%s: write ./%s", program, program,
                         program);
    if (error == ENOENT && !strchr(s->program, '/'))
        return fault_set(why, ML_ERR_SYSTEM, "%s: not found in PATH (%s)", program, s->path);
    if (error == ENOENT && is_there)
        return interpreter_fault(program, path, why);
    if (error == EACCES && strchr(s->program, '/') && is_there && S_ISDIR(st.st_mode))
        return fault_set(why, ML_ERR_SYSTEM, "%s: it is a directory", program);
    if (error == EACCES && strchr(s->program, '/') && is_file && !(st.st_mode & 0111))
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s: Permission denied; make it executable: chmod +x %s", program,
                         program);
    return fault_os(why, ML_ERR_SYSTEM, error, "%s", program);
}

static int child_fault(const struct child *c, const struct failure *f, int *status,
                       struct fault *why)
{
    const struct spawn *s = c->spawn;
    const char *program = s->argv[0];
    char nodes[256];

    *status = STATUS_OURS;
    switch (f->step) {
    case STEP_VIEW:
        return fault_os(why, ML_ERR_SYSTEM, f->error,
                        "cannot enter the namespace that --mount has made");
    case STEP_DIRECTORY:
        return fault_os(why, ML_ERR_SYSTEM, f->error, "cannot change to the directory %s", s->cwd);
    case STEP_BIND:
        return fault_os(why, ML_ERR_SYSTEM, f->error, "cannot bind to its CPUs");
    case STEP_MEMORY:
        return fault_os(why, ML_ERR_SYSTEM, f->error, "cannot bind its memory to node %s",
                        cpu_list_format(nodes, sizeof(nodes), &s->memory->nodes));
    case STEP_HOLD:
        return fault_os(why, ML_ERR_SYSTEM, f->error,
                        "cannot be stopped for a debugger: this host does not allow ptrace");
    case STEP_DESCRIPTORS:
        return fault_os(why, ML_ERR_SYSTEM, f->error, "cannot place its standard streams");
    case STEP_TERMINAL:
        return fault_os(why, ML_ERR_SYSTEM, f->error, "cannot take its terminal");
    case STEP_EXEC:
        *status =
            f->error == ENOENT || f->error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
        return exec_fault(s, f->error, why);
    case STEP_PYTHON:
        *status = STATUS_NOT_FOUND;
        if (f->error == ENOENT)
            return fault_set(why, ML_ERR_SYSTEM, "%s: there is no python3 in PATH (%s)", program,
                             s->path);
        return fault_os(why, ML_ERR_SYSTEM, f->error, "%s: cannot execute python3", program);
    case STEP_PARENT:
    case STEP_NONE:
        break;
    }
    return fault_set(why, ML_ERR_SYSTEM, "%s: ended before it began", program);
}

/* Not inlined, so that vfork's child writes to this stack frame and not to the caller's. */
static __attribute__((noinline)) pid_t child_start(const struct child *c)
{
    pid_t pid = c->spawn->cgroup >= 0 ? birth_in_cgroup(c->spawn->cgroup) : -1;

    if (pid < 0)
        pid = vfork();
    if (pid == 0)
        child_run(c);
    return pid;
}

/* Returns once the child runs the program or has failed to. */
static struct failure failure_read(struct child *c)
{
    struct failure f = {STEP_NONE, 0};
    ssize_t n;

    close(c->failure[1]);
    c->failure[1] = -1;
    do
        n = read(c->failure[0], &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    return n == sizeof(f) ? f : (struct failure){STEP_NONE, 0};
}

/* Turns the stop of a traced process at its first instruction into that of SIGSTOP, which any
 * debugger may find it in, and lets go of it. */
static void child_hold(pid_t child)
{
    int status;
    pid_t got;

    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got == child && WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, child, NULL, (void *)(uintptr_t)SIGSTOP);
}

static int child_create(pid_t *pid, struct child *c, int *status, struct fault *why)
{
    sigset_t all, before;
    struct failure f;
    pid_t child;
    int err, rc;

    /* No handler of the agent may run in the child, in the agent's memory. */
    sigfillset(&all);
    sigemptyset(&c->mask);
    sigprocmask(SIG_BLOCK, &all, &before);
    c->leader = c->spawn->is_terminal ? -1 : leader_start();
    child = child_start(c);
    err = errno;
    if (c->leader > 0)
        waitpid(c->leader, NULL, __WALL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return fault_os(why, ML_ERR_SYSTEM, err, "%s: cannot start one more process",
                        c->spawn->argv[0]);
    f = failure_read(c);
    if (f.step == STEP_NONE) {
        if (c->spawn->is_held)
            child_hold(child);
        *pid = child;
        return 0;
    }
    rc = child_fault(c, &f, status, why);
    waitpid(child, NULL, 0);
    return rc;
}

int spawn_process(pid_t *pid, const struct spawn *s, int *status, struct fault *why)
{
    struct child c = {.spawn = s, .agent = getpid(), .failure = {-1, -1}};
    int rc;

    *status = STATUS_OURS;
    c.candidates = candidates_create(s->program, s->path);
    c.script = script_create(s->argv);
    if (program_path_is_python(s->argv[0]))
        c.pythons = candidates_create("python3", s->path);
    if (!c.candidates || !c.script || (program_path_is_python(s->argv[0]) && !c.pythons))
        rc = fault_set(why, ML_ERR_MEMORY, "%s: out of memory", s->argv[0]);
    else if (pipe2(c.failure, O_CLOEXEC))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot make its pipes", s->argv[0]);
    else
        rc = child_create(pid, &c, status, why);
    for (int i = 0; i < 2; i++) {
        if (c.failure[i] >= 0)
            close(c.failure[i]);
    }
    candidates_destroy(c.candidates);
    candidates_destroy(c.pythons);
    free(c.script);
    return rc;
}
