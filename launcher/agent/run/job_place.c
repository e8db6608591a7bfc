/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/job_place.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/job_file.h"
#include "launcher/agent/binding/binding.h"
#include "launcher/agent/binding/machine_hwloc.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/host/working_directory.h"
#include "launcher/agent/rank/rank_view_linux.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/base/machine/pid_domain_linux.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/temporary_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Checked here, because only rank 0's host listens before the ranks do: otherwise the others' wrong
 * addresses are found one after the other. An address that is not the hostfile's is a right one. */
static int address_check(const char *ip, struct fault *why)
{
    char own[256];

    if (address_is_here(ip))
        return 0;
    own_address_list(own, sizeof(own));
    return fault_set(why, ML_ERR_ARGUMENT,
                     "\"ips\" in the hostfile: %s is not one of this host's addresses (it has %s)",
                     ip, own[0] ? own : "none but loopback");
}

static int address_choose(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;

    snprintf(a->run.place.bind_ip, sizeof(a->run.place.bind_ip), "%s", job->bind_ip);
    if (job->bind_ip[0])
        return address_check(a->run.place.bind_ip, why);
    if (job->peer[0])
        return address_towards(job->peer, a->run.place.bind_ip, why);
    snprintf(a->run.place.bind_ip, sizeof(a->run.place.bind_ip), "127.0.0.1");
    return 0;
}

static int directories_choose(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;
    bool is_needed = false;

    a->run.place.cwds = calloc((size_t)job->app_count, sizeof(*a->run.place.cwds));
    if (!a->run.place.cwds)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < job->app_count; i++) {
        const char *named = job->apps[i].cwd[0] ? job->apps[i].cwd : job->host_cwd;
        int rc = working_directory_choose(&a->run.place.cwds[i], job->cwd, named, why);

        if (rc)
            return rc;
        is_needed |= !named[0];
    }
    if (is_needed && job->cwd[0] && !working_directory_is_there(job->cwd))
        job_report_warning(a, "there is no directory %s: its ranks start in %s", job->cwd,
                           working_directory_home());
    return 0;
}

static int shim_find(struct job_place_ahead *ahead, struct fault *why)
{
    char shim[PATH_MAX], runtime[PATH_MAX], module[PATH_MAX];
    int rc = install_path_find(shim, INSTALL_SHIM, why);

    if (!rc)
        rc = install_path_find(runtime, INSTALL_RUNTIME, why); /* the shim will look for it */
    if (!rc)
        rc = install_path_find_directory(module, INSTALL_MODULE, why);
    if (rc)
        return rc;
    if (strpbrk(shim, ": "))
        return fault_set(
            why, ML_ERR_SYSTEM,
            "%s cannot be preloaded: the loader accepts neither ':' nor blanks in a path; "
            "install mlaunch elsewhere",
            shim);
    snprintf(ahead->shim, sizeof(ahead->shim), "%s", shim);
    if (!strchr(module, ':'))
        snprintf(ahead->modules, sizeof(ahead->modules), "%s", module);
    return 0;
}

static int shim_choose(struct agent *a, struct fault *why)
{
    const struct job_place_ahead *ahead = &a->ahead;
    struct job_place *p = &a->run.place;

    if (strcmp(a->run.job->backend, "none") == 0)
        return 0;
    if (ahead->not_installed.code) {
        *why = ahead->not_installed;
        return why->code;
    }
    memcpy(p->shim, ahead->shim, sizeof(p->shim));
    memcpy(p->modules, ahead->modules, sizeof(p->modules));
    return 0;
}

/* A job names the program of `mlaunch bench` without a path: it is the one of this build, which is
 * installed beside the agent. */
static int bench_find(struct agent *a, struct fault *why)
{
    for (int i = 0; i < a->run.job->app_count; i++) {
        int rc;

        if (strcmp(a->run.job->apps[i].argv[0], BENCH_PROGRAM) != 0)
            continue;
        rc = install_path_find(a->run.place.bench, INSTALL_BENCH, why);
        if (rc)
            return rc;
        a->run.job->apps[i].argv[0] = a->run.place.bench;
    }
    return 0;
}

