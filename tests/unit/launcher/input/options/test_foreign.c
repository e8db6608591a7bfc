/* SPDX-License-Identifier: MIT */
/* test_foreign.c: the options of mpirun, Hydra, srun, torchrun and mlx.launch: what is taken means
 * the same as words of ours, and what is refused is answered with them. */
#include "launcher/input/options/command_line.h"
#include "launcher/input/options/foreign.h"
#include "launcher/input/options/option_table.h"
#include "tests/unit/launcher/input/options/parse_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void text_print(FILE *to, const char *name, const char *text)
{
    fprintf(to, "%s %s\n", name, text ? text : "-");
}

static void app_print(FILE *to, const struct app_options *a)
{
    fprintf(to, "np %d\n", a->np);
    text_print(to, "cwd", a->cwd);
    for (size_t i = 0; i < a->env.count; i++)
        text_print(to, "env", a->env.items[i]);
    for (int i = 0; a->argv[i]; i++)
        text_print(to, "word", a->argv[i]);
}

/* All that the options of this test set. */
static void options_describe(char *out, size_t size, const char *line)
{
    FILE *to = fmemopen(out, size, "w");
    struct options *o;
    struct fault why = {0};

    assert_non_null(to);
    if (parse_line(&o, line, NULL, &why))
        fail_msg("%s: %s", line, why.text);
    for (int i = 0; i < o->app_count; i++)
        app_print(to, &o->apps[i]);
    text_print(to, "hosts", o->hosts);
    text_print(to, "hostfile", o->hostfile);
    text_print(to, "stdin", o->stdin_to);
    text_print(to, "output", o->output);
    fprintf(to, "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %s %d %s %d\n", o->action, o->ppn,
            o->oversubscribe, o->backend, o->job.binding.to, o->map_by, o->on_failure,
            o->timeout_ms, o->job.restarts, o->timestamp, o->dry_run, o->verbose, o->cpus_per_rank,
            o->job.binding.map, o->job.binding.each, o->job.binding.block,
            o->job.binding.cpus ? o->job.binding.cpus : "", o->job.binding.memory,
            o->job.binding.nodes ? o->job.binding.nodes : "", o->job.binding.gpus);
    fclose(to);
    options_destroy(o);
}

