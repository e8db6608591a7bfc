/* SPDX-License-Identifier: MIT */
/*
 * entry_main.c: mlaunch-entry, the first program in a rank's container (--container). It gets the
 * rank's streams from the agent, whatever the container's program did with its own, takes up the
 * rank's environment and directory, and becomes the rank's program. It is linked statically where
 * that is possible, so that it runs in an image of anything.
 *
 * Usage: mlaunch-entry JOB_DIRECTORY INDEX
 */
#include "common/status.h"
#include "launcher/agent/container/entry_answer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The loader of the C library for which what is preloaded was not made. */
#ifdef __GLIBC__
#define OTHER_LOADER "ld-musl"
#else
#define OTHER_LOADER "ld-linux"
#endif

enum { FILE_MOST = 64 << 20, SCRIPT_LINE = 256, SCRIPTS_DEEP = 4 };

/* The rank's program, as the agent has written it. */
struct program {
    const char *cwd;
    char **argv;
    bool needs_glibc; /* something is preloaded */
};

static int door = -1;

static void answer(enum entry_step step, int error, const char *found)
{
    struct entry_answer a = {.step = (int)step, .error = error};

    snprintf(a.found, sizeof(a.found), "%s", found);
    (void)!send(door, &a, sizeof(a), MSG_NOSIGNAL);
    exit(step == ENTRY_ABSENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* The path may be too long for a socket's address, so it is called by a relative one. */
static int door_open(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = ENTRY_DOOR};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (chdir(directory) || fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
        return -1;
    return fd;
}

/* Stores the rank's descriptors. Returns their number; -1: they did not come. */
static int descriptors_get(uint32_t index, int fds[ENTRY_DESCRIPTORS])
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * ENTRY_DESCRIPTORS)];
        struct cmsghdr align;
    } control;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    const struct cmsghdr *with;
    int count;

    if (send(door, &index, sizeof(index), MSG_NOSIGNAL) != sizeof(index) ||
        recvmsg(door, &m, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    with = CMSG_FIRSTHDR(&m);
    if (!with || with->cmsg_type != SCM_RIGHTS)
        return -1;
    count = (int)((with->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(with), (size_t)count * sizeof(int));
    return count;
}

/* `target` may be the number of one that is still needed, so all move out of the way first. */
static void descriptors_place(int fds[ENTRY_DESCRIPTORS], int count, int pmi)
{
    int above = (pmi > ENTRY_STREAMS ? pmi : ENTRY_STREAMS) + 1;

    door = fcntl(door, F_DUPFD_CLOEXEC, above);
    for (int i = 0; i < count; i++)
        fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, above);
    for (int i = 0; i < ENTRY_STREAMS && i < count; i++)
        dup2(fds[i], i);
    if (count > ENTRY_STREAMS && pmi > STDERR_FILENO)
        dup2(fds[ENTRY_STREAMS], pmi);
}

/* The whole file, with a zero byte behind it; NULL: it cannot be read. */
static char *file_read(const char *name, size_t *size)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < FILE_MOST)
        text = calloc(1, (size_t)st.st_size + 1);
    for (*size = 0; text && *size < (size_t)st.st_size;) {
        ssize_t n = read(fd, text + *size, (size_t)st.st_size - *size);

        if (n <= 0)
            break;
        *size += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* In a user namespace of its own, as those of ch-run and of rootless podman are, a container's
 * processes may not read the others' memory or descriptors. UCX, which MPICH uses, finds that out
 * too late. */
static void namespace_mind(const char *agents)
{
    char own[64] = "";

    if (readlink(ENTRY_NAMESPACE, own, sizeof(own) - 1) < 0 || strcmp(own, agents) == 0)
        return;
    setenv("UCX_POSIX_USE_PROC_LINK", "n", 0);
    setenv("UCX_TLS", "^cma", 0);
}

/* PATH stays that of the image unless the user has set it, in which case it is in the file. */
static bool program_read(struct program *p, char *text, size_t size)
{
    const char *end = text + size, *agents;
    char *at = text;
    int count;

    p->cwd = at;
    at += strlen(at) + 1;
    agents = at < end ? at : "";
    at += strlen(at) + 1;
    count = at < end ? atoi(at) : 0;
    if (count < 1 || (size_t)count > size)
        return false;
    at += strlen(at) + 1;
    p->argv = calloc((size_t)count + 1, sizeof(*p->argv));
    for (int i = 0; p->argv && i < count && at < end; i++, at += strlen(at) + 1)
        p->argv[i] = at;
    for (; at < end; at += strlen(at) + 1)
        putenv(at);
    namespace_mind(agents);
    p->needs_glibc = getenv("LD_PRELOAD") != NULL;
    return p->argv && p->argv[0];
}

/* Where a process other than this one would write its pid before it executes the program. */
static void pid_note(void)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", (int)getpid());
    if (getenv("MLAUNCH_EAGER"))
        setenv("MLAUNCH_EAGER", text, 1);
}

