/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch_script.h"

#include "launcher/base/text/program_path.h"
#include "launcher/base/text/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER = 4096 };

static const char *const commands[][5] = {
    [BATCH_SLURM] = {"sbatch", "--parsable"},
    [BATCH_PBS] = {"qsub"},
    [BATCH_LSF] = {"bsub"},
    [BATCH_SGE] = {"qsub", "-terse"},
    [BATCH_KUBERNETES] = {"kubectl", "create", "-f", "-"},
};

/* A file in memory that holds the script, for stdin, so that nothing has to write to a pipe. */
static int script_open(const char *script)
{
    size_t size = strlen(script);
    int fd = memfd_create("script", MFD_CLOEXEC);

    if (fd >= 0 && (write(fd, script, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int command_spawn(pid_t *pid, const char *path, const char *const *words, int in, int out)
{
    posix_spawn_file_actions_t files;
    int err;

    posix_spawn_file_actions_init(&files);
    err = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!err)
        err = posix_spawn(pid, path, &files, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&files);
    return err;
}

/* `answer` is the beginning of what the command has printed. */
static int command_run(const char *path, const char *const *words, const char *script,
                       char answer[ANSWER], struct fault *why)
{
    int in = script_open(script), out = memfd_create("answer", MFD_CLOEXEC), status = 0;
    int err = in < 0 || out < 0 ? errno : 0;
    ssize_t size = 0;
    pid_t pid;

    if (!err)
        err = command_spawn(&pid, path, words, in, out);
    if (!err) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        size = pread(out, answer, ANSWER - 1, 0);
    }
    answer[size > 0 ? size : 0] = '\0';
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot start %s", path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fault_set(why, ML_ERR_REFUSED, "%s did not accept the job: %s %d", *words,
                         WIFEXITED(status) ? "status" : "signal",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

/* Finds the job's number in "12", "12;cluster", "12.server", "Job <12> is submitted …" or
 * "job.batch/NAME created". */
static char *id_find(char *answer, enum batch_system system)
{
    const char *before = system == BATCH_LSF          ? "Job <"
                         : system == BATCH_KUBERNETES ? "job.batch/"
                                                      : NULL;
    char *at = answer;

    if (before) {
        at = strstr(answer, before);
        if (!at)
            return NULL;
        at += strlen(before);
    }
    at[strcspn(at, system == BATCH_LSF ? ">" : "; \t\r\n")] = '\0';
    return *at ? at : NULL;
}

int batch_submit(char **id, enum batch_system system, const char *script, struct fault *why)
{
    const char *const *words = commands[system];
    char answer[ANSWER], shown[TEXT_SHOWN], *path = NULL, *found;
    int rc = program_path_find(&path, *words, why);

    if (!rc)
        rc = command_run(path, words, script, answer, why);
    free(path);
    if (rc)
        return rc;
    text_show(shown, answer);
    found = id_find(answer, system);
    if (!found)
        return fault_set(why, ML_ERR_REFUSED,
                         "%s accepted the job, but its answer was not understood: '%s'", *words,
                         shown);
    return string_copy(id, found, why);
}
