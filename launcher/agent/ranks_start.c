/* SPDX-License-Identifier: MIT */
#include "launcher/agent/ranks_start.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/host_table.h"
#include "common/status.h"
#include "common/text/cpu_list.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"
#include "launcher/agent/binding/binding_seen_linux.h"
#include "launcher/agent/binding/binding_variables.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/staged_place.h"
#include "launcher/agent/rank/rank_command.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/agent/rank/received_files.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/coordinator_session.h"
#include "launcher/agent/run/job_place.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_mpi.h"
#include "launcher/agent/run/rank_output.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/agent/run/ranks_stop.h"
#include "launcher/agent/run/reap.h"
#include "launcher/base/loader/libc_need.h"
#include "launcher/base/machine/process_linux.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { RANKS_PER_TURN = 8, FAILED_GRACE_MS = 1000, NUMBER_LIMIT = 1000000000 };

/* What ranks inherit: the agent's own environment, or in *joined, which the caller frees, that of
 * the process that the rank joins. */
static int environment_find(const struct agent *a, char ***joined, struct fault *why)
{
    *joined = NULL;
    if (!a->run.job->attach.pid)
        return 0;
    *joined = process_variables(a->run.job->attach.pid);
    return *joined ? 0
                   : fault_set(why, ML_ERR_SYSTEM,
                               "cannot read the environment of rank %d (pid %d): it has ended, or "
                               "runs as another user",
                               a->run.job->attach.rank, a->run.job->attach.pid);
}

static int environments_create(struct agent *a, const char *coordinator, struct fault *why)
{
    const struct job_spec *job = a->run.job;
    bool is_none = strcmp(job->backend, "none") == 0; /* MPI's coordinator is not for ranks */
    char **joined, libc[LIBC_NEED_TEXT];
    int rc = environment_find(a, &joined, why);

    if (rc)
        return rc;
    libc_need_own(libc);
    a->run.ranks.environments = calloc((size_t)job->app_count, sizeof(*a->run.ranks.environments));
    if (!a->run.ranks.environments)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < job->app_count && !rc; i++) {
        char *libraries = received_files_libraries(a->run.place.files, job->apps[i].file);
        struct rank_environment_config config = {
            .job = job,
            .app = &job->apps[i],
            .inherited = (const char *const *)(joined ? joined : environ),
            .is_attached = joined != NULL,
            .job_dir = a->directory.path,
            .coordinator = is_none ? "" : coordinator,
            .shim = a->run.place.shim[0] ? a->run.place.shim : NULL,
            .modules = a->run.place.modules[0] ? a->run.place.modules : NULL,
            .cwd = a->run.place.cwds[i],
            .ibv_devices = a->run.ranks.ibv_devices,
            .ring_hosts = a->run.ranks.ring_hosts,
            .libraries = libraries,
            .staged = a->run.place.staged ? staged_place_shown(a->run.place.staged) : NULL,
            .copy = a->run.place.staged ? a->run.place.staged->copy : NULL,
            .is_musl = *libc == '\0',
            .serves_pmi = rank_mpi_is_served(a, i),
            .serves_pmix = a->run.mpi.serves_pmix,
            .asks_pmix = rank_mpi_asks(a, i),
            .segments = a->run.mpi.segments};

        rc = rank_environment_create(&a->run.ranks.environments[i], &config, why);
        free(libraries);
    }
    process_variables_free(joined);
    return rc;
}

/* [0] is read from, [1] written to. A terminal has in[1] and out[0] only, its master end. */
struct pipes {
    int in[2], out[2], err[2];
};

static void pipes_close(struct pipes *p)
{
    int *all[] = {&p->in[0], &p->in[1], &p->out[0], &p->out[1], &p->err[0], &p->err[1]};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
}

static int pipes_open(struct pipes *p, bool has_input, struct fault *why)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if ((has_input && pipe2(p->in, O_CLOEXEC)) || pipe2(p->out, O_CLOEXEC) ||
        pipe2(p->err, O_CLOEXEC)) {
        int err = errno;

        pipes_close(p);
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot make its pipes");
    }
    return 0;
}

/* Hands the agent's ends over to the loop. Each is closed once, whatever fails. */
static int pipes_hand_over(struct agent_rank *r, struct pipes *p, struct fault *why)
{
    int in = p->in[1], out = p->out[0], err = p->err[0];
    int rc, input_rc;

    p->in[1] = p->out[0] = p->err[0] = -1;
    input_rc = in >= 0 ? rank_input_open(r, in, why) : 0;
    rc = rank_output_open(r, out, err, why);
    return rc ? rc : input_rc;
}

