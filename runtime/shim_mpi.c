/* SPDX-License-Identifier: MIT */
/*
 * shim_mpi.c: a process of a rank that needs another of MPI's start-up protocols than the rank is
 * served by. A script's ranks are served by PMI-1. If one of their processes turns out to be a
 * program of Open MPI, it asks the agent for a PMIx server before main(), over the socket of PMI-1,
 * which nobody else uses then. Where the job serves one protocol alone, the user is told; and the
 * agent is told at the program's end if it has called MPI_Init, for it was a job of its own.
 */
#include "common/agent_to_rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, ANSWER_MOST = 32 << 10, VARIABLES_MOST = 64, QUESTION_MOST = 1000 };

enum library { LIBRARY_NONE, LIBRARY_MPICH, LIBRARY_OPEN_MPI };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The MPI library of this process. */
struct found {
    enum library library;
    char path[PATH_MAX];
};

static int on_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    struct found *found = arg;

    (void)size;
    if (begins(name, "libmpi.so.40"))
        found->library = LIBRARY_OPEN_MPI;
    else if (begins(name, "libmpich.so.") || strcmp(name, "libmpi.so.12") == 0)
        found->library = LIBRARY_MPICH;
    else
        return 0;
    snprintf(found->path, sizeof(found->path), "%s", info->dlpi_name);
    return 1;
}

static bool is_python(void)
{
    return begins(program_invocation_short_name, "python");
}

/* A Python program opens the library of mpi4py later, so the agent finds out which one that is. */
static bool question_send(int fd, bool is_for_python)
{
    static const char plain[] = "cmd=mlaunch_pmix\n";
    char text[QUESTION_MOST], path[QUESTION_MOST - 64];
    ssize_t n = 0;
    int size;

    if (!is_for_python)
        return send(fd, plain, sizeof(plain) - 1, MSG_NOSIGNAL) == sizeof(plain) - 1;
    n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '=' || *c == 0x7f)
            return false; /* it has no place in a line of PMI-1 */
    size = snprintf(text, sizeof(text), "cmd=mlaunch_pmix python=%s\n", path);
    return send(fd, text, (size_t)size, MSG_NOSIGNAL) == size;
}

/* How many variables follow the first line of the answer; -1: it is not there yet, or is no answer
 * that brings any. */
static int count_read(const char *answer)
{
    int count = -1;

    if (!strchr(answer, '\n') || sscanf(answer, "cmd=mlaunch_pmix rc=0 count=%d", &count) != 1 ||
        count < 0 || count > VARIABLES_MOST)
        return -1;
    return count;
}

static int lines_count(const char *text)
{
    int lines = 0;

    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

/* Reads the whole answer. False: none has come, or it brings no variables. */
static bool answer_read(int fd, char answer[ANSWER_MOST])
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t filled = 0;

    answer[0] = '\0';
    while (!strchr(answer, '\n') || lines_count(answer) < count_read(answer) + 1) {
        int ready = poll(&p, 1, ANSWER_MS);
        ssize_t n;

        if (ready < 0 && errno == EINTR)
            continue;
        n = ready > 0 ? read(fd, answer + filled, ANSWER_MOST - 1 - filled) : -1;
        if (n <= 0)
            return false;
        filled += (size_t)n;
        answer[filled] = '\0';
    }
    return count_read(answer) >= 0;
}

/* From here on this process and its children see PMIx, too. PMI-1 stays for what they start: the
 * mpi4py of Python is another library than that of programs that a script calls. */
static void answer_apply(char *answer)
{
    char *line = strchr(answer, '\n') + 1, *end;

    for (; (end = strchr(line, '\n')); line = end + 1) {
        char *value = memchr(line, '=', (size_t)(end - line));

        *end = '\0';
        if (!value)
            continue;
        *value = '\0';
        setenv(line, value + 1, !begins(line, "OMPI_MCA_")); /* the user's own settings stay */
    }
}

static void pmix_ask(int fd, bool is_for_python)
{
    char *answer = malloc(ANSWER_MOST);

    if (answer && question_send(fd, is_for_python) && answer_read(fd, answer))
        answer_apply(answer);
    free(answer);
}

/* One rank a host speaks for all: its process is a program of `library`, but for a reason it is not
 * served. */
static void other_say(const char *library, const char *reason)
{
    const char *rank = getenv("MLAUNCH_RANK"), *local = getenv("MLAUNCH_LOCAL_RANK");
    const char *size = getenv("MLAUNCH_SIZE");

    if (rank && local && strcmp(local, "0") == 0 && size && strcmp(size, "1") != 0)
        fprintf(stderr, "mlaunch: warning: %s, a process of rank %s, is a program of %s, but %s\n",
                program_invocation_short_name, rank, library, reason);
}

