/* SPDX-License-Identifier: MIT */
/*
 * shim_mpi.c: a process of a rank that needs another of MPI's start-up protocols than the rank is
 * served by. A script's ranks are served by PMI-1. If one of their processes turns out to be a
 * program of Open MPI, it asks the agent for a PMIx server before main(), over the socket of PMI-1,
 * which nobody else uses then. Where the job serves one protocol alone, the user is told.
 */
#include <errno.h>
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

static int on_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    enum library *found = arg;

    (void)size;
    if (begins(name, "libmpi.so.40"))
        *found = LIBRARY_OPEN_MPI;
    else if (begins(name, "libmpich.so.") || strcmp(name, "libmpi.so.12") == 0)
        *found = LIBRARY_MPICH;
    return *found != LIBRARY_NONE;
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

/* From here on this process and its children see PMIx alone. */
static void answer_apply(char *answer)
{
    static const char *const others[] = {"PMI_FD", "PMI_RANK", "PMI_SIZE", "MLAUNCH_MPI_FD"};
    char *line = strchr(answer, '\n') + 1, *end;

    for (; (end = strchr(line, '\n')); line = end + 1) {
        char *value = memchr(line, '=', (size_t)(end - line));

        *end = '\0';
        if (!value)
            continue;
        *value = '\0';
        setenv(line, value + 1, !begins(line, "OMPI_MCA_")); /* the user's own settings stay */
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        unsetenv(others[i]);
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

#define SECOND "the rank has run an MPI program before, and can be only one: start a job for each"
#define ALONE(protocol)                                                                            \
    "the ranks are served by " protocol                                                            \
    " alone, so that each is a job of its own: without --mpi, and in a job without programs of "   \
    "another MPI, it is served"

/* MPICH's MPI_Finalize shuts the socket down, for all processes of the rank. */
static bool is_shut(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

/* MLAUNCH_MPI_FD is the descriptor, with a "p" behind it if processes of Python shall ask. */
static __attribute__((constructor)) void shim_mpi_choose(void)
{
    const char *ask = getenv("MLAUNCH_MPI_FD"), *pmi = getenv("PMI_FD");
    bool has_pmix = getenv("PMIX_NAMESPACE") != NULL;
    enum library library = LIBRARY_NONE;

    if (!pmi && !has_pmix)
        return;
    if (ask && !has_pmix && is_python() && strchr(ask, 'p')) {
        pmix_ask(atoi(ask), true);
        return;
    }
    dl_iterate_phdr(on_library, &library);
    if (library == LIBRARY_OPEN_MPI && !has_pmix && ask && is_shut(atoi(ask)))
        other_say("Open MPI", SECOND);
    else if (library == LIBRARY_OPEN_MPI && !has_pmix && ask)
        pmix_ask(atoi(ask), false);
    else if (library == LIBRARY_OPEN_MPI && !has_pmix)
        other_say("Open MPI", ALONE("PMI-1"));
    else if (library == LIBRARY_MPICH && ask && is_shut(atoi(ask)))
        other_say("MPICH", SECOND);
    else if (library == LIBRARY_MPICH && !pmi)
        other_say("MPICH", ALONE("PMIx"));
}
