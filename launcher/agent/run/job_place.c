/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/job_place.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/job_file.h"
#include "launcher/agent/binding/machine_hwloc.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/guard.h"
#include "launcher/agent/host/own_address.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/host/working_directory.h"
#include "launcher/agent/rank/rank_view_linux.h"
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
    const struct job_spec *job = a->job;

    snprintf(a->bind_ip, sizeof(a->bind_ip), "%s", job->bind_ip);
    if (job->bind_ip[0])
        return address_check(a->bind_ip, why);
    if (job->peer[0])
        return address_towards(job->peer, a->bind_ip, why);
    snprintf(a->bind_ip, sizeof(a->bind_ip), "127.0.0.1");
    return 0;
}

static int directories_choose(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->job;
    bool is_needed = false;

    a->cwds = calloc((size_t)job->app_count, sizeof(*a->cwds));
    if (!a->cwds)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < job->app_count; i++) {
        const char *named = job->apps[i].cwd[0] ? job->apps[i].cwd : job->host_cwd;
        int rc = working_directory_choose(&a->cwds[i], job->cwd, named, why);

        if (rc)
            return rc;
        is_needed |= !named[0];
    }
    if (is_needed && job->cwd[0] && !working_directory_is_there(job->cwd))
        job_report_warning(a, "there is no directory %s: its ranks start in %s", job->cwd,
                           working_directory_home());
    return 0;
}

static int shim_find(struct agent *a, struct fault *why)
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
    snprintf(a->shim, sizeof(a->shim), "%s", shim);
    if (!strchr(module, ':')) /* PYTHONPATH cannot name a path with a colon */
        snprintf(a->modules, sizeof(a->modules), "%s", module);
    return 0;
}

static int shim_choose(struct agent *a, struct fault *why)
{
    if (strcmp(a->job->backend, "none") == 0) {
        a->shim[0] = a->modules[0] = '\0';
        return 0;
    }
    if (a->not_installed.code)
        *why = a->not_installed;
    return a->not_installed.code;
}

/* A job names the program of `mlaunch bench` without a path: it is the one of this build, which is
 * installed beside the agent. */
static int bench_find(struct agent *a, struct fault *why)
{
    for (int i = 0; i < a->job->app_count; i++) {
        int rc;

        if (strcmp(a->job->apps[i].argv[0], BENCH_PROGRAM) != 0)
            continue;
        rc = install_path_find(a->bench, INSTALL_BENCH, why);
        if (rc)
            return rc;
        a->job->apps[i].argv[0] = a->bench;
    }
    return 0;
}

static int bindings_choose(struct agent *a, struct fault *why)
{
    const struct binding_options *asked = &a->job->options.binding;
    struct machine *m = NULL;
    bool shares = false;
    int rc;

    if (asked->to == BIND_NONE && !asked->gpus && !asked->memory && asked->threads != THREADS_AUTO)
        return 0;
    a->bindings = calloc((size_t)a->job->rank_most, sizeof(*a->bindings));
    rc = a->bindings
             ? machine_read(&m, asked->gpus || asked->to == BIND_GPU || asked->map == BIND_GPU, why)
             : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = binding_choose(a->bindings, a->job->rank_count, m, asked, &shares, why);
    a->machine = m;
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

    if (strcmp(a->job->backend, "rdma") != 0 || !a->job->wiring)
        return 0;
    root = json_pack("{s:O, s:i, s:i, s:i, s:i}", "wiring", a->job->wiring, "port",
                     a->job->options.rdma.port, "gid_index", a->job->options.rdma.gid_index, "mtu",
                     a->job->options.rdma.mtu, "qp", a->job->options.rdma.qp);
    text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = job_file_put(a->dir, "rdma.json", text, why);
    free(text);
    return rc;
}

/* The guard holds the locks, too: the ranks may outlive this process. */
static int guard_renew(struct agent *a, struct fault *why)
{
    int locks[GUARD_LOCKS];

    memcpy(locks, a->locks, sizeof(a->locks));
    locks[JOB_DIRECTORY_LOCKS] = a->cgroup_fd;
    locks[JOB_DIRECTORY_LOCKS + 1] = a->place ? a->place->lock : -1;
    return guard_tell(a->guard_fd, a->dir, a->cgroup, locks, why);
}

void job_place_touch(struct agent *a)
{
    struct fault why;

    a->touched_ms = clock_ms();
    job_directory_lock(a->dir, a->locks);
    guard_renew(a, &why); /* if it is gone, this process ends by that */
    job_directory_touch(a->dir);
}

/* A tidy system, or the user, may have removed the directory while the ranks ran. What ranks that
 * start now read is made again. */
static int directory_restore(struct agent *a, struct fault *why)
{
    bool is_made = false;
    int rc;

    if (a->is_guard_removing || a->state == AGENT_IS_DONE)
        return 0;
    rc = job_directory_restore(a->dir, &is_made, why);
    if (rc || !is_made)
        return rc;
    for (int i = 0; a->ranks && i < a->spawned; i++)
        if (a->ranks[i].state == RANK_RUNNING)
            job_directory_add_rank(a->dir, a->ranks[i].job->rank, a->ranks[i].pid);
    job_directory_lock(a->dir, a->locks);
    rc = guard_renew(a, why);
    return rc ? rc : job_place_write_wiring(a, why);
}

