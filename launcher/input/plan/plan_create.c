/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_create.h"

#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/job_file.h"
#include "common/text/argument_words.h"
#include "common/text/number.h"
#include "common/text/utf8.h"
#include "launcher/base/container/container_program.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/caller_directory.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/allocation.h"
#include "launcher/input/plan/backend.h"
#include "launcher/input/plan/launch_method.h"
#include "launcher/input/plan/placement.h"
#include "launcher/input/plan/plan_binding.h"
#include "launcher/input/plan/plan_debug.h"
#include "launcher/input/plan/plan_hosts.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/input/plan/tuning_file.h"
#include "launcher/input/values/env_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STALL_LIMIT_S = 1 << 20,
    FOLD_MS = 300, /* how long --output fold holds a line in all */
};

/* A relative --cwd is relative to the caller's directory, on other hosts too. */
static int app_set_cwd(struct app *a, const char *cwd, const struct plan *p, struct fault *why)
{
    if (!cwd)
        return 0;
    if (!utf8_is_valid(cwd))
        return fault_set(why, ML_ERR_ARGUMENT, "--cwd must be UTF-8");
    if (*cwd != '/' && !*p->cwd)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--cwd %s is relative to this directory, which was removed or has a name that is "
            "not UTF-8; give a path that begins with '/'",
            cwd);
    return *cwd == '/' ? string_copy(&a->cwd, cwd, why)
                       : string_format(&a->cwd, why, "%s/%s", p->cwd, cwd);
}

static int app_set_env(struct app *a, const struct app_options *from, char *const *environment,
                       struct fault *why)
{
    struct string_list env = {0};
    int rc = 0;

    for (size_t i = 0; i < from->env_files.count && !rc; i++)
        if ((rc = environment_read(&env, from->env_files.items[i], why)))
            fault_wrap(why, "--env-file");
    for (size_t i = 0; i < from->env.count && !rc; i++)
        if ((rc = environment_add(&env, from->env.items[i], environment, why)))
            fault_wrap(why, "-x");
    if (!rc)
        rc = string_list_release(&env, &a->env, why);
    string_list_clear(&env);
    return rc;
}

/* The words go to the agents as JSON, which is UTF-8. */
static int words_check(char *const *argv, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (int i = 0; argv[i]; i++)
        if (!utf8_is_valid(argv[i]))
            return fault_set(why, ML_ERR_ARGUMENT,
                             i ? "argument %d of %s must be UTF-8"
                               : "the program's name must be UTF-8",
                             i, text_show(shown, argv[0]));
    return 0;
}

/* With --words. */
static int words_find(struct app *a, struct fault *why)
{
    char program[TEXT_SHOWN], shown[TEXT_SHOWN];
    const char *wrong;

    for (int i = 1; a->argv[i]; i++) {
        wrong = argument_words_find(a->argv[i], &a->words);
        if (wrong)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--words: argument %d of %s: '%s' begins with none of the words, "
                             "{rank} {host_rank} {local_rank} {size} {hosts} {host} {head} {port}; "
                             "write {{ for a brace",
                             i, text_show(program, a->argv[0]), text_show(shown, wrong));
    }
    return 0;
}

static int app_create(struct plan *p, const struct app_options *from, char *const *environment,
                      struct fault *why)
{
    struct app *a = &p->apps[p->app_count++];
    struct string_list argv = {0};
    int rc = words_check(from->argv, why);

    if (!rc)
        rc = string_list_add_all(&argv, from->argv, why);
    if (!rc)
        rc = string_list_release(&argv, &a->argv, why);
    string_list_clear(&argv);
    if (!rc && p->options->words)
        rc = words_find(a, why);
    if (!rc)
        rc = app_set_cwd(a, from->cwd, p, why);
    a->ranks = from->np;
    return rc ? rc : app_set_env(a, from, environment, why);
}

static int apps_create(struct plan *p, const struct options *o, char *const *environment,
                       struct fault *why)
{
    int rc = 0;

    p->apps = calloc((size_t)o->app_count, sizeof(*p->apps));
    if (!p->apps)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < o->app_count && !rc; i++)
        rc = app_create(p, &o->apps[i], environment, why);
    return rc;
}