static int bindings_choose(struct agent *a, struct fault *why)
{
    const struct binding_options *asked = &a->run.job->options.binding;
    struct machine *m = NULL;
    bool shares = false;
    int rc;

    if (asked->to == BIND_NONE && !asked->gpus && !asked->memory && asked->threads != THREADS_AUTO)
        return 0;
    a->run.place.bindings = calloc((size_t)a->run.job->rank_most, sizeof(*a->run.place.bindings));
    rc = a->run.place.bindings
             ? machine_read(&m, asked->gpus || asked->to == BIND_GPU || asked->map == BIND_GPU, why)
             : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = binding_choose(a->run.place.bindings, a->run.job->rank_count, m, asked, &shares, why);
    a->run.place.machine = m;
    if (!rc && shares)
        job_report_warning(
            a, asked->to == BIND_CPUS
                   ? "--bind-to cpus has fewer lists than ranks: some ranks share one"
               : asked->to == BIND_HWTHREAD
                   ? "it has fewer hardware threads than ranks: some ranks share one"
                   : "it has fewer cores than ranks: some ranks are bound to the same core");
    return rc;
}

int job_place_write_wiring(struct agent *a, struct fault *why)
{
    json_t *root;
    char *text;
    int rc;

    if (strcmp(a->run.job->backend, "rdma") != 0 || !a->run.job->wiring)
        return 0;
    root = json_pack("{s:O, s:i, s:i, s:i, s:i}", "wiring", a->run.job->wiring, "port",
                     a->run.job->options.rdma.port, "gid_index", a->run.job->options.rdma.gid_index,
                     "mtu", a->run.job->options.rdma.mtu, "qp", a->run.job->options.rdma.qp);
    text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = job_file_put(a->directory.path, "rdma.json", text, why);
    free(text);
    return rc;
}

/* The guard holds the locks, too: the ranks may outlive this process. */
static int guard_renew(struct agent *a, struct fault *why)
{
    int locks[GUARD_LOCKS];

    memcpy(locks, a->directory.locks, sizeof(a->directory.locks));
    locks[JOB_DIRECTORY_LOCKS] = a->run.place.cgroup_fd;
    locks[JOB_DIRECTORY_LOCKS + 1] = a->run.place.staged ? a->run.place.staged->lock : -1;
    return guard_tell(a->guard_fd, a->directory.path, a->run.place.cgroup, locks, why);
}

void job_place_touch(struct agent *a)
{
    struct fault why;

    a->directory.touched_ms = clock_ms();
    job_directory_lock(a->directory.path, a->directory.locks);
    guard_renew(a, &why); /* if it is gone, this process ends by that */
    job_directory_touch(a->directory.path);
}

/* A tidy system, or the user, may have removed the directory while the ranks ran. What ranks that
 * start now read is made again. */
static int directory_restore(struct agent *a, struct fault *why)
{
    bool is_made = false;
    int rc;

    if (a->directory.is_guard_removing || a->run.state == AGENT_IS_DONE)
        return 0;
    rc = job_directory_restore(a->directory.path, &is_made, why);
    if (rc || !is_made)
        return rc;
    for (int i = 0; a->run.ranks.all && i < a->run.ranks.spawned; i++)
        if (a->run.ranks.all[i].state == RANK_RUNNING)
            job_directory_add_rank(a->directory.path, a->run.ranks.all[i].job->rank,
                                   a->run.ranks.all[i].pid);
    job_directory_lock(a->directory.path, a->directory.locks);
    rc = guard_renew(a, why);
    return rc ? rc : job_place_write_wiring(a, why);
}

int job_place_restore(struct agent *a, struct fault *why)
{
    return access(a->directory.path, F_OK) == 0 ? 0 : job_place_write_file(a, why);
}