int job_place_restore(struct agent *a, struct fault *why)
{
    return access(a->dir, F_OK) == 0 ? 0 : job_place_write_file(a, why);
}

int job_place_write_file(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->job;
    struct job_file file;

    if (directory_restore(a, why))
        return why->code;
    if (!a->here.started_at) /* else it is written anew */
        a->here.started_at = time(NULL);
    file = a->here;
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
             strcmp(job->backend, "none") == 0 ? "" : a->coordinator);
    snprintf(file.keeper, sizeof(file.keeper), "%s", a->next_keeper);
    snprintf(file.bind_ip, sizeof(file.bind_ip), "%s", a->bind_ip);
    snprintf(file.command, sizeof(file.command), "%s", job->command);
    return job_file_write(a->dir, &file, job->secret, why);
}

static int directory_make(struct agent *a, struct fault *why)
{
    const struct job_spec *job = a->job;
    const char *base = temporary_directory(job->options.tmpdir);
    struct fault cause = {0};
    bool is_there = job_directory_is_of(a->dir, job->job, job->host), is_made;
    int rc;

    if (!is_there && a->dir[0])
        return fault_set(why, ML_ERR_REFUSED, "the launcher's next job is another one");
    rc = is_there ? job_directory_restore(a->dir, &is_made, &cause)
                  : job_directory_create(a->dir, base, job->job, job->host, &cause);
    if (rc) {
        a->dir[0] = '\0';
        job_directory_unlock(a->locks);
        return fault_set(why, rc, "%s (--tmpdir names another place, or TMPDIR on that host)",
                         cause.text);
    }
    if (!is_there)
        job_directory_link(a->dir);
    /* Optional: without one, ending the job is more work. */
    cgroup_create(a->cgroup, a->own_cgroup, a->dir);
    a->cgroup_fd = cgroup_open(a->cgroup);
    job_directory_lock(a->dir, a->locks);
    a->touched_ms = clock_ms();
    return guard_renew(a, why);
}

/* From here on the copies in the job's directory are what ranks have preloaded. */
static int container_choose(struct agent *a, struct fault *why)
{
    const struct container_config config = {.base = a->base,
                                            .job = a->job,
                                            .job_dir = a->dir,
                                            .has_shim = a->shim[0] != '\0',
                                            .has_bench = a->bench[0] != '\0'};

    if (!a->job->options.container[0])
        return 0;
    if (container_open(&a->container, &config, why))
        return why->code;
    snprintf(a->shim, sizeof(a->shim), "%s", container_shim(a->container));
    snprintf(a->modules, sizeof(a->modules), "%s", container_modules(a->container));
    /* What the apps name is this text. */
    snprintf(a->bench, sizeof(a->bench), "%s", container_bench(a->container));
    return 0;
}

static int files_open(struct agent *a, struct fault *why)
{
    return received_files_open(&a->files, a->job, a->dir, a->cwds, why);
}

static int staged_open(struct agent *a, struct fault *why)
{
    const struct job_staged *s = &a->job->staged;
    const struct staged_place_config config = {.job_dir = a->dir,
                                               .path = s->path,
                                               .name = s->name,
                                               .mib = s->mib,
                                               .cache = s->cache,
                                               .version = s->version};
    int rc;

    if (!s->path)
        return 0;
    rc = staged_place_open(&a->place, &config, why);
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
    int rc = staged_place_settle(a->place, why);

    return rc ? rc : guard_renew(a, why);
}

/* The ranks find the copy by its own path. */
static int copy_name(struct agent *a, const struct fault *cause, struct fault *why)
{
    const char *path = a->place->path;

    a->staged_programs = calloc((size_t)a->job->app_count, sizeof(*a->staged_programs));
    if (!a->staged_programs)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < a->job->app_count; i++) {
        const char **program = &a->job->apps[i].argv[0];

        a->staged_programs[i] = staged_place_program(a->place, a->cwds[i], *program);
        if (a->staged_programs[i])
            *program = a->staged_programs[i];
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
    const char *mount = a->job->options.mount;
    struct staged_place *p = a->place;
    struct fault cause;

    if (p) {
        if (rank_view_open(&a->view, mount, p->copy, p->path, &cause) == 0)
            p->is_seen = true;
        else if (copy_name(a, &cause, why))
            return why->code;
    }
    return mount[0] && !a->view ? rank_view_open(&a->view, mount, NULL, NULL, why) : 0;
}

void job_place_ahead(struct agent *a)
{
    shim_find(a, &a->not_installed);
    cgroup_find_own(a->own_cgroup);
    a->here.agent_pid = getpid();
    a->here.agent_start_time = descendants_start_time(getpid());
    a->here.guard_pid = a->guard;
    a->here.guard_start_time = descendants_start_time(a->guard);
    pid_domain_write(&a->here);
}

void job_place_remove(struct agent *a)
{
    if (!a->is_guard_removing || a->guard_fd < 0) {
        job_directory_sweep_shm(a->dir, a->guard_fd >= 0); /* the guard ends it */
        job_directory_remove(a->dir);
    }
    job_directory_unlock(a->locks);
    a->dir[0] = '\0';
}
