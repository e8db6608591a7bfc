/* SPDX-License-Identifier: MIT */
#include "launcher/agent/job_prepare.h"

#include "common/net/job_file.h"
#include "common/text/text_json.h"
#include "launcher/agent/children/copier_child.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/lost_device_linux.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/queries/job_name.h"
#include "launcher/agent/rank/framework_variables.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/rank/rank_command.h"
#include "launcher/agent/rank/rank_view_linux.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_mpi.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DESCRIPTORS_PER_RANK = 4,
    DESCRIPTORS_FOR_US = 64, /* channel, loop, the coordinator's first connections and others */
};

static int ranks_create(struct agent *a, struct fault *why)
{
    a->ranks = calloc((size_t)a->job->rank_most, sizeof(*a->ranks));
    if (!a->ranks)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < a->job->rank_count; i++) {
        struct agent_rank *r = &a->ranks[i];

        r->agent = a;
        r->job = &a->job->ranks[i];
        r->pty = -1;
        if (job_spec_has_stdin(a->job, r->job->rank)) {
            int rc = rank_input_create(r, why);

            if (rc)
                return fault_wrap(why, "rank %d", r->job->rank);
        }
    }
    return 0;
}

/* Checked here, because otherwise the 300th rank fails with "too many open files". */
static int descriptors_check(struct agent *a, struct fault *why)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)a->job->rank_count * DESCRIPTORS_PER_RANK + DESCRIPTORS_FOR_US;

    /* Each rank connects to its agent, and each other agent to the coordinator's. */
    if (strcmp(a->job->backend, "none") != 0)
        needed += (rlim_t)a->job->rank_count;
    if (strcmp(a->job->backend, "none") != 0 && a->job->host_of[0] == a->job->host)
        needed += (rlim_t)a->job->hosts - 1;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
        return 0;
    return fault_set(why, ML_ERR_SYSTEM,
                     "%d ranks need %llu open files, but the limit is %llu: raise it (ulimit -Hn, "
                     "/etc/security/limits.conf) or use more hosts",
                     a->job->rank_count, (unsigned long long)needed,
                     (unsigned long long)limit.rlim_cur);
}

/* Sandboxes of build systems and coding assistants allow local sockets alone. Plain processes need
 * no others. */
static void sandbox_explain(struct fault *why)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = errno;

    if (s >= 0)
        close(s);
    else if (err == EPERM || err == EACCES || err == EAFNOSUPPORT)
        fault_os(
            why, why->code, err,
            "programs may make no network sockets here, as in a sandbox; those that do not call "
            "mlaunch's library run with --backend none");
}

static int coordinator_open(struct agent *a, struct fault *why)
{
    int lock = -1, rc = coordinator_session_open(&a->coordinator_session, a, &rank_mpi_events,
                                                 a->coordinator, why);

    if (rc)
        sandbox_explain(why);
    if (!rc && a->job->options.name[0])
        rc = job_name_claim(&lock, a->dir, a->job->job, a->job->options.name, why);
    if (rc)
        return rc;
    rc = job_place_write_file(a, why);
    if (lock >= 0)
        job_name_release(lock, a->dir);
    return rc;
}

/* Everything that can fail on this host, in the order in which a reader would check it. */
static int job_set_up(struct agent *a, struct fault *why)
{
    static int (*const steps[])(struct agent * a, struct fault * why) = {
        ranks_create,     descriptors_check,      job_place_open,
        coordinator_open, job_place_write_wiring, job_keeper_open,
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !rc; i++)
        rc = steps[i](a, why);
    return rc;
}

static void job_refuse(struct agent *a, const struct fault *why)
{
    job_prepare_release(a);
    job_report_refused(a, why->text);
}

/* Writes `text` to a file of the job directory, frees it and stores the file's path in *path, which
 * the caller frees. *path stays NULL if `text` is. */
static int file_for_ranks(struct agent *a, const char *name, char *text, char **path,
                          struct fault *why)
{
    int rc;