/* Opens the rank's pipes, or its terminal, and fills in its ends. */
static int streams_open(struct agent_rank *r, struct pipes *p, struct spawn *s, struct fault *why)
{
    bool has_input = r->in.kept != NULL;
    int rc;

    if (r->agent->run.job->pty.rank == r->job->rank) {
        *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
        rc = rank_pty_open(r, &p->out[0], has_input ? &p->in[1] : NULL, why);
        s->in = s->out = s->err = r->pty;
        s->is_terminal = true;
        return rc;
    }
    rc = pipes_open(p, has_input, why);
    s->in = p->in[0] >= 0 ? p->in[0] : STDIN_FILENO; /* the agent's is /dev/null */
    s->out = p->out[1];
    s->err = p->err[1];
    return rc;
}

/* Replaces the command by the rank's own, with --words or --wrap, in *argv, which the caller
 * destroys. */
static int command_make(const struct agent_rank *r, struct spawn *s, char ***argv,
                        struct fault *why)
{
    const struct agent *a = r->agent;

    if (!rank_command_is_own(a->run.job, r->job))
        return 0;
    *argv = rank_command_create(a->run.job, r->job, s->program, s->cwd, a->run.coordinator,
                                a->run.ranks.port);
    if (!*argv)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->argv = (const char *const *)*argv;
    s->program = s->argv[0];
    return 0;
}

/* A batch system sends its warning to all processes of a step; those of the ranks that know nothing
 * of it must not die of it. One that ends the ranks is not ignored. */
static int ignored_signal(int stop_signal)
{
    return stop_signal == SIGUSR1 || stop_signal == SIGUSR2 ? stop_signal : 0;
}

/* For OMP_NUM_THREADS and the like; 0: they are not set. */
static int threads_of(const struct agent *a, const struct binding *mine)
{
    int threads = a->run.job->options.binding.threads;

    return threads == THREADS_AUTO ? (mine ? mine->threads : 0) : threads;
}

