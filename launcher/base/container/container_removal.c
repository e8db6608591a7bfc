/* SPDX-License-Identifier: MIT */
#include "launcher/base/container/container_removal.h"

#include "common/clock.h"
#include "launcher/base/text/string_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER  "containers"
#define COMMAND "command"

enum { COMMAND_MOST = 32 << 10, NAMES_MOST = 4096, LIMIT_MS = 10000, PAUSE_MS = 10 };

extern char **environ;

int container_removal_open(const char *job_dir, char *const *command, struct fault *why)
{
    char path[PATH_MAX];
    FILE *to;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/" FOLDER, job_dir);
    if (mkdir(path, 0700))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", path);
    snprintf(path, sizeof(path), "%s/" FOLDER "/" COMMAND, job_dir);
    to = fopen(path, "wxe");
    if (!to)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    for (; *command; command++)
        fwrite(*command, 1, strlen(*command) + 1, to);
    if (ferror(to) | fclose(to))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    return rc;
}

int container_removal_add(const char *job_dir, const char *name, struct fault *why)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/" FOLDER "/%s", job_dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    close(fd);
    return 0;
}

void container_removal_drop(const char *job_dir, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/" FOLDER "/%s", job_dir, name);
    unlink(path);
}

/* The words of the file, each ended by a zero byte. */
static int command_read(struct string_list *l, int folder, struct fault *why)
{
    static char text[COMMAND_MOST];
    int fd = openat(folder, COMMAND, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));

    if (fd >= 0)
        close(fd);
    if (size <= 0 || text[size - 1])
        return fault_set(why, ML_ERR_SYSTEM, "there is no command");
    for (const char *at = text; at < text + size && !rc; at += strlen(at) + 1)
        rc = string_list_add(l, at, why);
    return rc;
}

/* How many names were added. */
static int names_add(struct string_list *l, DIR *folder, struct fault *why)
{
    const struct dirent *entry;
    int count = 0;

    while (count < NAMES_MOST && (entry = readdir(folder))) {
        const char *name = entry->d_name;

        if (name[0] != '.' && name[0] != '-' && strcmp(name, COMMAND) != 0 &&
            string_list_add(l, name, why) == 0)
            count++;
    }
    return count;
}

static void command_run(char *const *words)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    int64_t deadline = clock_ms() + LIMIT_MS;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int rc;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawnp(&pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (!rc && waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_left_ms(deadline) == 0)
            kill(pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
}

void container_removal_run(const char *job_dir)
{
    struct string_list words = {0};
    char path[PATH_MAX];
    struct fault why;
    struct stat st;
    DIR *folder;
    int fd;

    snprintf(path, sizeof(path), "%s/" FOLDER, job_dir);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fstat(dirfd(folder), &st) == 0 && st.st_uid == geteuid() &&
        command_read(&words, dirfd(folder), &why) == 0 && names_add(&words, folder, &why) > 0)
        command_run(words.items);
    string_list_clear(&words);
    closedir(folder);
}
