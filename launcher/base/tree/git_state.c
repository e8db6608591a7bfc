/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/git_state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts a command, with its errors in what it prints. NULL, with errno. */
static FILE *command_open(char **argv, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int from[2], err;
    FILE *f;

    if (pipe2(from, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDERR_FILENO);
    err = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(from[1]);
    f = err ? NULL : fdopen(from[0], "r");
    if (!f)
        close(from[0]);
    if (err)
        errno = err;
    return f;
}

/* Runs git, calls `on_line` for each line that it prints, and returns its exit status; -1: it could
 * not be run. */
static int git_run(char **argv, void (*on_line)(struct git_state *s, const char *line),
                   struct git_state *s)
{
    char line[512];
    int status = 0;
    pid_t pid = 0, ended;
    FILE *f = command_open(argv, &pid);

    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        on_line(s, line);
    }
    fclose(f);
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    /* A process that reaps all its children may have been faster; what was printed counts. */
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void commit_on_line(struct git_state *s, const char *line)
{
    size_t digits = 0;

    while (isxdigit((unsigned char)line[digits]))
        digits++;
    if (digits >= 40 && digits < sizeof(s->commit) && !line[digits])
        snprintf(s->commit, sizeof(s->commit), "%s", line);
    else if (!s->error[0])
        snprintf(s->error, sizeof(s->error), "%.250s", line);
}

static void change_on_line(struct git_state *s, const char *line)
{
    if (s->changes++ == 0)
        snprintf(s->change, sizeof(s->change), "%.250s", line);
}

void git_state_read(struct git_state *out, const char *directory, const char *name)
{
    static char git[] = "git", in[] = "-C", parse[] = "rev-parse", verify[] = "--verify",
                head[] = "HEAD", quiet[] = "--no-optional-locks", status[] = "status",
                plain[] = "--porcelain";
    char path[PATH_MAX];
    char *commit_argv[] = {git, in, path, parse, verify, head, NULL};
    char *status_argv[] = {git, quiet, in, path, status, plain, NULL};
    int rc;

    *out = (struct git_state){0};
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    rc = git_run(commit_argv, commit_on_line, out);
    if (rc < 0 && errno == ENOENT) {
        snprintf(out->error, sizeof(out->error),
                 "there is no git in PATH here, which knows the commit: apt-get install git");
        return;
    }
    if (rc < 0) {
        snprintf(out->error, sizeof(out->error), "cannot run git: %.200s", strerror(errno));
        return;
    }
    if (!out->commit[0]) {
        if (!out->error[0])
            snprintf(out->error, sizeof(out->error), "git names no commit");
        return;
    }
    out->error[0] = '\0';
    if (git_run(status_argv, change_on_line, out))
        snprintf(out->error, sizeof(out->error), "%s", out->change[0] ? out->change : "git failed");
}