#define CLOSED                                                                                     \
    "the socket by which mlaunch serves it (PMI_FD) is closed: a program between mlaunch and "     \
    "this "                                                                                        \
    "one has closed all descriptors; Python's subprocess leaves them open with close_fds=False"
#define SECOND "the rank has run an MPI program before, and can be only one: start a job for each"
#define ALONE(protocol, cause)                                                                     \
    "the ranks are served by " protocol " alone, because of " cause                                \
    ", so that each is a job of its own: start it without that"

/* The text becomes a part of mlaunch's sentence about this rank, if it fails. */
static void cause_leave(const char *rank, char *text)
{
    const char *dir = getenv("MLAUNCH_JOB_DIR");
    char path[PATH_MAX];
    int fd;

    if (!dir)
        return;
    for (char *c = text; *c; c++) /* the program's name may have what JSON does not */
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\')
            *c = '?';
    snprintf(path, sizeof(path), "%s/" RANK_ERROR_FILE, dir, atoi(rank));
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "{\"message\": \"%s\"}\n", text);
    close(fd);
}

/* The socket of this process, a program of `library`, is closed. */
static void closed_say(const char *library)
{
    const char *rank = getenv("MLAUNCH_RANK");
    char text[1000];

    other_say(library, CLOSED);
    snprintf(text, sizeof(text), "%s is a program of %s, but " CLOSED,
             program_invocation_short_name, library);
    if (rank)
        cause_leave(rank, text);
}

/* MPICH's MPI_Finalize shuts the socket down, for all processes of the rank. */
static bool is_shut(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

/* A wrapper may have closed all descriptors, and others may have got its number. */
static bool is_lost(int fd)
{
    int domain = 0;
    socklen_t size = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX;
}

/* MLAUNCH_MPI_FD is the descriptor, with a "p" behind it if processes of Python shall ask. */
static __attribute__((constructor)) void shim_mpi_choose(void)
{
    const char *ask = getenv("MLAUNCH_MPI_FD"), *pmi = getenv("PMI_FD");
    bool has_pmix = getenv("PMIX_NAMESPACE") != NULL;
    struct found found = {.library = LIBRARY_NONE};

    if (!pmi && !has_pmix)
        return;
    if (ask && !has_pmix && is_python() && strchr(ask, 'p')) {
        pmix_ask(atoi(ask), true);
        return;
    }
    dl_iterate_phdr(on_library, &found);
    if (found.library == LIBRARY_OPEN_MPI && !has_pmix && ask && is_lost(atoi(ask)))
        closed_say("Open MPI");
    else if (found.library == LIBRARY_OPEN_MPI && !has_pmix && ask && is_shut(atoi(ask)))
        other_say("Open MPI", SECOND);
    else if (found.library == LIBRARY_OPEN_MPI && !has_pmix && ask)
        pmix_ask(atoi(ask), false);
    else if (found.library == LIBRARY_OPEN_MPI && !has_pmix)
        other_say("Open MPI", ALONE("PMI-1", "--mpi pmi1"));
    else if (found.library == LIBRARY_MPICH && pmi && is_lost(atoi(pmi)))
        closed_say("MPICH");
    else if (found.library == LIBRARY_MPICH && ask && is_shut(atoi(ask)))
        other_say("MPICH", SECOND);
    else if (found.library == LIBRARY_MPICH && !pmi)
        other_say("MPICH", ALONE("PMIx", "--mpi pmix or a program of Open MPI in the same job"));
}

/* MPI_Initialized stays true after MPI_Finalize. A module of Python has loaded its library where
 * only the library's own handle finds it. */
static bool has_initialised(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    int (*initialised)(int *flag) = NULL;
    int flag = 0;

    if (!library)
        return false;
    *(void **)&initialised = dlsym(library, "MPI_Initialized");
    if (initialised)
        initialised(&flag);
    dlclose(library);
    return flag;
}

/* A program that has loaded the library, and has not called MPI_Init, is none of a job. */
static __attribute__((destructor)) void shim_mpi_end(void)
{
    const char *rank = getenv("MLAUNCH_RANK"), *dir = getenv("MLAUNCH_JOB_DIR");
    const char *size = getenv("MLAUNCH_SIZE");
    bool has_pmi = getenv("PMI_FD") != NULL, has_pmix = getenv("PMIX_NAMESPACE") != NULL;
    struct found found = {.library = LIBRARY_NONE};
    char mark[PATH_MAX];
    int fd;

    if ((!has_pmi && !has_pmix) || !rank || !dir || !size || strcmp(size, "1") == 0)
        return;
    dl_iterate_phdr(on_library, &found);
    if (found.library == LIBRARY_NONE || (found.library == LIBRARY_MPICH ? has_pmi : has_pmix) ||
        !has_initialised(found.path))
        return;
    snprintf(mark, sizeof(mark), "%s/" MPI_APART_PREFIX "%d", dir, atoi(rank));
    fd = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}
