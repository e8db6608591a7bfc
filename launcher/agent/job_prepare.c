/* SPDX-License-Identifier: MIT */
#include "launcher/agent/job_prepare.h"

#include "common/net/job_file.h"
#include "common/text/text_json.h"
#include "launcher/agent/agent_run.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/queries/job_name.h"
#include "launcher/agent/rank/framework_variables.h"
#include "launcher/agent/rank/hook.h"
#include "launcher/agent/rank/rank_command.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/agent_ranks.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_keeper.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_mpi.h"
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

/* Checked here, because otherwise the 300th rank fails with "too many open files". */
static int descriptors_check(struct agent *a, struct fault *why)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)a->run.job->rank_count * DESCRIPTORS_PER_RANK + DESCRIPTORS_FOR_US;

    /* Each rank connects to its agent, and each other agent to the coordinator's. */
    if (strcmp(a->run.job->backend, "none") != 0)
        needed += (rlim_t)a->run.job->rank_count;
    if (strcmp(a->run.job->backend, "none") != 0 && a->run.job->host_of[0] == a->run.job->host)
        needed += (rlim_t)a->run.job->hosts - 1;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
        return 0;
    return fault_set(why, ML_ERR_SYSTEM,
                     "%d ranks need %llu open files, but the limit is %llu: raise it (ulimit -Hn, "
                     "/etc/security/limits.conf) or use more hosts",
                     a->run.job->rank_count, (unsigned long long)needed,
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
    int lock = -1, rc = coordinator_session_open(&a->run.coordinator_session, a, &rank_mpi_events,
                                                 a->run.coordinator, why);

    if (rc)
        sandbox_explain(why);
    if (!rc && a->run.job->options.name[0])
        rc = job_name_claim(&lock, a->directory.path, a->run.job->job, a->run.job->options.name,
                            why);
    if (rc)
        return rc;
    rc = job_place_write_file(a, why);
    if (lock >= 0)
        job_name_release(lock, a->directory.path);
    return rc;
}

/* Everything that can fail on this host, in the order in which a reader would check it. */
static int job_set_up(struct agent *a, struct fault *why)
{
    static int (*const steps[])(struct agent * a, struct fault * why) = {
        agent_ranks_open, descriptors_check,      job_place_open,
        coordinator_open, job_place_write_wiring, job_keeper_open,
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !rc; i++)
        rc = steps[i](a, why);
    return rc;
}

static void job_refuse(struct agent *a, const struct fault *why)
{
    agent_run_end_job(a);
    job_place_remove(a);
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
    rc = job_file_put(a->directory.path, name, text, why);
    free(text);
    if (!rc && asprintf(path, "%s/%s", a->directory.path, name) < 0) {
        *path = NULL;
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return rc;
}

/* Does for the ranks what can be done before START, while mlaunch answers READY. A failure is
 * reported at START. */
static void ranks_prepare(struct agent *a)
{
    const struct job_spec *job = a->run.job;

    if (job->options.compat && !file_for_ranks(a, "ibv_devices.json", framework_ibv_devices(job),
                                               &a->run.ranks.ibv_devices, &a->run.ranks.not_ahead))
        file_for_ranks(a, "ring_hosts.json", framework_ring_hosts(job), &a->run.ranks.ring_hosts,
                       &a->run.ranks.not_ahead);
}

static void on_mpi_ready(struct agent *a, const struct fault *failed)
{
    if (failed) {
        a->run.state = AGENT_IS_DONE; /* nothing more is expected */
        job_refuse(a, failed);
        return;
    }
    a->run.state = AGENT_IS_READY;
    frame_stream_send_json(a->launcher.channel, AGENT_READY,
                           json_pack("{ss ss sO sb sb si}", "coordinator", a->run.coordinator,
                                     "keeper", a->run.keeper.address, "warnings",
                                     a->run.report.warnings, "pmix", (int)rank_mpi_is_pmix(a),
                                     "needs_pmix", (int)rank_mpi_needs_pmix(a), "ports_taken",
                                     (int)rank_command_ports_taken(a->run.job)));
    frame_stream_flush(a->launcher.channel);
    ranks_prepare(a);
}

static void mpi_prepare(struct agent *a)
{
    a->run.owes_epilog = a->run.job->options.epilog[0] != '\0';
    rank_mpi_choose(a, on_mpi_ready);
}

static void on_prolog_end(const struct fault *failed, const char *output, void *arg)
{
    struct agent *a = arg;

    if (!failed && output[0])
        job_report_note(a, "info", output);
    hook_close(a->run.hook);
    a->run.hook = NULL;
    if (a->run.stop.is_active)
        agent_check_soon(a);
    else if (failed)
        on_mpi_ready(a, failed);
    else
        mpi_prepare(a);
}

int job_prepare_hook(struct agent *a, struct hook_config *hook, struct fault *why)
{
    hook->base = a->base;
    hook->job = a->run.job;
    hook->cwd = a->run.place.cwds[0];
    hook->job_dir = a->directory.path;
    hook->limits = &a->limits;
    hook->arg = a;
    return hook_start(&a->run.hook, hook, why);
}

/* All that the launcher sends is there now. */
static void job_complete(struct agent *a)
{
    struct hook_config prolog = {.name = "prolog",
                                 .command = a->run.job->options.prolog,
                                 .cgroup = a->run.place.cgroup_fd,
                                 .on_end = on_prolog_end};
    struct fault why;

    a->run.state = AGENT_IS_PREPARING;
    if (job_place_open_view(a, &why))
        on_mpi_ready(a, &why);
    else if (!a->run.job->options.prolog[0])
        mpi_prepare(a);
    else if (job_prepare_hook(a, &prolog, &why))
        on_mpi_ready(a, &why);
}

static bool job_is_complete(const struct agent *a)
{
    return received_files_are_whole(a->run.place.files) &&
           (!a->run.place.staged || a->run.place.staged->is_whole);
}

void job_prepare_fail(struct agent *a, const char *text)
{
    struct fault why;

    fault_set(&why, ML_ERR_SYSTEM, "%s", text);
    a->run.state = AGENT_IS_DONE; /* what the launcher has sent until it reads this is ignored */
    job_refuse(a, &why);
}

void job_prepare_staged(struct agent *a)
{
    struct fault why;

    if (a->run.stop.is_active)
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

    if (a->run.stop.is_active)
        return;
    if (received_files_add(a->run.place.files, index, bytes, size, &why)) {
        job_prepare_fail(a, why.text);
        return;
    }
    frame_stream_send(a->launcher.channel, AGENT_FILE_CREDIT, &taken, sizeof(taken));
    if (job_is_complete(a))
        job_complete(a);
}

void job_prepare(struct agent *a, const char *text, size_t size)
{
    struct fault why = {0};
    int rc = job_spec_decode(&a->run.job, a->run.shared, text, size, &why);

    json_decref(a->run.shared);
    a->run.shared = NULL;
    job_report_open(a);
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
    a->run.state = AGENT_IS_RECEIVING;
    if (!received_files_are_whole(a->run.place.files))
        frame_stream_send_json(
            a->launcher.channel, AGENT_WANT,
            json_pack("{so}", "files", received_files_wanted(a->run.place.files)));
    if (a->run.place.staged)
        frame_stream_send_json(a->launcher.channel, AGENT_PLACE,
                               json_pack("{ss sb}", "directory", a->run.place.staged->directory,
                                         "kept", (int)a->run.place.staged->is_kept));
}