/* True for this machine alone, because nothing names a host. */
static bool is_here(const struct plan *p, const struct options *o)
{
    return !o->hosts && !o->hostfile && p->list->count == 1 && p->list->hosts[0].is_local;
}

static int hosts_find(struct plan *p, const struct options *o, char *const *environment,
                      struct fault *why)
{
    int rc = plan_hosts_find(&p->list, o, environment, why);

    if (!rc && !o->await && is_here(p, o))
        allocation_warn_unread(environment);
    return rc;
}

/* With ':' each program needs its own -n, except on this machine alone, where the default is 1.
 * *np: the sum; 0 if the hosts decide. */
static int ranks_count(struct plan *p, const struct options *o, int *np, struct fault *why)
{
    int64_t sum = 0;

    for (int i = 0; i < p->app_count; i++) {
        struct app *a = &p->apps[i];

        if (!a->ranks && p->app_count > 1) {
            if (!is_here(p, o))
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "program %d (%s) has no -n: with ':' each program needs its own",
                                 i + 1, o->apps[i].argv[0]);
            a->ranks = 1;
        }
        sum += a->ranks;
    }
    if (sum > PLACEMENT_LIMIT)
        return fault_set(why, ML_ERR_ARGUMENT, "%lld ranks are more than mlaunch can start (%d)",
                         (long long)sum, PLACEMENT_LIMIT);
    *np = (int)sum;
    return 0;
}

/* Fills in p->ranks and p->hosts. host_of[r] is the index into the list for rank r. */
static int ranks_number(struct plan *p, const int *host_of, struct fault *why)
{
    int *used =
        calloc((size_t)p->list->count, sizeof(*used)); /* index in p->hosts, + 1; 0: unused */
    int *next = calloc((size_t)p->list->count, sizeof(*next)); /* the next local rank */
    int app = 0, left = p->apps[0].ranks;

    p->where->places = p->where->size + (p->options->job.elastic ? JOB_GROW_MOST : 0);
    p->where->hosts = calloc((size_t)(p->list->count + p->where->places - p->where->size),
                             sizeof(*p->where->hosts));
    p->where->ranks = calloc((size_t)p->where->places, sizeof(*p->where->ranks));
    if (!used || !next || !p->where->hosts || !p->where->ranks) {
        free(used);
        free(next);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for %d ranks", p->where->size);
    }
    for (int r = 0; r < p->where->size; r++) {
        int h = host_of[r];

        if (!used[h]) {
            p->where->hosts[p->where->host_count++] = h;
            used[h] = p->where->host_count;
        }
        while (left == 0)
            left = p->apps[++app].ranks;
        left--;
        p->where->ranks[r] =
            (struct planned_rank){.host = used[h] - 1, .local_rank = next[h]++, .app = app};
    }
    free(used);
    free(next);
    return 0;
}

/* As placement_make(), without the spare hosts. */
static int hosts_place(int **host_of, struct plan *p, const struct placement *how,
                       struct fault *why)
{
    struct host_list *all = p->list, others = {.source = all->source};
    int *index = calloc((size_t)all->count, sizeof(*index)), rc;

    others.hosts = calloc((size_t)all->count, sizeof(*others.hosts));
    if (!index || !others.hosts) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto out;
    }
    for (int i = 0; i < all->count; i++) {
        if (!all->hosts[i].spare) {
            index[others.count] = i;
            others.hosts[others.count++] = all->hosts[i]; /* what it points to stays the list's */
        }
    }
    rc = placement_make(host_of, &p->where->size, &others, how, why);
    for (int r = 0; !rc && r < p->where->size; r++)
        (*host_of)[r] = index[(*host_of)[r]];
out:
    free(index);
    free(others.hosts);
    return rc;
}

static int ranks_place(struct plan *p, const struct options *o, struct fault *why)
{
    struct placement how = {
        .ppn = o->ppn, .oversubscribe = o->oversubscribe, .by_host = o->map_by == MAP_BY_HOST};
    int *host_of = NULL, rc = ranks_count(p, o, &how.np, why);

    p->is_np_here =
        !rc && o->np_here && !how.np && !how.ppn && is_here(p, o) && !p->list->hosts[0].slots;
    if (p->is_np_here)
        how.np = p->apps[0].ranks = o->np_here;
    if (!rc)
        rc = hosts_place(&host_of, p, &how, why);
    if (rc)
        return rc;
    if (!how.np)
        p->apps[0].ranks = p->where->size;
    rc = ranks_number(p, host_of, why);
    free(host_of);
    if (!rc)
        log_debug("placement: %d ranks on %d of the %d hosts (%s), %s", p->where->size,
                  p->where->host_count, p->list->count, p->list->source,
                  how.by_host ? "dealt out host by host" : "each host filled in turn");
    return rc;
}

