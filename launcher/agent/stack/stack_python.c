/* SPDX-License-Identifier: MIT */
#include "launcher/agent/stack/stack_python.h"

#include "common/agent_to_rank.h"
#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/agent/stack/stack_interrupt_linux.h"
#include "launcher/base/machine/process_linux.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ANSWER_MS = 1000, /* a process that is stopped, or in the kernel, does not answer */
    LOOK_MS = 5,      /* between looks at the file */
    QUIET_LOOKS = 4,  /* without growth: the stack is complete */
    TEXT_MAX = 1 << 14,
    LINES_MAX = 100,
};

/* Finds python.PID.SIGNAL in the directory. Returns the signal, or 0. */
static int file_find(const char *dir, pid_t pid, char path[PATH_MAX])
{
    char prefix[32];
    struct dirent *e;
    int signal = 0, length = snprintf(prefix, sizeof(prefix), PYTHON_STACK_PREFIX "%d.", (int)pid);
    DIR *d = opendir(dir);

    while (d && !signal && (e = readdir(d))) {
        if (strncmp(e->d_name, prefix, (size_t)length) == 0)
            signal = (int)strtol(e->d_name + length, NULL, 10);
        if (signal && snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name) >= PATH_MAX)
            signal = 0;
    }
    if (d)
        closedir(d);
    return signal > 0 && signal < NSIG ? signal : 0;
}

static bool is_python(pid_t pid)
{
    char link[64], path[PATH_MAX];
    const char *name;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    name = strrchr(path, '/');
    return strncmp(name ? name + 1 : path, "python", 6) == 0;
}

/* Opens the file of a process that answers *signal, and makes it if the preloaded library answers.
 * -1: nobody does. */
static int file_open(const char *dir, pid_t pid, int *signal)
{
    char path[PATH_MAX];
    int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

    *signal = file_find(dir, pid, path);
    if (!*signal && is_python(pid)) {
        *signal = PYTHON_STACK_SIGNAL;
        flags |= O_CREAT | O_EXCL;
        if (snprintf(path, sizeof(path), "%s/" PYTHON_STACK_PREFIX "%d.%d", dir, (int)pid,
                     *signal) >= (int)sizeof(path))
            return -1;
    }
    return *signal && process_catches(pid, *signal) ? open(path, flags, 0600) : -1;
}

/* Until the file has grown and does not grow any more. */
static void answer_await(int fd, int64_t deadline_ms)
{
    struct stat st;
    off_t size = 0;
    int quiet = 0;

    while (quiet < QUIET_LOOKS && clock_left_ms(deadline_ms) > 0) {
        poll(NULL, 0, LOOK_MS);
        if (fstat(fd, &st))
            return;
        quiet = st.st_size > 0 && st.st_size == size ? quiet + 1 : 0;
        size = st.st_size;
    }
}

static void answer_read(int fd, json_t *lines)
{
    char *text = malloc(TEXT_MAX), *rest = text, *line;
    ssize_t n = text ? pread(fd, text, TEXT_MAX - 1, 0) : -1;

    if (n > 0)
        text[n] = '\0';
    while (n > 0 && (line = strsep(&rest, "\n")) && json_array_size(lines) < LINES_MAX) {
        line += strspn(line, " ");
        if (strncmp(line, "File ", 5) == 0)
            json_array_append_new(lines, text_json(line));
    }
    free(text);
}

void stack_python_ask(const char *dir, pid_t pid, int64_t deadline_ms, json_t *lines)
{
    int64_t mine_ms = clock_ms() + ANSWER_MS;
    int signal, fd = file_open(dir, pid, &signal);
    struct stat st;

    if (fd < 0)
        return;
    /* Sent to the main thread, whose id is the process's. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && ftruncate(fd, 0) == 0 &&
        stack_interrupt_is_harmless(pid) && syscall(SYS_tgkill, pid, pid, signal) == 0) {
        answer_await(fd, mine_ms < deadline_ms ? mine_ms : deadline_ms);
        answer_read(fd, lines);
    }
    close(fd);
}