static const struct {
    const char *theirs, *ours;
} taken[] = {
    /* On one host these ask for what mlaunch does anyway. */
    {"--standalone|--nnodes=1|--nproc_per_node=2|p", "--ppn|2|p"},
    {"--nnodes|1:1|--node_rank|0|--rdzv_backend=c10d|--rdzv_endpoint=localhost:0|--rdzv-id|7|p",
     "p"},
    {"--master-addr|127.0.0.1|--master_port=29500|--nproc-per-node|2|p", "--ppn|2|p"},
    {"--nodes=1|--mpi=pmi2|-n|2|p", "-n|2|--mpi|auto|p"},
    {"--mpi=pmix_v4|p", "--mpi|pmix|p"},

    /* mpirun, Open MPI's */
    {"-np|4|p", "-n|4|p"},
    {"--n|4|p", "-n|4|p"},
    {"-n=4|p", "-n|4|p"},
    {"-host|a,b|p", "-H|a,b|p"},
    {"--host|a,b|p", "-H|a,b|p"},
    {"--host=a,b|p", "-H|a,b|p"},
    {"-hostfile|f|p", "--hostfile|f|p"},
    {"-hostfile=f|p", "--hostfile|f|p"},
    {"-machinefile|f|p", "--hostfile|f|p"},
    {"--machinefile|f|p", "--hostfile|f|p"},
    {"--default-hostfile|f|p", "--hostfile|f|p"},
    {"-npernode|2|p", "--ppn|2|p"},
    {"--npernode|2|p", "--ppn|2|p"},
    {"-pernode|p", "--ppn|1|p"},
    {"-ppn|2|p", "--ppn|2|p"},
    {"-bynode|p", "--map-by|host|p"},
    {"-byslot|p", "--map-by|slot|p"},
    {"--map-by|node|p", "--map-by|host|p"},
    {"-map-by|slot|p", "--map-by|slot|p"},
    {"-bind-to|core|p", "--bind-to|core|p"},
    {"-bind-to-core|p", "--bind-to|core|p"},
    {"--bind-to-none|p", "--bind-to|none|p"},
    {"--bind-to-socket|p", "--bind-to|socket|p"},
    {"--bind-to|package|p", "--bind-to|socket|p"},
    {"-bycore|p", "--map-by|core|p"},
    {"--map-by|ppr:2:node|p", "--ppn|2|p"},
    {"--map-by|numa:pe=4|p", "--map-by|numa|--cpus-per-rank|4|p"},
    {"--cpus-per-proc|4|p", "--cpus-per-rank|4|p"},
    {"--cpus-per-task=4|p", "--cpus-per-rank|4|p"},
    {"--cpu-bind=cores|p", "--bind-to|core|p"},
    {"--cpu_bind=ldoms|p", "--bind-to|numa|p"},
    {"--cpu-bind=map_cpu:0,1|p", "--bind-to|cpus:0,1|p"},
    {"-bind-to|user:0+2,1+3|p", "--bind-to|cpus:0+2,1+3|p"},
    {"-gpus-per-proc|2|p", "--gpus-per-rank|2|p"},
    {"--gpus-per-task=2|p", "--gpus-per-rank|2|p"},
    {"-bind-to|gpu:1|p", "--bind-to|gpu|--gpus-per-rank|1|p"},
    {"-membind|bind:0,1|p", "--mem-bind|nodes:0,1|p"},
    {"-membind|firsttouch|p", "--mem-bind|none|p"},
    {"--mem-bind=map_mem:0,1|p", "--mem-bind|nodes:0,1|p"},
    {"-bind-to|core:2|p", "--bind-to|core:2|p"},
    {"-oversubscribe|p", "--oversubscribe|p"},
    {"--oversubscribe|-nooversubscribe|p", "p"},
    {"-x|A=1|p", "-x|A=1|p"},
    {"-x=A=1|p", "-x|A=1|p"},
    {"-wdir|/d|p", "--cwd|/d|p"},
    {"--wdir|/d|p", "--cwd|/d|p"},
    {"-wd|/d|p", "--cwd|/d|p"},
    {"--noprefix|p", "p"},
    {"--allow-run-as-root|p", "p"},
    {"-allow-run-as-root|p", "p"},
    {"--tag-output|p", "--output|label|p"},
    {"-tag-output|p", "--output|label|p"},
    {"--timestamp-output|p", "--timestamp|p"},
    {"-timeout|9|p", "--timeout|9|p"},
    {"--do-not-launch|p", "--dry-run|p"},
    {"--leave-session-attached|p", "p"},
    {"--disable-recovery|p", "p"},
    {"--enable-recovery|p", "--on-failure|continue|p"},
    {"-stdin|all|p", "--stdin|all|p"},
    {"-quiet|p", "-q|p"},
    {"-verbose|p", "-v|p"},
    {"-V", "--version"},
    {"-version", "--version"},
    {"-help", "--help"},
    /* Hydra's */
    {"-f|f|p", "--hostfile|f|p"},
    {"-f=f|p", "--hostfile|f|p"},
    {"-machine|f|p", "--hostfile|f|p"},
    {"-hosts|a,b:2|p", "-H|a,b:2|p"},
    {"-perhost|2|p", "--ppn|2|p"},
    {"-grr|2|p", "--ppn|2|p"},
    {"-rr|p", "--map-by|host|p"},
    {"-env|A|1|p", "-x|A=1|p"},
    {"-env|A=1|p", "-x|A=1|p"},
    {"-env|A|1|p|:|q", "-x|A=1|p|:|q"},
    {"-genv|A|1|p|:|q", "-x|A=1|p|:|-x|A=1|q"},
    {"-genv|A=1|p", "-x|A=1|p"},
    {"-envlist|A,B|p", "-x|A|-x|B|p"},
    {"-genvlist|A,B|p|:|q", "-x|A|-x|B|p|:|-x|A|-x|B|q"},
    {"-genvall|p", "-x|*|p"},
    {"-envall|p", "-x|*|p"},
    {"-prepend-rank|p", "--output|label|p"},
    {"-l|p", "--output|label|p"},
    {"-vl|p", "-v|--output|label|p"},
    {"-lv|p", "-v|--output|label|p"},
    {"-disable-auto-cleanup|p", "--on-failure|continue|p"},
    {"-enable-auto-cleanup|p", "p"},
    {"-info", "--version"},
    /* srun's */
    {"--ntasks=4|p", "-n|4|p"},
    {"--ntasks|4|p", "-n|4|p"},
    {"--ntasks-per-node=2|p", "--ppn|2|p"},
    {"-w|n[1-4]|p", "-H|n[1-4]|p"},
    {"-wn1|p", "-H|n1|p"},
    {"--nodelist=n1|p", "-H|n1|p"},
    {"--chdir=/d|p", "--cwd|/d|p"},
    {"-D|/d|p", "--cwd|/d|p"},
    {"-D/d|p", "--cwd|/d|p"},
    {"--overcommit|p", "--oversubscribe|p"},
    {"-O|p", "--oversubscribe|p"},
    {"--label|p", "--output|label|p"},
    {"--unbuffered|p", "p"},
    {"-u|p", "p"},
    {"-lu|p", "--output|label|p"},
    {"-K|p", "p"},
    {"-K1|p", "p"},
    {"--kill-on-bad-exit|p", "p"},
    {"--kill-on-bad-exit=1|p", "p"},
    {"-Q|p", "-q|p"},
    {"--test-only|p", "--dry-run|p"},
    /* torchrun's */
    {"--nproc-per-node|2|p", "--ppn|2|p"},
    {"--nproc_per_node|2|p", "--ppn|2|p"},
    {"--nproc_per_node=2|p", "--ppn|2|p"},
    {"--max-restarts|3|p", "--restarts|3|p"},
    {"--standalone|p", "p"},
    {"--monitor-interval=5|p", "p"},
    {"--no-python|p", "p"},
    /* mlx.launch's */
    {"--repeat-hosts|2|p", "--ppn|2|p"},
    {"--backend|ring|p", "--backend|tcp|p"},
    {"--no-verify-script|p", "p"},
    /* timeout's */
    {"--timeout|1m|p", "--timeout|60|p"},
    {"--timeout|90s|p", "--timeout|90|p"},
    {"--timeout|1.5h|p", "--timeout|5400|p"},
    {"--timeout|1d|p", "--timeout|86400|p"},
};