static int rank_spawn(struct agent_rank *r, int *status, struct fault *why)
{
    struct agent *a = r->agent;
    struct rank_environment *e = a->run.ranks.environments[r->job->app];
    const char *path = rank_environment_get(e, "PATH");
    const struct job_app *app = &a->run.job->apps[r->job->app];
    const struct binding *mine =
        a->run.place.bindings ? &a->run.place.bindings[r->job->local_rank] : NULL;
    struct spawn s = {.argv = app->argv,
                      .program = app->file < 0 ? app->argv[0]
                                               : received_files_path(a->run.place.files, app->file),
                      .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
                      .cwd = a->run.place.cwds[r->job->app],
                      .cpus = mine && mine->is_bound ? &mine->cpus : NULL,
                      .memory = mine ? &mine->memory : NULL,
                      .memory_seen = a->run.job->options.binding.report ? &r->memory : NULL,
                      .view = a->run.place.view,
                      .limits = &a->limits,
                      .ignored = ignored_signal(a->run.job->options.stop_signal),
                      .cgroup = a->run.place.cgroup_fd,
                      .is_held = r->job->is_held,
                      .kept = -1};
    struct binding_variables own;
    struct pipes pipes;
    struct container_rank inside = {0};
    char **command = NULL;
    int rc, pmi;

    *status = STATUS_OURS;
    rc = streams_open(r, &pipes, &s, why);
    if (rc)
        return rc;
    rc = rank_mpi_socket(r, &s.kept, why);
    if (rc) {
        pipes_close(&pipes);
        return rc;
    }
    binding_variables_fill(&own, mine, a->run.place.machine, threads_of(a, mine));
    rank_environment_set_restarts(e, a->run.job->restart + r->restarts);
    s.env = rank_environment_of(e, r->job, own.list, s.out, s.kept, rank_mpi_variables(r));
    /* The process that the agent starts is not the program: --eager must not take it for it. */
    s.pid_text = r->job->wrap < 0 && !a->run.place.container ? rank_environment_pid_text(e) : NULL;
    rc =
        s.env ? command_make(r, &s, &command, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
    pmi = s.kept;
    if (!rc && a->run.place.container)
        rc = container_rank_prepare(a->run.place.container, (int)(r - a->run.ranks.all), &s,
                                    &inside, why);
    if (!rc)
        rc = spawn_process(&r->pid, &s, status, why);
    container_rank_release(&inside);
    rank_command_destroy(command);
    if (!rc) {
        r->state = RANK_RUNNING;
        r->started_ms = clock_ms();
        rc = pipes_hand_over(r, &pipes, why);
        if (rc)
            descendants_signal_group(r->pid, SIGKILL);
    }
    pipes_close(&pipes);
    if (pmi >= 0)
        close(pmi);
    return rc;
}

/* STARTED, with what the kernel has given the rank if --report-bindings asks. */
static void started_report(struct agent *a, const struct agent_rank *r)
{
    json_t *started = json_pack("{si si}", "rank", r->job->rank, "pid", (int)r->pid);
    char text[3 * CPU_LIST_TEXT];

    if (started && a->run.job->options.binding.report) {
        binding_seen_describe(
            text, sizeof(text), r->pid,
            a->run.place.bindings ? &a->run.place.bindings[r->job->local_rank] : NULL, &r->memory);
        if (a->run.place.bindings)
            binding_describe_gpus(text + strlen(text), sizeof(text) - strlen(text),
                                  &a->run.place.bindings[r->job->local_rank], a->run.place.machine);
        json_object_set_new(started, "binding", text_json(text));
    }
    frame_stream_send_json(a->launcher.channel, AGENT_STARTED, started);
}

static void spawn_one(struct agent *a, struct agent_rank *r)
{
    struct fault why = {0};
    int status, rc;

    rc = rank_spawn(r, &status, &why);
    job_report_note_host(a); /* the first rank loads its program meanwhile */
    if (rc) {
        reap_failed_start(r, status, &why);
        return;
    }
    job_directory_add_rank(a->directory.path,
                           a->run.job->attach.pid ? a->run.job->attach.rank : r->job->rank,
                           r->pid); /* as its environment has it */
    started_report(a, r);
}

static void on_spawn(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    for (int i = 0; i < RANKS_PER_TURN; i++) {
        if (a->run.ranks.spawned == a->run.job->rank_count || a->run.stop.is_active ||
            a->launcher.is_paused || a->run.state != AGENT_IS_RUNNING)
            break;
        a->run.ranks.spawned++;
        if (a->run.ranks.all[a->run.ranks.spawned - 1].state == RANK_WAITING)
            spawn_one(a, &a->run.ranks.all[a->run.ranks.spawned - 1]);
    }
    ranks_start_resume(a);
    agent_check_soon(a);
}

void ranks_start_resume(struct agent *a)
{
    static const struct timeval now = {0, 0};

    if (a->run.state == AGENT_IS_RUNNING && a->run.ranks.spawn_event &&
        a->run.ranks.spawned < a->run.job->rank_count && !a->run.stop.is_active &&
        !a->launcher.is_paused)
        event_add(a->run.ranks.spawn_event, &now);
}

static void rank_renew(struct agent *a, struct agent_rank *r, int number)
{
    rank_output_renew(r);
    a->run.ranks.ended--;
    r->state = RANK_WAITING;
    r->restarts = number;
    r->is_signalled = r->is_broken = false;
    r->lost[0] = r->unstarted[0] = r->message[0] = '\0';
}

void ranks_start_again(struct agent *a, int rank, int number)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        struct agent_rank *r = &a->run.ranks.all[i];

        if (r->job->rank != rank || !r->is_undecided)
            continue;
        r->is_undecided = false;
        a->run.ranks.undecided--;
        if (number > 0 && !a->run.stop.is_active) {
            rank_renew(a, r, number);
            spawn_one(a, r);
        }
    }
    agent_check_soon(a);
}

/* What processes that start from now on find: the job's size has changed. */
static int environments_renew(struct agent *a, struct fault *why)
{
    for (int i = 0; a->run.ranks.environments && i < a->run.job->app_count; i++)
        rank_environment_destroy(a->run.ranks.environments[i]);
    free(a->run.ranks.environments);
    a->run.ranks.environments = NULL;
    return environments_create(a, a->run.coordinator, why);
}

