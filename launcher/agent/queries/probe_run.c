/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/probe_run.h"

#include "common/clock.h"
#include "common/text/parsed_json.h"
#include "launcher/base/process/install_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* mlaunch-probe has deadlines of its own, of at most 6.5 s; mlaunch waits longer than either. */
enum { DEADLINE_MS = 7500, CLOSE_MS = 1000, LINE_MOST = 4 << 20, FIXED_ARGS = 8, NUMBER_TEXT = 32 };

static int probe_spawn(struct probe_run *w, char **argv, struct fault *why)
{
    posix_spawn_file_actions_t actions;
    int to[2], from[2], err;

    if (pipe2(to, O_CLOEXEC))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot run %s", argv[0]);
    if (pipe2(from, O_CLOEXEC)) {
        err = errno;
        close(to[0]);
        close(to[1]);
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot run %s", argv[0]);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDERR_FILENO); /* errors of the loader */
    err = posix_spawn(&w->pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    w->in = to[1];
    w->out = from[0];
    if (!err)
        return 0;
    w->pid = 0;
    close(w->in);
    close(w->out);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot run %s", argv[0]);
}

/* The first line that begins with a brace; libraries may have printed errors before it. NULL: there
 * is none, and `text` begins with what was printed instead. */
static char *answer_line_find(char *text)
{
    char *line = text, *end;

    while ((end = strchr(line, '\n'))) {
        if (*line == '{') {
            *end = '\0';
            return line;
        }
        line = end + 1;
    }
    return NULL;
}

static int probe_answer_read(struct probe_run *w, json_t *answer, struct fault *why)
{
    char *text = calloc(1, LINE_MOST), *line = NULL;
    int64_t deadline = clock_ms() + DEADLINE_MS;
    size_t size = 0;
    json_t *root;
    int rc = 0;

    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    while (!(line = answer_line_find(text)) && size < LINE_MOST - 1) {
        struct pollfd p = {.fd = w->out, .events = POLLIN};
        ssize_t n = 0;

        if (poll(&p, 1, clock_left_ms(deadline)) > 0)
            n = read(w->out, text + size, LINE_MOST - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    root = line ? parsed_json(line, strlen(line), 0, NULL) : NULL;
    if (!root || json_object_update(answer, root)) {
        const char *said = text[0] ? text : "mlaunch-probe printed nothing";

        rc = fault_set(why, ML_ERR_DEVICE,
                       "its RDMA devices could not be read: %.*s; is libibverbs1 installed there?",
                       (int)strcspn(said, "\n"), said);
    }
    json_decref(root);
    free(text);
    return rc;
}

static int question_number(const json_t *object, const char *key, int otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int)json_integer_value(value) : otherwise;
}

int probe_run_devices(struct probe_run *w, const json_t *question, json_t *answer,
                      struct fault *why)
{
    json_t *named = json_object_get(question, "named"), *name;
    int gid_index = question_number(question, "gid_index", -1);
    char port[NUMBER_TEXT], index[NUMBER_TEXT], **argv;
    char probe[PATH_MAX];
    size_t i, n = 0;
    int rc;

    probe_run_close(w);
    rc = install_path_find(probe, INSTALL_PROBE, why);
    if (rc == ML_ERR_STATE)
        return rc;
    if (rc)
        return fault_set(
            why, ML_ERR_DEVICE,
            "mlaunch was built without RDMA there (libibverbs was missing): use --backend "
            "tcp, or build it with libibverbs-dev");
    argv = calloc(json_array_size(named) + FIXED_ARGS, sizeof(*argv));
    if (!argv)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(port, sizeof(port), "--port=%d", question_number(question, "port", 0));
    snprintf(index, sizeof(index), "--gid-index=%d", gid_index);
    argv[n++] = probe;
    argv[n++] = (char *)"--wires";
    argv[n++] = port;
    if (gid_index >= 0)
        argv[n++] = index;
    argv[n++] = (char *)"--";
    json_array_foreach(named, i, name)
    {
        if (json_is_string(name))
            argv[n++] = (char *)(uintptr_t)json_string_value(name);
    }
    rc = probe_spawn(w, argv, why);
    free(argv);
    return rc ? rc : probe_answer_read(w, answer, why);
}

int probe_run_try(struct probe_run *w, const json_t *question, json_t *answer, struct fault *why)
{
    char *text = json_dumps(json_object_get(question, "wires"), JSON_COMPACT);
    size_t size = text ? strlen(text) : 0, at = 0;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);

    if (size)
        text[size++] = '\n'; /* in place of the terminating NUL */
    while (w->pid && at < size) {
        ssize_t n = write(w->in, text + at, size - at);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    signal(SIGPIPE, before);
    free(text);
    if (size == 0 || at < size)
        return fault_set(why, ML_ERR_REFUSED, "mlaunch-probe has ended too early");
    return probe_answer_read(w, answer, why);
}

void probe_run_close(struct probe_run *w)
{
    struct pollfd p = {.fd = w->out, .events = POLLIN};
    int64_t deadline = clock_ms() + CLOSE_MS;
    char rest[512];

    if (!w->pid)
        return;
    close(w->in); /* gives it end of file */
    while (poll(&p, 1, clock_left_ms(deadline)) > 0 && read(w->out, rest, sizeof(rest)) > 0)
        ;
    close(w->out);
    kill(w->pid, SIGKILL); /* in case it hangs */
    waitpid(w->pid, NULL, 0);
    w->pid = 0;
}