int job_place_write_file(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;
    struct job_file file;

    if (directory_restore(a, why))
        return why->code;
    if (!a->run.place.started_at) /* else it is written anew */
        a->run.place.started_at = time(NULL);
    file = a->ahead.here;
    file.started_at = a->run.place.started_at;
    file.host_rank = job->host;
    file.hosts = job->hosts;
    file.size = job->size;
    file.restart = job->restart;
    file.local_net = job->options.local_net;
    file.secure = job->options.secure;
    file.elastic = job->options.elastic > 0;
    file.starting_port = job->options.starting_port;
    file.init_timeout_ms = job->options.init_timeout_ms;
    file.stall_ms = job->options.stall_ms;
    file.grace_ms = job->options.grace_ms;
    snprintf(file.job, sizeof(file.job), "%s", job->job);
    snprintf(file.name, sizeof(file.name), "%s", job->options.name);
    snprintf(file.host, sizeof(file.host), "%s", job->host_name);
    snprintf(file.backend, sizeof(file.backend), "%s", job->backend);
    snprintf(file.coordinator, sizeof(file.coordinator), "%s",
             strcmp(job->backend, "none") == 0 ? "" : a->run.coordinator);
    address_take_scope(file.coordinator, a->run.place.bind_ip);
    snprintf(file.keeper, sizeof(file.keeper), "%s", a->run.keeper.next);
    snprintf(file.bind_ip, sizeof(file.bind_ip), "%s", a->run.place.bind_ip);
    snprintf(file.command, sizeof(file.command), "%s", job->command);
    return job_file_write(a->directory.path, &file, job->secret, why);
}

static int directory_make(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->run.job;
    const char *base = temporary_directory(job->options.tmpdir);
    struct fault cause = {0};
    bool is_there = job_directory_is_of(a->directory.path, job->job, job->host), is_made;
    int rc;

    if (!is_there && a->directory.path[0])
        return fault_set(why, ML_ERR_REFUSED, "the launcher's next job is another one");
    rc = is_there ? job_directory_restore(a->directory.path, &is_made, &cause)
                  : job_directory_create(a->directory.path, base, job->job, job->host, &cause);
    if (rc) {
        a->directory.path[0] = '\0';
        job_directory_unlock(a->directory.locks);
        return fault_set(why, rc, "%s (--tmpdir names another place, or TMPDIR on that host)",
                         cause.text);
    }
    if (!is_there)
        job_directory_link(a->directory.path);
    /* Optional: without one, ending the job is more work. */
    cgroup_create(a->run.place.cgroup, a->ahead.cgroup, a->directory.path);
    a->run.place.cgroup_fd = cgroup_open(a->run.place.cgroup);
    job_directory_lock(a->directory.path, a->directory.locks);
    a->directory.touched_ms = clock_ms();
    return guard_renew(a, why);
}

/* From here on the copies in the job's directory are what ranks have preloaded. */
static int container_choose(struct agent *a, struct fault *why)
{
    const struct container_config config = {.base = a->base,
                                            .job = a->run.job,
                                            .job_dir = a->directory.path,
                                            .has_shim = a->run.place.shim[0] != '\0',
                                            .has_bench = a->run.place.bench[0] != '\0'};

    if (!a->run.job->options.container[0])
        return 0;
    if (container_open(&a->run.place.container, &config, why))
        return why->code;
    snprintf(a->run.place.shim, sizeof(a->run.place.shim), "%s",
             container_shim(a->run.place.container));
    snprintf(a->run.place.modules, sizeof(a->run.place.modules), "%s",
             container_modules(a->run.place.container));
    /* What the apps name is this text. */
    snprintf(a->run.place.bench, sizeof(a->run.place.bench), "%s",
             container_bench(a->run.place.container));
    return 0;
}

static int files_open(struct agent *a, struct fault *why)
{
    return received_files_open(&a->run.place.files, a->run.job, a->directory.path,
                               a->run.place.cwds, why);
}

