/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rdma_probe.h"

#include "common/clock.h"

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

/* mlaunch-probe has a deadline of its own, of 5 s; both are shorter than the launcher's patience. */
enum { DEADLINE_MS = 7000, ANSWER_MOST = 1 << 20, FIXED_ARGS = 8, NUMBER_TEXT = 16 };

/* "": it could not be started, or said nothing in time. */
static char *probe_output(char **argv, struct fault *why)
{
    char *text = calloc(1, ANSWER_MOST);
    posix_spawn_file_actions_t actions;
    int64_t deadline = clock_ms() + DEADLINE_MS;
    size_t size = 0;
    int fds[2], err;
    pid_t pid;

    if (!text || pipe2(fds, O_CLOEXEC)) {
        free(text);
        fault_os(why, ML_ERR_SYSTEM, errno, "cannot run %s", argv[0]);
        return NULL;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO); /* the loader's complaints */
    err = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    while (!err && size < ANSWER_MOST - 1) {
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        ssize_t n = 0;

        if (poll(&p, 1, clock_left_ms(deadline)) > 0)
            n = read(fds[0], text + size, ANSWER_MOST - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    close(fds[0]);
    if (err) {
        free(text);
        fault_os(why, ML_ERR_SYSTEM, err, "cannot run %s", argv[0]);
        return NULL;
    }
    kill(pid, SIGKILL); /* it has said all, or hangs */
    waitpid(pid, NULL, 0);
    return text;
}

/* The first device that can't be used, in its own words. */
static int devices_check(const json_t *devices, struct fault *why)
{
    const json_t *device;
    size_t i;

    json_array_foreach(devices, i, device)
    {
        const char *error = json_string_value(json_object_get(device, "error"));

        if (error)
            return fault_set(why, ML_ERR_DEVICE, "%s", error);
    }
    return 0;
}

static int answer_read(json_t **devices, const char *text, struct fault *why)
{
    json_t *root = json_loads(text, 0, NULL);
    json_t *found = json_object_get(root, "devices");
    int rc;

    if (!json_is_array(found)) {
        rc = fault_set(
            why, ML_ERR_DEVICE,
            "its RDMA devices could not be looked at: %.*s; is libibverbs1 installed there?",
            (int)strcspn(text, "\n"), text[0] ? text : "mlaunch-probe says nothing");
        json_decref(root);
        return rc;
    }
    rc = devices_check(found, why);
    if (!rc)
        *devices = json_incref(found);
    json_decref(root);
    return rc;
}

/* The devices in this host's row, each once. */
static size_t devices_list(const struct job_message *job, char **out, size_t most)
{
    json_t *entry, *device;
    size_t i, j, count = 0;

    json_array_foreach(json_array_get(job->wiring, (size_t)job->host), i, entry)
    {
        json_array_foreach(entry, j, device)
        {
            char *name = (char *)(uintptr_t)json_string_value(device);
            size_t k = 0;

            while (k < count && strcmp(out[k], name) != 0)
                k++;
            if (k == count && count < most)
                out[count++] = name;
        }
    }
    return count;
}

static size_t devices_most(const struct job_message *job)
{
    json_t *entry;
    size_t i, count = 0;

    json_array_foreach(json_array_get(job->wiring, (size_t)job->host), i, entry) count +=
        json_array_size(entry);
    return count;
}

int rdma_probe_run(json_t **devices, const struct job_message *job, const char *program,
                   struct fault *why)
{
    char port[NUMBER_TEXT], gid_index[NUMBER_TEXT], *text, **argv;
    size_t most = devices_most(job), n = 0;
    int rc;

    if (!program[0])
        return fault_set(why, ML_ERR_DEVICE,
                         "mlaunch was built without RDMA there: use --backend tcp");
    argv = calloc(most + FIXED_ARGS, sizeof(*argv));
    if (!argv)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(port, sizeof(port), "--port=%d", job->rdma_port);
    snprintf(gid_index, sizeof(gid_index), "--gid-index=%d", job->gid_index);
    argv[n++] = (char *)(uintptr_t)program;
    argv[n++] = (char *)"--check";
    argv[n++] = port;
    if (job->gid_index >= 0)
        argv[n++] = gid_index;
    argv[n++] = (char *)"--";
    devices_list(job, argv + n, most);
    text = probe_output(argv, why);
    rc = text ? answer_read(devices, text, why) : ML_ERR_SYSTEM;
    free(text);
    free(argv);
    return rc;
}