int ranks_start_grow(struct agent *a, struct fault *why)
{
    int host = a->run.job->host_of[a->run.job->size - 1], i = a->run.job->rank_count - 1;

    coordinator_session_grow(a->run.coordinator_session, host);
    if (host == a->run.job->host) {
        a->run.ranks.all[i] = (struct agent_rank){.agent = a,
                                                  .job = &a->run.job->ranks[i],
                                                  .pty = -1,
                                                  .state = RANK_REPORTED,
                                                  .is_added = true,
                                                  .is_undecided = true};
        a->run.ranks.spawned++;
        a->run.ranks.ended++;
        a->run.ranks.undecided++;
    }
    if (a->run.state == AGENT_IS_DONE)
        return 0;
    return environments_renew(a, why) ? why->code : job_place_write_file(a, why);
}

void ranks_start_ahead(struct agent *a)
{
    if (a->run.job->hosts == 1 && !a->run.ranks.not_ahead.code)
        environments_create(a, a->run.coordinator, &a->run.ranks.not_ahead);
}

static int job_begin(struct agent *a, struct fault *why)
{
    int rc = a->run.ranks.not_ahead.code;

    if (rc)
        *why = a->run.ranks.not_ahead;
    else if (!a->run.ranks.environments)
        rc = environments_create(a, a->run.coordinator, why);
    if (!rc)
        rc = rank_mpi_open(a, why);
    if (!rc)
        rc = coordinator_session_connect(a->run.coordinator_session, a->run.coordinator, why);
    if (rc)
        return rc;
    a->run.ranks.spawn_event = evtimer_new(a->base, on_spawn, a);
    return a->run.ranks.spawn_event ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

static void job_fail(struct agent *a, const struct fault *why)
{
    job_report_lost(a, why->text);
    ranks_stop_begin(a, SIGTERM, FAILED_GRACE_MS);
}

static void on_mpi_ready(struct agent *a, const struct fault *failed)
{
    struct fault why = {0};

    if (failed)
        job_fail(a, failed);
    else if (job_begin(a, &why))
        job_fail(a, &why);
    else
        on_spawn(-1, 0, a);
}

/* This host takes the place of one that was lost: its ranks are other processes in the places of
 * dead ones, or stay empty. Standard input is not given again. */
static int places_read(struct agent *a, const json_t *list, struct fault *why)
{
    int *numbers;
    int rc = host_table_read_numbers(&numbers, list, a->run.job->rank_count, NUMBER_LIMIT);

    if (rc)
        return fault_set(why, rc, "the launcher's START is invalid");
    for (int i = 0; i < a->run.job->rank_count; i++) {
        struct agent_rank *r = &a->run.ranks.all[i];

        rank_input_close(r);
        r->restarts = numbers[i];
        if (numbers[i] > 0)
            continue;
        r->state = RANK_REPORTED;
        a->run.ranks.ended++;
        rank_output_leave_out(r);
    }
    free(numbers);
    return 0;
}

void ranks_start(struct agent *a, const char *text, size_t size)
{
    json_t *start = parsed_json(text, size, 0, NULL);
    const char *coordinator = json_string_value(json_object_get(start, "coordinator"));
    const char *keeper = json_string_value(json_object_get(start, "keeper"));
    bool is_pmix = json_is_true(json_object_get(start, "pmix"));
    bool needs_pmix = json_is_true(json_object_get(start, "needs_pmix"));
    json_int_t port = json_integer_value(json_object_get(start, "port"));
    const json_t *places = json_object_get(start, "places");
    struct fault why = {0};
    int rc = 0;

    a->run.state = AGENT_IS_RUNNING;
    a->run.placed = (uint32_t)json_integer_value(json_object_get(start, "placed"));
    if (keeper && strlen(keeper) < sizeof(a->run.keeper.next))
        strcpy(a->run.keeper.next, keeper);
    if (!coordinator || strlen(coordinator) >= ADDRESS_TEXT || port < 0 || port >= JOB_PORTS)
        rc = fault_set(&why, ML_ERR_REFUSED, "the launcher's START is invalid");
    else if (strcmp(coordinator, a->run.coordinator) != 0 ||
             a->run.keeper.next[0]) { /* rank 0's host has written it before */
        snprintf(a->run.coordinator, sizeof(a->run.coordinator), "%s", coordinator);
        rc = job_place_write_file(a, &why);
    }
    if (!rc && places)
        rc = places_read(a, places, &why);
    json_decref(start);
    a->run.ranks.port = rank_command_port(a->run.job, (int)port);
    if (rc)
        job_fail(a, &why);
    else
        rank_mpi_agree(a, is_pmix, needs_pmix, on_mpi_ready);
}