static bool is_in_background(void)
{
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
}

static int stdin_settle(struct plan *p, const char *to, struct fault *why)
{
    int64_t rank = 0;

    p->job.stdin_mode = STDIN_RANK;
    if (!to && is_in_background())
        p->job.stdin_mode = STDIN_NONE;
    else if (to && strcmp(to, "none") == 0)
        p->job.stdin_mode = STDIN_NONE;
    else if (to && strcmp(to, "all") == 0)
        p->job.stdin_mode = STDIN_ALL;
    else if (to && !number_parse(to, 0, p->where->size - 1, &rank))
        return fault_set(why, ML_ERR_ARGUMENT, "--stdin %s: the job's ranks are 0 to %d", to,
                         p->where->size - 1);
    p->job.stdin_rank = (int)rank;
    return 0;
}

/* The rank with the terminal gets the input, unless nobody does. */
static int pty_settle(struct plan *p, const struct options *o, struct fault *why)
{
    if (!o->pty)
        return 0;
    if (o->pty_rank >= p->where->size)
        return fault_set(why, ML_ERR_ARGUMENT, "--pty=%d: the job's ranks are 0 to %d", o->pty_rank,
                         p->where->size - 1);
    if (!o->stdin_to)
        p->job.stdin_rank = o->pty_rank;
    else if (p->job.stdin_mode == STDIN_ALL ||
             (p->job.stdin_mode == STDIN_RANK && p->job.stdin_rank != o->pty_rank))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--pty gives standard input to rank %d: leave --stdin %s out", o->pty_rank,
                         o->stdin_to);
    return 0;
}

static enum output_mode output_mode_of(const char *output, int size)
{
    if (!output)
        return size > 1 ? OUTPUT_LABEL : OUTPUT_RAW;
    return strcmp(output, "label") == 0  ? OUTPUT_LABEL
           : strcmp(output, "raw") == 0  ? OUTPUT_RAW
           : strcmp(output, "fold") == 0 ? OUTPUT_FOLD
                                         : OUTPUT_DIR;
}

int plan_fold_ms(const struct plan *p)
{
    return p->where->host_count > 1 ? FOLD_MS / 2 : FOLD_MS;
}

static int show_settle(struct plan *p, const struct options *o, struct fault *why)
{
    if (o->show && (rank_set_parse(&p->shown, o->show, strlen(o->show), why) ||
                    rank_set_check(&p->shown, p->where->size, why)))
        return fault_wrap(why, "--show");
    return 0;
}

/* The coordinator listens on port N and rank r on N + 1 + r: all must be ports, and all
 * different. */
static int ports_settle(struct plan *p, struct fault *why)
{
    int start = p->job.starting_port, first = start + 1, last = start + p->where->size;

    if (!start)
        return 0;
    if (!p->job.port)
        p->job.port = start;
    if (last > 65535)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--starting-port %d: %d ranks would listen up to port %d, but 65535 is the last", start,
            p->where->size, last);
    if (p->job.port >= first && p->job.port <= last)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--port %d is among the ranks' ports, %d to %d (--starting-port %d)",
                         p->job.port, first, last, start);
    return 0;
}

/* Finds after how many seconds a stalled call is reported: --stall, or the value of MLAUNCH_STALL
 * that the ranks will have in their environment. */
static int stall_settle(struct plan *p, const struct options *o, char *const *environment,
                        struct fault *why)
{
    const char *value = environment_find(p->apps[0].env, "MLAUNCH_STALL");
    char shown[TEXT_SHOWN];
    int64_t s = STALL_DEFAULT_MS / 1000;