/* The name of an ELF file's loader; "" if it has none. `ours`: it is for this processor. */
static void elf_look(int fd, char loader[ENTRY_FOUND], bool *ours)
{
    Elf64_Ehdr head = {0}, own = {0};
    Elf64_Phdr part;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    loader[0] = '\0';
    *ours = true;
    if (self >= 0 && read(self, &own, sizeof(own)) == sizeof(own) &&
        pread(fd, &head, sizeof(head), 0) == sizeof(head))
        *ours = head.e_machine == own.e_machine;
    if (self >= 0)
        close(self);
    if (!own.e_machine || !*ours || head.e_ident[EI_CLASS] != own.e_ident[EI_CLASS])
        return;
    for (int i = 0; i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + (size_t)i * sizeof(part));
        ssize_t size;

        if (pread(fd, &part, sizeof(part), at) != sizeof(part) || part.p_type != PT_INTERP)
            continue;
        size = pread(fd, loader, ENTRY_FOUND - 1, (off_t)part.p_offset);
        loader[size > 0 ? size : 0] = '\0';
        return;
    }
}

/* Answers if the program at `path`, or an interpreter of it, cannot run here or cannot have our
 * library preloaded. A static program needs no library, and gets none. */
static void program_look(const struct program *p, const char *path, int depth)
{
    char line[SCRIPT_LINE] = "", loader[ENTRY_FOUND];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : pread(fd, line, sizeof(line) - 1, 0);
    bool ours;

    if (size >= SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0) {
        elf_look(fd, loader, &ours);
        if (!ours)
            answer(ENTRY_PROCESSOR, ENOEXEC, path);
        if (loader[0] && access(loader, F_OK))
            answer(ENTRY_LOADER, ENOENT, loader);
        if (p->needs_glibc && strstr(loader, OTHER_LOADER))
            answer(ENTRY_LIBC, 0, loader);
    } else if (size > 2 && line[0] == '#' && line[1] == '!' && depth < SCRIPTS_DEEP) {
        char *name = line + 2 + strspn(line + 2, " \t");

        name[strcspn(name, " \t\r\n")] = '\0';
        if (access(name, F_OK))
            answer(ENTRY_LOADER, ENOENT, name);
        program_look(p, name, depth + 1);
    }
    if (fd >= 0)
        close(fd);
}

/* Executes the file at `path`, or a shell for a script without #!. Returns an errno. */
static int path_execute(const struct program *p, const char *path)
{
    size_t count = 0;
    char **script;
    int error;

    if (access(path, F_OK))
        return errno;
    if (access(path, X_OK) == 0)
        program_look(p, path, 0);
    execv(path, p->argv);
    error = errno;
    if (error != ENOEXEC)
        return error;
    while (p->argv[count])
        count++;
    script = calloc(count + 2, sizeof(*script));
    if (!script)
        return ENOMEM;
    script[0] = (char *)(uintptr_t) "/bin/sh";
    script[1] = (char *)(uintptr_t)path;
    memcpy(script + 2, p->argv + 1, (count - 1) * sizeof(*script));
    execv(script[0], script);
    free(script);
    return error;
}

/* A name without a slash is searched for in PATH. Returns an errno. */
static int program_execute(const struct program *p)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];
    int error = ENOENT;

    if (strchr(p->argv[0], '/'))
        return path_execute(p, p->argv[0]);
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at; at = strchr(at, ':')) {
        int length, now;

        at += *at == ':';
        length = (int)strcspn(at, ":");
        snprintf(candidate, sizeof(candidate), "%.*s%s%s", length, at, length ? "/" : "./",
                 p->argv[0]);
        now = path_execute(p, candidate);
        if (now != ENOENT && now != ENOTDIR && now != EACCES)
            return now;
        if (now == EACCES && access(candidate, F_OK) == 0)
            error = EACCES;
        if (!*at)
            break;
    }
    return error;
}

/* As outside, a Python script need not be executable or in PATH. */
static void python_execute(const struct program *p)
{
    const char *script = p->argv[0];
    size_t length = strlen(script), count = 0;
    struct program python = *p;
    int error;

    if (length <= 3 || strcmp(script + length - 3, ".py") != 0 || access(script, R_OK) ||
        access(script, X_OK) == 0)
        return;
    while (p->argv[count])
        count++;
    python.argv = calloc(count + 2, sizeof(*python.argv));
    if (!python.argv)
        return;
    memcpy(python.argv + 1, p->argv, count * sizeof(*p->argv));
    python.argv[0] = (char *)(uintptr_t) "python3";
    error = program_execute(&python);
    free(python.argv);
    answer(ENTRY_ABSENT, error, "python3");
}

int main(int argc, char **argv)
{
    int fds[ENTRY_DESCRIPTORS], count, error, index;
    struct program p = {0};
    char name[64], *text;
    const char *pmi;
    size_t size;

    index = argc == 3 ? atoi(argv[2]) : -1;
    door = index >= 0 ? door_open(argv[1]) : -1;
    count = door >= 0 ? descriptors_get((uint32_t)index, fds) : -1;
    if (count < 0) {
        fprintf(stderr, "mlaunch-entry: the agent of rank %s is not there\n",
                argc == 3 ? argv[2] : "");
        return STATUS_OURS;
    }
    snprintf(name, sizeof(name), ENTRY_FILE, index);
    text = file_read(name, &size);
    if (!text || !program_read(&p, text, size))
        answer(ENTRY_OTHER, errno, name);
    pmi = getenv("PMI_FD");
    descriptors_place(fds, count, pmi ? atoi(pmi) : -1);
    pid_note();
    if (chdir(p.cwd))
        answer(ENTRY_DIRECTORY, errno, p.cwd);
    python_execute(&p);
    error = program_execute(&p);
    answer(error == ENOENT || error == ENOTDIR ? ENTRY_ABSENT : ENTRY_OTHER, error, p.argv[0]);
    return STATUS_OURS;
}
