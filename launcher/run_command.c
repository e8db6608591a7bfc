/* SPDX-License-Identifier: MIT */
#include "launcher/run_command.h"

#include "common/log.h"
#include "common/outer_launcher.h"
#include "common/status.h"
#include "common/text/number.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/result_file.h"
#include "launcher/gdb_windows.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/job/detached_job.h"
#include "launcher/run/job/job.h"
#include "launcher/subcommand.h"
#include "launcher/tools/verify/fitness.h"
#include "launcher/usage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int plan_run(const struct options *o, struct plan *p)
{
    char id[JOB_ID_SIZE];
    struct gdb_windows windows = {.options = o, .plan = p, .id = id};
    struct job_config config = {0};
    struct fault why;

    if (o->dry_run) {
        plan_print(p);
        return 0;
    }
    if (job_identity_name(id, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    if (p->gdb)
        config = gdb_windows_config(&windows);
    config.check = fitness_find;
    return o->detach ? detached_job_run(o, p, id, fitness_find) : job_run(p, id, &config);
}

/* Otherwise each process of the outer launcher would start a job of its own. */
static int outer_check(struct fault *why)
{
    struct outer_launcher outer;

    if (!outer_launcher_find(&outer))
        return 0;
    return fault_set(why, ML_ERR_STATE,
                     "mlaunch is started once, not by %s, which starts %d of it: write mlaunch -n "
                     "%d PROGRAM, under Slurm inside salloc or sbatch (if one mlaunch alone is "
                     "meant: env -u %s mlaunch ...)",
                     outer.name, outer.size, outer.size, outer.size_variable);
}

/* What mlaunch bench says of its job, beside the command line. */
struct bench_job {
    int ranks;          /* if nothing says how many */
    char *const *files; /* options, each with the path that it gives: rank 0 will write these */
    int file_words;
};

/* Checks the job before it starts, and warns if the number of ranks is a default. */
static int bench_check(const struct bench_job *b, const struct plan *p, struct fault *why)
{
    bool is_here = plan_host(p, p->where->ranks[0].host)->is_local && !p->apps[0].cwd;
    int rc = 0;

    for (int i = 0; is_here && i < b->file_words && !rc; i += 2)
        rc = result_file_check(b->files[i], b->files[i + 1], why);
    if (!rc && p->is_np_here)
        log_warn("measuring with %d ranks on this machine; -n or hosts (-H, --hostfile) say "
                 "otherwise",
                 p->where->size);
    return rc;
}

static int options_run(const struct options *o, const struct bench_job *bench)
{
    struct plan *p = NULL;
    struct fault why;
    int status, rc;

    log_open("mlaunch", (enum log_level)(LOG_WARN + o->verbose));
    rc = o->is_await_here ? 0 : outer_check(&why); /* join is to be started on each host */
    if (!rc)
        rc = detached_job_check(o, &why);
    if (!rc)
        rc = plan_create(&p, o, environ, &why);
    if (!rc && bench)
        rc = bench_check(bench, p, &why);
    if (rc)
        log_error("%s", why.text);
    status = rc ? STATUS_OURS : plan_run(o, p);
    plan_destroy(p);
    return status;
}

/* For those who mean a command of mlaunch and start a program that is not there. */
static void command_advise(const char *program)
{
    const char *near = subcommand_near(program);
    char *path = NULL;
    struct fault why;

    if (near && program_path_find(&path, program, &why))
        log_error("mlaunch has no command %s either; did you mean mlaunch %s?", program, near);
    else if (!program[strspn(program, "0123456789")] && program_path_find(&path, program, &why))
        log_error("a number of ranks is given with -n: mlaunch -n %s PROGRAM", program);
    free(path);
}

/* `bench` may be NULL. */
static int options_launch(int argc, char **argv, const struct bench_job *bench)
{
    struct options *o = NULL;
    struct fault why;
    int status = 0;

    if (options_load(&o, argc, argv, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    o->np_here = bench ? bench->ranks : 0;
    if (o->action == OPTIONS_HELP)
        usage_print_help();
    else if (o->action == OPTIONS_VERSION)
        usage_print_version();
    else
        status = options_run(o, bench);
    if (status == STATUS_NOT_FOUND)
        command_advise(o->apps[0].argv[0]);
    options_destroy(o);
    return status;
}

int run_command_run_options(const struct options *o)
{
    return options_run(o, NULL);
}

int run_command_run(int argc, char **argv)
{
    return options_launch(argc, argv, NULL);
}

int run_command_run_bench(int argc, char **argv)
{
    struct bench_job bench = {.files = argv + 2};
    int64_t ranks;
    int at = 2;

    while (at < argc && strcmp(argv[at], "run") != 0)
        at += 2;
    if (at >= argc || !number_parse(argv[1], 1, INT_MAX, &ranks)) {
        log_error("mlaunch bench-job is for mlaunch bench, which writes its command line");
        return STATUS_OURS;
    }
    bench.ranks = (int)ranks;
    bench.file_words = at - 2;
    return options_launch(argc - at, argv + at, &bench);
}