    if (!value)
        value = environment_find(plan_host(p, 0)->env, "MLAUNCH_STALL");
    if (!value)
        value = environment_find(environment, "MLAUNCH_STALL");
    if (value && !number_parse(value, 1, STALL_LIMIT_S, &s))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "MLAUNCH_STALL: '%s' is not a whole number of seconds from 1 to %d",
                         text_show(shown, value), STALL_LIMIT_S);
    p->job.flight_recorder = o->job.stall_ms > 0;
    if (!o->job.stall_ms)
        p->job.stall_ms = (int)s * 1000;
    return 0;
}

/* Stores in *out, for the caller to free, "MLAUNCH_ALGO=..." with the caller's value and behind it
 * --tuning's: the first that fits a call decides. NULL: there is no --tuning, or no value in it. */
static int tuning_settle(char **out, const struct plan *p, const struct options *o,
                         char *const *environment, struct fault *why)
{
    bool shares = p->where->host_count == 1 && !p->job.local_net;
    struct tuning_job job = {p->where->size, p->where->host_count, shares ? "shm" : p->backend};
    const char *mine = environment_find(environment, "MLAUNCH_ALGO");
    char *tuned = NULL;
    int rc;

    *out = NULL;
    if (!o->tuning || strcmp(p->backend, "none") == 0)
        return 0;
    rc = tuning_file_read(&tuned, o->tuning, &job, why);
    if (!rc && tuned)
        rc = string_format(out, why, "MLAUNCH_ALGO=%s%s%s", mine ? mine : "",
                           mine && *mine ? "," : "", tuned);
    free(tuned);
    return rc;
}

/* Which calls the ranks are to record, for an option that needs more than their last ones. */
static const char *record_variable(const struct options *o)
{
    if (o->compare_hashes)
        return "MLAUNCH_RECORD=hashes";
    return o->record || o->trace ? "MLAUNCH_RECORD=all" : NULL;
}

enum { OURS = 4 }; /* variables for the library that options set, at most */

/* The caller's variables for the library. `ours`: what options put there instead of the caller's;
 * NULL items are left out. */
static int caller_variables_find(struct plan *p, char *const *environment,
                                 const char *const ours[OURS], struct fault *why)
{
    static const char *const names[] = {"MLAUNCH_STALL", "MLAUNCH_ALGO", "MLAUNCH_RECORD",
                                        "MLAUNCH_DETERMINISTIC"};
    struct string_list env = {0};
    int rc = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !rc; i++)
        if (environment_find(environment, names[i]))
            rc = environment_add(&env, names[i], environment, why);
    for (int i = 0; i < OURS && !rc; i++)
        if (ours[i])
            rc = string_list_add(&env, ours[i], why); /* the later one wins */
    if (!rc)
        rc = string_list_release(&env, &p->library_env, why);
    string_list_clear(&env);
    return rc;
}

static int environment_settle(struct plan *p, const struct options *o, char *const *environment,
                              struct fault *why)
{
    char *algorithms = NULL;
    int rc = stall_settle(p, o, environment, why);

    if (!rc)
        rc = tuning_settle(&algorithms, p, o, environment, why);
    if (!rc) {
        const char *const ours[OURS] = {algorithms, record_variable(o),
                                        o->deterministic ? "MLAUNCH_DETERMINISTIC=1" : NULL,
                                        o->verbose > 0 ? "MLAUNCH_VERBOSE=1" : NULL};

        rc = caller_variables_find(p, environment, ours, why);
    }
    for (int i = 0; i < p->where->host_count + p->where->spare_count && !rc; i++)
        rc = plan_hosts_set_env(p, plan_host(p, i), why);
    free(algorithms);
    return rc;
}

/* A configuration file may name it for jobs that need it; a job without SSH does not. */
static int ssh_config_check(const struct plan *p, struct fault *why)
{
    for (int i = 0; p->options->ssh_config && i < p->where->host_count + p->where->spare_count; i++)
        if (plan_host(p, i)->launch_method == LAUNCH_METHOD_SSH &&
            access(p->options->ssh_config, R_OK))
            return fault_os(why, ML_ERR_ARGUMENT, errno, "--ssh-config: cannot read %s",
                            p->options->ssh_config);
    return 0;
}