static void test_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        char theirs[1024], ours[1024];

        options_describe(theirs, sizeof(theirs), taken[i].theirs);
        options_describe(ours, sizeof(ours), taken[i].ours);
        if (strcmp(theirs, ours) != 0)
            fail_msg("%s gave\n%s  %s gave\n%s", taken[i].theirs, theirs, taken[i].ours, ours);
    }
}

static const struct {
    const char *line, *sentence;
} refused[] = {
    {"--output|tag|p", "--output: 'tag' is mpirun's: --output label puts [rank] before each line"},
    {"--output|tag,timestamp|p", "--output: 'tag,timestamp' is mpirun's: --output label"},
    {"--output|timestamp|p", "--output: 'timestamp' is mpirun's: --timestamp"},
    {"--output|dir=x|p", "--output: 'dir=x' is mpirun's: --output DIR writes"},
    {"--output|none|p", "--output: 'none' is srun's: write > /dev/null"},
    {"--backend|jaccl-ring|p",
     "'jaccl-ring' is not auto, tcp, ring, rdma, jaccl, shm or none; with "
     "none, MLX finds"},
    {"--backend|nccl|p", "or none; with tcp, MLX finds NCCL_HOST_IP"},
    {"--backend|gloo|p", "or none; with tcp, PyTorch's init_process_group"},
    {"--mca|btl|tcp|p", "--mca is Open MPI's: mlaunch has no such settings; --backend"},
    {"-mca|btl|tcp|p", "-mca is Open MPI's: mlaunch has no such settings; --backend"},
    {"--nodes=2|p", "--nodes is srun's: the hosts are those of -H"},
    {"-N|2|p", "-N is both srun's and mpirun's: --ppn is"},
    {"-N2|p", "-N is both srun's and mpirun's: --ppn is"},
    {"-c|4|p", "-n is the number of ranks, --cpus-per-rank that"},
    {"--nnodes=2|p", "--nnodes is torchrun's: the hosts are those of -H"},
    {"--nnodes|1:4|p", "--nnodes is torchrun's: the hosts are those of -H"},
    {"--node_rank|1|p", "--node_rank is torchrun's: one mlaunch starts"},
    {"--python|/usr/bin/python3|p", "--python is mlx.launch's: write the Python to use"},
    {"-m|pkg|p", "python3 -m MODULE for torchrun's"},
    {"--module|pkg", "--module is torchrun's: write python3 -m MODULE"},
    {"--cpu-bind=mask_cpu:0x3|p", "'mask_cpu:0x3' is not none, hwthread, core"},
    {"--distribution=block|p", "--map-by slot is what srun calls block"},
    {"--display-map|p", "--display-map is Open MPI's: --dry-run"},
    {"-display-allocation|p", "--dry-run"},
    {"--export=ALL,A=1|p", "--export is srun's: -x NAME=VALUE sets one variable"},
    {"-envnone|p", "-envnone is Hydra's: only -x takes variables to other hosts"},
    {"--exclusive|p", "mlaunch reserves no hosts; give it to salloc or sbatch"},
    {"--mem=4G|p", "mlaunch reserves no hosts"},
    {"--gres=gpu:1|p", "mlaunch batch with --extra"},
    {"-p|debug|p", "-p is srun's: mlaunch reserves no hosts"},
    {"-A|me|p", "-A is srun's: mlaunch reserves no hosts"},
    {"--qos|name|p", "--qos is srun's: mlaunch reserves no hosts"},
    {"-t|10|p", "--timeout 90, 90s, 15m or 2h"},
    {"--time=10:00|p", "--time is srun's: --timeout 90, 90s, 15m or 2h"},
    {"--multi-prog|f", "':' separates the programs"},
    {"--app|f", "':' separates the programs"},
    {"-configfile|f", "-configfile is Hydra's: ':' separates the programs"},
    {"-o|f-%t|p", "-o is srun's: --output DIR writes"},
    {"-e|f|p", "--output DIR writes DIR/rank.N.err"},
    {"-outfile-pattern|f-%r|p", "--output 'FILE-%r-%h'"},
    {"--output-filename|d|p", "--output DIR writes"},
    {"--log_dir|d|p", "--log_dir is torchrun's: --output DIR writes"},
    {"--input=f|p", "--stdin none, all or RANK"},
    {"-launcher|ssh|p", "-launcher is Hydra's: --agent-launcher ssh, srun or command"},
    {"-iface|eth0|p", "\"ips\" in a JSON hostfile"},
    {"-rmk|slurm|p", "is found without it"},
    {"--rdzv-backend=etcd|p", "--rdzv-backend is torchrun's: mlaunch brings the ranks together"},
    {"--master_addr|gpu1|p", "--master_addr is torchrun's: mlaunch brings the ranks together"},
    {"--prefix|/opt|p", "--agent names another"},
    {"-path|/opt|p", "-x PATH=..."},
    {"-rf|f|p", "in the order of -H or the hostfile"},
    {"--map-by|ppr:0:node|p", "'ppr:0:node' is not slot, host, hwthread"},
    {"--map-by|numa:span|p", "or ppr:N:UNIT for N ranks on each"},
    {"-npernode|x|p", "-npernode: 'x' is not a whole number"},
    {"--nproc-per-node|gpu|p", "--nproc-per-node: 'gpu' is not a whole number"},
    {"-npernode", "-npernode needs a value: -npernode N"},
    {"-env|A", "-env needs a value: -env NAME VALUE"},
    {"--label=yes|p", "--label takes no value, so not 'yes'"},
    {"a|:|--host|b|c", "--host applies to the whole job"},
    /* no suggestion is better than a far-fetched one */
    {"--xml|p", "unknown option --xml; mlaunch --help lists all"},
    {"--zzz|p", "unknown option --zzz; mlaunch --help lists all"},
    {"-hostfil|f|p", "unknown option -hostfil; did you mean -hostfile?"},
    {"--hostfil|f|p", "unknown option --hostfil; did you mean --hostfile?"},
    {"-vZ|p", "unknown option -Z in '-vZ'"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct options *o;
        struct fault why = {0};
        int rc = parse_line(&o, refused[i].line, NULL, &why);

        if (rc != ML_ERR_ARGUMENT || !strstr(why.text, refused[i].sentence))
            fail_msg("%s\n  gave %d: %s\n  expected: %s", refused[i].line, rc, why.text,
                     refused[i].sentence);
        assert_null(o);
    }
}

/* Every row means an option of ours, or says something, or neither; none hides one of ours. */
static void test_table(void **state)
{
    (void)state;
    for (const struct foreign *f = foreign_table; f->name; f++) {
        assert_ptr_equal(foreign_find(f->name, strlen(f->name)), f);
        assert_false(f->option && f->hint);
        assert_true(!f->values || f->hint);
        if (f->option)
            assert_non_null(option_table_find(f->option));
        if (strcmp(f->name, "env") != 0 && strcmp(f->name, "n") != 0) {
            assert_null(option_table_find(f->name));
            assert_true(f->name[1] || !option_table_search_letter(option_table, f->name[0]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