static int staged_open(struct agent *a, struct fault *why)
{
    const struct job_staged *s = &a->run.job->staged;
    const struct staged_place_config config = {.job_dir = a->directory.path,
                                               .path = s->path,
                                               .name = s->name,
                                               .mib = s->mib,
                                               .cache = s->cache,
                                               .version = s->version};
    int rc;

    if (!s->path)
        return 0;
    rc = staged_place_open(&a->run.place.staged, &config, why);
    return rc ? rc : guard_renew(a, why);
}

int job_place_open(struct agent *a, struct fault *why)
{
    static int (*const steps[])(struct agent * a, struct fault * why) = {
        address_choose, directories_choose, shim_choose, bench_find,  bindings_choose,
        directory_make, container_choose,   files_open,  staged_open,
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !rc; i++)
        rc = steps[i](a, why);
    return rc;
}

int job_place_settle_copy(struct agent *a, struct fault *why)
{
    int rc = staged_place_settle(a->run.place.staged, why);

    return rc ? rc : guard_renew(a, why);
}

/* The ranks find the copy by its own path. */
static int copy_name(struct agent *a, const struct fault *cause, struct fault *why)
{
    const char *path = a->run.place.staged->path;

    a->run.place.staged_programs =
        calloc((size_t)a->run.job->app_count, sizeof(*a->run.place.staged_programs));
    if (!a->run.place.staged_programs)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < a->run.job->app_count; i++) {
        const char **program = &a->run.job->apps[i].argv[0];

        a->run.place.staged_programs[i] =
            staged_place_program(a->run.place.staged, a->run.place.cwds[i], *program);
        if (a->run.place.staged_programs[i])
            *program = a->run.place.staged_programs[i];
    }
    job_report_warning(
        a,
        "its ranks do not see their copy in the place of %s: %s. PATH names the copy; but "
        "scripts whose first line names %s, and other paths in it, lead to %s itself",
        path, cause->text, path, path);
    return 0;
}

int job_place_open_view(struct agent *a, struct fault *why)
{
    const char *mount = a->run.job->options.mount;
    struct staged_place *p = a->run.place.staged;
    struct fault cause;

    if (p) {
        if (rank_view_open(&a->run.place.view, mount, p->copy, p->path, &cause) == 0)
            p->is_seen = true;
        else if (copy_name(a, &cause, why))
            return why->code;
    }
    return mount[0] && !a->run.place.view
               ? rank_view_open(&a->run.place.view, mount, NULL, NULL, why)
               : 0;
}

void job_place_find_ahead(struct agent *a)
{
    struct job_place_ahead *ahead = &a->ahead;

    shim_find(ahead, &ahead->not_installed);
    cgroup_find_own(ahead->cgroup);
    ahead->here.agent_pid = getpid();
    ahead->here.agent_start_time = descendants_start_time(getpid());
    ahead->here.guard_pid = a->guard;
    ahead->here.guard_start_time = descendants_start_time(a->guard);
    pid_domain_write(&ahead->here);
}

void job_place_close(struct agent *a)
{
    struct job_place *p = &a->run.place;

    received_files_close(p->files);
    staged_place_close(p->staged);
    rank_view_close(p->view);
    container_close(p->container);
    for (int i = 0; p->cwds && i < a->run.job->app_count; i++)
        free(p->cwds[i]);
    for (int i = 0; p->staged_programs && i < a->run.job->app_count; i++)
        free(p->staged_programs[i]);
    free(p->cwds);
    free(p->staged_programs);
    free(p->bindings);
    free(p->machine);
    if (p->cgroup_fd >= 0)
        close(p->cgroup_fd);
    cgroup_remove(p->cgroup, 0);
    *p = (struct job_place){.cgroup_fd = -1};
}

void job_place_remove(struct agent *a)
{
    struct job_place_directory *d = &a->directory;

    if (!d->path[0])
        return;
    if (!d->is_guard_removing || a->guard_fd < 0) {
        job_directory_sweep_shm(d->path, a->guard_fd >= 0); /* the guard ends it */
        job_directory_remove(d->path);
    }
    job_directory_unlock(d->locks);
    d->path[0] = '\0';
}