/* As a rank on this machine has it. */
static const char *library_path_of(const struct app *a, char *const *environment)
{
    const char *own = environment_find(environment, "LD_LIBRARY_PATH");
    const char *value = environment_find(a->env, "LD_LIBRARY_PATH");

    return value ? value : own ? own : "";
}

/* The other hosts get the programs from this machine, but mlaunch-bench from their own copy of
 * mlaunch. */
static int files_settle(struct plan *p, const struct options *o, char *const *environment,
                        struct fault *why)
{
    bool is_away = false;
    int rc = 0;

    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++)
        is_away |= plan_host(p, i)->launch_method != LAUNCH_METHOD_LOCAL;
    p->files.is_hashed = !o->dry_run;
    for (int i = 0; i < p->app_count; i++)
        p->apps[i].file = -1;
    for (int i = 0; i < p->app_count && (o->stage || o->stage_libs) && is_away && !rc; i++) {
        struct app *a = &p->apps[i];

        if (a->ranks == 0 || strcmp(a->argv[0], BENCH_PROGRAM) == 0)
            continue;
        rc = staged_list_add_program(&p->files, a->argv[0], a->cwd, &a->file, why);
        if (!rc && o->stage_libs)
            rc = staged_list_add_libraries(&p->files, a->file, library_path_of(a, environment),
                                           a->cwd, why);
    }
    return rc;
}

static int stage_env_settle(struct plan *p, const struct options *o, struct fault *why)
{
    if (o->stage_cache && !o->stage_env)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--stage-cache keeps the copies of --stage-env, which is missing");
    return o->stage_env ? env_directory_find(&p->stage_env, o->stage_env, p->cwd, why) : 0;
}

/* One process starts the container of podman and docker, and has no terminal; and what only the
 * ranks see of the host is in the way of what starts their containers. */
static int container_settle(const struct plan *p, const struct options *o, struct fault *why)
{
    const struct container_program *program;
    struct string_list words = {0};
    int rc;

    if (!p->job.container)
        return 0;
    if (p->job.mount || o->stage_env)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s and --container do not go together: mount it by --container's own "
                         "words",
                         p->job.mount ? "--mount" : "--stage-env");
    rc = command_words_split(&words, p->job.container, why);
    if (!rc)
        rc = container_program_find(&program, words.items, why);
    if (rc)
        fault_wrap(why, "--container");
    if (!rc && o->pty && program->is_apart)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "--pty: a container of %s cannot take the rank's terminal; those of "
                       "apptainer, ch-run and bwrap can",
                       program->name);
    string_list_clear(&words);
    return rc;
}

static int rest_settle(struct plan *p, const struct options *o, struct fault *why)
{
    int rc;

    p->job.compat = !o->no_compat;
    if (p->job.mpi == MPI_AUTO && o->no_compat)
        p->job.mpi = MPI_NONE;
    p->output = output_mode_of(o->output, p->where->size);
    if ((rc = plan_binding_settle(p, o, why)) || (rc = stdin_settle(p, o->stdin_to, why)) ||
        (rc = pty_settle(p, o, why)) || (rc = show_settle(p, o, why)) ||
        (rc = container_settle(p, o, why)))
        return rc;
    return ports_settle(p, why);
}

int plan_create(struct plan **out, const struct options *o, char *const *environment,
                struct fault *why)
{
    struct plan *p = plan_new(o);
    int rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    p->job = o->job;
    if ((rc = hosts_find(p, o, environment, why)) || (rc = caller_directory_find(&p->cwd, why)) ||
        (rc = apps_create(p, o, environment, why)) || (rc = ranks_place(p, o, why)) ||
        (rc = plan_spares_settle(p, o, why)) || (rc = plan_debug_settle(p, o, why)) ||
        (rc = backend_settle(p, o, why)) || (rc = environment_settle(p, o, environment, why)) ||
        (rc = rest_settle(p, o, why)) || (rc = launch_method_resolve(p, o, environment, why)) ||
        (rc = ssh_config_check(p, why)) || (rc = files_settle(p, o, environment, why)) ||
        (rc = stage_env_settle(p, o, why))) {
        plan_destroy(p);
        return rc;
    }
    if (p->job.elastic &&
        (rc = host_list_reserve(p->list, p->where->places - p->where->size, why))) {
        plan_destroy(p);
        return rc;
    }
    *out = p;
    return 0;
}