    *path = NULL;
    if (!text)
        return 0;
    rc = job_file_put(a->dir, name, text, why);
    free(text);
    if (!rc && asprintf(path, "%s/%s", a->dir, name) < 0) {
        *path = NULL;
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return rc;
}

/* Does for the ranks what can be done before START, while mlaunch answers READY. A failure is
 * reported at START. */
static void ranks_prepare(struct agent *a)
{
    const struct job_spec *job = a->job;

    if (job->options.compat && !file_for_ranks(a, "ibv_devices.json", framework_ibv_devices(job),
                                               &a->ibv_devices, &a->not_ahead))
        file_for_ranks(a, "ring_hosts.json", framework_ring_hosts(job), &a->ring_hosts,
                       &a->not_ahead);
}

static void on_mpi_ready(struct agent *a, const struct fault *failed)
{
    if (failed) {
        a->state = AGENT_IS_DONE; /* nothing more is expected */
        job_refuse(a, failed);
        return;
    }
    a->state = AGENT_IS_READY;
    frame_stream_send_json(a->channel, AGENT_READY,
                           json_pack("{ss ss sO sb sb si}", "coordinator", a->coordinator, "keeper",
                                     a->keeper_address, "warnings", a->warnings, "pmix",
                                     (int)rank_mpi_is_pmix(a), "needs_pmix",
                                     (int)rank_mpi_needs_pmix(a), "ports_taken",
                                     (int)rank_command_ports_taken(a->job)));
    frame_stream_flush(a->channel);
    ranks_prepare(a);
}

static void mpi_prepare(struct agent *a)
{
    a->owes_epilog = a->job->options.epilog[0] != '\0';
    rank_mpi_choose(a, on_mpi_ready);
}

static void on_prolog_end(const struct fault *failed, const char *output, void *arg)
{
    struct agent *a = arg;

    if (!failed && output[0])
        job_report_note(a, "info", output);
    hook_close(a->hook);
    a->hook = NULL;
    if (a->stop.is_active)
        agent_check_soon(a);
    else if (failed)
        on_mpi_ready(a, failed);
    else
        mpi_prepare(a);
}

int job_prepare_hook(struct agent *a, struct hook_config *hook, struct fault *why)
{
    hook->base = a->base;
    hook->job = a->job;
    hook->cwd = a->cwds[0];
    hook->job_dir = a->dir;
    hook->limits = &a->limits;
    hook->arg = a;
    return hook_start(&a->hook, hook, why);
}

/* All that the launcher sends is there now. */
static void job_complete(struct agent *a)
{
    struct hook_config prolog = {.name = "prolog",
                                 .command = a->job->options.prolog,
                                 .cgroup = a->cgroup_fd,
                                 .on_end = on_prolog_end};
    struct fault why;

    a->state = AGENT_IS_PREPARING;
    if (job_place_open_view(a, &why))
        on_mpi_ready(a, &why);
    else if (!a->job->options.prolog[0])
        mpi_prepare(a);
    else if (job_prepare_hook(a, &prolog, &why))
        on_mpi_ready(a, &why);
}

static bool job_is_complete(const struct agent *a)
{
    return received_files_are_whole(a->files) && (!a->place || a->place->is_whole);
}

void job_prepare_fail(struct agent *a, const char *text)
{
    struct fault why;

    fault_set(&why, ML_ERR_SYSTEM, "%s", text);
    a->state = AGENT_IS_DONE; /* what the launcher has sent until it reads this is ignored */
    job_refuse(a, &why);
}

void job_prepare_staged(struct agent *a)
{
    struct fault why;

    if (a->stop.is_active)
        return;
    if (job_place_settle_copy(a, &why)) {
        job_prepare_fail(a, why.text);
        return;
    }
    if (job_is_complete(a))
        job_complete(a);
}

void job_prepare_file(struct agent *a, uint32_t index, const void *bytes, size_t size)
{
    uint32_t taken = htonl((uint32_t)size);
    struct fault why = {0};

    if (a->stop.is_active)
        return;
    if (received_files_add(a->files, index, bytes, size, &why)) {
        job_prepare_fail(a, why.text);
        return;
    }
    frame_stream_send(a->channel, AGENT_FILE_CREDIT, &taken, sizeof(taken));
    if (job_is_complete(a))
        job_complete(a);
}

void job_prepare(struct agent *a, const char *text, size_t size)
{
    struct fault why = {0};
    int rc = job_spec_decode(&a->job, a->shared, text, size, &why);

    json_decref(a->shared);
    a->shared = NULL;
    a->warnings = json_array();
    if (!rc)
        rc = job_set_up(a, &why);
    if (rc) {
        job_refuse(a, &why);
        return;
    }
    if (job_is_complete(a)) {
        job_complete(a);
        return;
    }
    a->state = AGENT_IS_RECEIVING;
    if (!received_files_are_whole(a->files))
        frame_stream_send_json(a->channel, AGENT_WANT,
                               json_pack("{so}", "files", received_files_wanted(a->files)));
    if (a->place)
        frame_stream_send_json(
            a->channel, AGENT_PLACE,
            json_pack("{ss sb}", "directory", a->place->directory, "kept", (int)a->place->is_kept));
}

void job_prepare_release(struct agent *a)
{
    job_keeper_close(a);
    coordinator_session_close(a->coordinator_session);
    a->coordinator_session = NULL;
    json_decref(a->warnings);
    json_decref(a->shared);
    a->warnings = a->shared = NULL;
    hook_close(a->hook);
    a->hook = NULL;
    rank_mpi_close(a);
    received_files_close(a->files);
    a->files = NULL;
    copier_child_end(a->copier); /* it writes into the job directory */
    staged_place_close(a->place);
    a->place = NULL;
    rank_view_close(a->view);
    a->view = NULL;
    container_close(a->container);
    a->container = NULL;
    lost_device_end(a->lost_device);
    a->lost_device = NULL;
    free(a->ibv_devices);
    free(a->ring_hosts);
    a->ibv_devices = a->ring_hosts = NULL;
    if (!a->job)
        return;
    rank_output_release(a);
    for (int i = 0; a->ranks && i < a->job->rank_count; i++) {
        rank_input_close(&a->ranks[i]);
        rank_output_close(&a->ranks[i]);
        rank_pty_close(&a->ranks[i]);
    }
    for (int i = 0; i < a->job->app_count; i++) {
        if (a->cwds)
            free(a->cwds[i]);
        if (a->environments)
            rank_environment_destroy(a->environments[i]);
    }
    for (int i = 0; a->staged_programs && i < a->job->app_count; i++)
        free(a->staged_programs[i]);
    free(a->staged_programs);
    a->staged_programs = NULL;
    free(a->cwds);
    free(a->environments);
    free(a->ranks);
    free(a->bindings);
    free(a->machine);
    if (a->cgroup_fd >= 0)
        close(a->cgroup_fd);
    a->cgroup_fd = -1;
    cgroup_remove(a->cgroup, 0);
    a->cgroup[0] = '\0';
    if (a->dir[0])
        job_place_remove(a);
    job_spec_destroy(a->job);
    a->job = NULL;
    a->ranks = NULL;
}
