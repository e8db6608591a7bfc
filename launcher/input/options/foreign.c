/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/foreign.h"

#include "launcher/base/text/text_file.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OPEN_MPI "Open MPI"
#define MPIRUN   "mpirun"
#define HYDRA    "Hydra"
#define SRUN     "srun"
#define TORCHRUN "torchrun"
#define MLX      "mlx.launch"

#define SAME(ours)          FOREIGN_ONE, ours, NULL, NULL, false, NULL
#define MEANS(ours, value)  FOREIGN_NONE, ours, value, NULL, false, NULL
#define DEFAULT(argument)   argument, NULL, NULL, NULL, false, NULL
#define HINT(argument, ...) argument, NULL, NULL, __VA_ARGS__, false, NULL
/* Other values than these are refused with the sentence. */
#define ONE_HOST(list, ...) FOREIGN_ONE, NULL, NULL, __VA_ARGS__, false, list

#define THIS_HOST "localhost localhost:* 127.0.0.1 127.0.0.1:*"

#define TO_SCHEDULER                                                                               \
    "mlaunch reserves no hosts; give it to salloc or sbatch, or to mlaunch batch with --extra"
#define TO_PLACEMENT "--map-by and --bind-to place the ranks"
#define TO_RENDEZVOUS                                                                              \
    "mlaunch brings the ranks together itself; --port and --starting-port choose ports"
#define TO_PLAN "--dry-run prints hosts and ranks, and starts nothing"

/* clang-format off */
const struct foreign foreign_table[] = {
    /* How many ranks, and where. */
    {"n", MPIRUN, SAME("np")},
    {"ntasks", SRUN, SAME("np")},
    {"ntasks-per-node", SRUN, SAME("ppn")},
    {"nproc-per-node", TORCHRUN, SAME("ppn")},
    {"npernode", OPEN_MPI, SAME("ppn")},
    {"perhost", HYDRA, SAME("ppn")},
    {"grr", HYDRA, SAME("ppn")},
    {"pernode", OPEN_MPI, MEANS("ppn", "1")},
    {"N", "both srun's and mpirun", HINT(FOREIGN_ONE,
        "--ppn is the number of ranks a host; the hosts are those of -H, --hostfile or the "
        "allocation")},
    {"nodes", SRUN, ONE_HOST("1",
        "the hosts are those of -H, --hostfile or the allocation; -n is the number of ranks in "
        "all, --ppn that of each host")},
    {"nnodes", TORCHRUN, ONE_HOST("1 1:1",
        "the hosts are those of -H, --hostfile or the allocation; one mlaunch starts the ranks of "
        "all of them")},
    {"node-rank", TORCHRUN, ONE_HOST("0",
        "one mlaunch starts the ranks of all hosts: -H or --hostfile names them")},
    {"c", "both srun's and mpirun", HINT(FOREIGN_ONE,
        "-n is the number of ranks, --cpus-per-rank that of each rank's cores")},
    {"cpus-per-task", SRUN, SAME("cpus-per-rank")},
    {"npersocket", OPEN_MPI, HINT(FOREIGN_ONE, "--map-by ppr:N:socket puts N ranks on each")},
    {"ppr", OPEN_MPI, HINT(FOREIGN_ONE, "--map-by ppr:N:UNIT puts N ranks on each")},
    {"usize", HYDRA, HINT(FOREIGN_ONE, "-n is the number of ranks; a job has no more later")},
    {"host", OPEN_MPI, SAME("hosts")},
    {"nodelist", SRUN, SAME("hosts")},
    {"w", SRUN, SAME("hosts")},
    {"machinefile", MPIRUN, SAME("hostfile")},
    {"default-hostfile", OPEN_MPI, SAME("hostfile")},
    {"machine", HYDRA, SAME("hostfile")},
    {"f", HYDRA, SAME("hostfile")},
    {"exclude", SRUN, HINT(FOREIGN_ONE, "-H names the hosts to use, of a --hostfile too")},
    {"relative", SRUN, HINT(FOREIGN_ONE, "-H names the hosts to use, of a --hostfile too")},
    {"r", "both srun's and torchrun", HINT(FOREIGN_ONE,
        "-H names the hosts to use; --output DIR writes files")},
    {"nolocal", OPEN_MPI, HINT(FOREIGN_NONE, "-H names the hosts to use, of a --hostfile too")},
    {"bynode", OPEN_MPI, MEANS("map-by", "host")},
    {"rr", HYDRA, MEANS("map-by", "host")},
    {"byslot", OPEN_MPI, MEANS("map-by", "slot")},
    {"bycore", OPEN_MPI, MEANS("map-by", "core")},
    {"bysocket", OPEN_MPI, MEANS("map-by", "socket")},
    {"rank-by", OPEN_MPI, HINT(FOREIGN_ONE, TO_PLACEMENT)},
    {"rankfile", OPEN_MPI, HINT(FOREIGN_ONE,
        "ranks are given to the hosts in the order of -H or the hostfile, as many as their slots")},
    {"rf", OPEN_MPI, HINT(FOREIGN_ONE,
        "ranks are given to the hosts in the order of -H or the hostfile, as many as their slots")},
    {"distribution", SRUN, HINT(FOREIGN_ONE,
        "--map-by slot is what srun calls block, --map-by host is cyclic")},
    {"m", "both srun's and torchrun", HINT(FOREIGN_ONE,
        "--map-by slot or host for srun's, python3 -m MODULE for torchrun's")},
    {"overcommit", SRUN, MEANS("oversubscribe", NULL)},
    {"O", SRUN, MEANS("oversubscribe", NULL)},
    {"nooversubscribe", OPEN_MPI, MEANS("oversubscribe", "no")},
    {"bind-to-core", OPEN_MPI, MEANS("bind-to", "core")},
    {"bind-to-none", OPEN_MPI, MEANS("bind-to", "none")},
    {"bind-to-socket", OPEN_MPI, MEANS("bind-to", "socket")},
    {"cpu-bind", SRUN, SAME("bind-to")},
    {"membind", HYDRA, SAME("mem-bind")},
    {"hint", SRUN, HINT(FOREIGN_ONE, "--bind-to binds ranks: core, socket, numa")},
    {"cpus-per-proc", OPEN_MPI, SAME("cpus-per-rank")},
    {"cpu-set", OPEN_MPI, HINT(FOREIGN_ONE, "taskset and --bind-to cpus:LIST choose cores")},
    {"cpu-list", OPEN_MPI, HINT(FOREIGN_ONE, "taskset and --bind-to cpus:LIST choose cores")},
    {"use-hwthread-cpus", OPEN_MPI, HINT(FOREIGN_NONE, "--bind-to hwthread binds ranks to them")},

    /* What a rank gets. */
    {"env", HYDRA, FOREIGN_PAIR, "env", NULL, NULL, false, NULL},
    {"envlist", HYDRA, FOREIGN_LIST, "env", NULL, NULL, false, NULL},
    {"envall", HYDRA, MEANS("env", "*")},
    {"genv", HYDRA, FOREIGN_PAIR, "env", NULL, NULL, true, NULL},
    {"genvlist", HYDRA, FOREIGN_LIST, "env", NULL, NULL, true, NULL},
    {"genvall", HYDRA, FOREIGN_NONE, "env", "*", NULL, true, NULL},
    {"envnone", HYDRA, HINT(FOREIGN_NONE,
        "only -x takes variables to other hosts; local ranks inherit them: env -i mlaunch ...")},
    {"genvnone", HYDRA, HINT(FOREIGN_NONE,
        "only -x takes variables to other hosts; local ranks inherit them: env -i mlaunch ...")},
    {"export", SRUN, HINT(FOREIGN_ONE,
        "-x NAME=VALUE sets one variable, -x NAME passes it on, -x '*' all")},
    {"export-file", SRUN, HINT(FOREIGN_ONE, "--env-file reads NAME=VALUE lines")},
    {"preserve-env", SRUN, HINT(FOREIGN_NONE, "-x NAME passes a variable on, -x '*' all")},
    {"path", MPIRUN, HINT(FOREIGN_ONE, "-x PATH=... sets where the ranks look for programs")},
    {"prefix", OPEN_MPI, HINT(FOREIGN_ONE,
        "the agent is found or copied to the hosts; --agent names another")},
    {"noprefix", OPEN_MPI, DEFAULT(FOREIGN_NONE)},
    {"wdir", MPIRUN, SAME("cwd")},
    {"wd", OPEN_MPI, SAME("cwd")},
    {"chdir", SRUN, SAME("cwd")},
    {"D", SRUN, SAME("cwd")},
    {"input", SRUN, HINT(FOREIGN_ONE, "--stdin none, all or RANK, with < FILE")},
    {"i", SRUN, HINT(FOREIGN_ONE, "--stdin none, all or RANK, with < FILE")},
    {"preload-binary", OPEN_MPI, MEANS("stage", NULL)},
    {"preload-files", OPEN_MPI, HINT(FOREIGN_ONE,
        "--stage copies the program; copy other files first: rsync, or a shared directory")},
    {"bcast", SRUN, HINT(FOREIGN_MAYBE,
        "--stage copies the program to the hosts, for the time of the job")},
    {"send-libs", SRUN, MEANS("stage-libs", NULL)},
    {"s", "both mpirun's and mlx.launch", HINT(FOREIGN_ONE,
        "--starting-port is what mlx.launch means, --stage what mpirun does")},
    {"app", OPEN_MPI, HINT(FOREIGN_ONE,
        "':' separates the programs of a job: mlaunch -n 1 ./a : -n 3 ./b")},
    {"configfile", HYDRA, HINT(FOREIGN_ONE,
        "':' separates the programs of a job: mlaunch -n 1 ./a : -n 3 ./b")},
    {"multi-prog", SRUN, HINT(FOREIGN_NONE,
        "':' separates the programs of a job: mlaunch -n 1 ./a : -n 3 ./b")},
    {"gpus-per-proc", HYDRA, SAME("gpus-per-rank")},
    {"gpu-bind", SRUN, HINT(FOREIGN_ONE, "--bind-to gpu binds each rank beside its GPU")},
    {"allow-run-as-root", OPEN_MPI, DEFAULT(FOREIGN_NONE)},
    {"python", MLX, HINT(FOREIGN_ONE,
        "write the Python to use before the script: mlaunch ... python3 script.py")},
    {"module", TORCHRUN, HINT(FOREIGN_NONE, "write python3 -m MODULE")},
    {"no-python", TORCHRUN, DEFAULT(FOREIGN_NONE)},
    {"run-path", TORCHRUN, HINT(FOREIGN_NONE, "write python3 SCRIPT")},
    {"no-verify-script", MLX, DEFAULT(FOREIGN_NONE)},
    {"start-method", TORCHRUN, HINT(FOREIGN_ONE, "mlaunch starts ranks by fork and exec alone")},
    {"role", TORCHRUN, HINT(FOREIGN_ONE, "mlaunch has no roles")},

    /* The data path, and how ranks find each other. */
    {"mca", OPEN_MPI, FOREIGN_PAIR, NULL, NULL,
        "mlaunch has no such settings; --backend, --local and --rdma-device choose the data path",
        false, NULL},
    {"gmca", OPEN_MPI, FOREIGN_PAIR, NULL, NULL,
        "mlaunch has no such settings; --backend, --local and --rdma-device choose the data path",
        false, NULL},
    {"prtemca", OPEN_MPI, FOREIGN_PAIR, NULL, NULL, "mlaunch has no such settings", false, NULL},
    {"pmixmca", OPEN_MPI, FOREIGN_PAIR, NULL, NULL, "mlaunch has no such settings", false, NULL},
    {"am", OPEN_MPI, HINT(FOREIGN_ONE, "--config FILE and --profile NAME read settings")},
    {"tune", OPEN_MPI, HINT(FOREIGN_ONE, "--config FILE and --profile NAME read settings")},
    {"mpi-arg", MLX, HINT(FOREIGN_ONE, "mlaunch does not use mpirun; its options are in --help")},
    {"iface", HYDRA, HINT(FOREIGN_ONE,
        "\"ips\" in a JSON hostfile is the address that a host's ranks listen on")},
    {"connections-per-ip", MLX, HINT(FOREIGN_ONE,
        "mlaunch chooses the connections between ranks itself")},
    {"nccl-port", MLX, HINT(FOREIGN_ONE, TO_RENDEZVOUS)},
    {"master-addr", TORCHRUN, ONE_HOST(THIS_HOST, TO_RENDEZVOUS)},
    {"master-port", TORCHRUN, ONE_HOST("*", TO_RENDEZVOUS)},
    {"rdzv-backend", TORCHRUN, ONE_HOST("c10d static", TO_RENDEZVOUS)},
    {"rdzv-endpoint", TORCHRUN, ONE_HOST(THIS_HOST, TO_RENDEZVOUS)},
    {"rdzv-id", TORCHRUN, ONE_HOST("*", TO_RENDEZVOUS)},
    {"rdzv-conf", TORCHRUN, HINT(FOREIGN_ONE, TO_RENDEZVOUS)},
    {"local-addr", TORCHRUN, HINT(FOREIGN_ONE, TO_RENDEZVOUS)},
    {"standalone", TORCHRUN, DEFAULT(FOREIGN_NONE)},
    {"launcher", HYDRA, HINT(FOREIGN_ONE, "--agent-launcher ssh, srun or command")},
    {"bootstrap", HYDRA, HINT(FOREIGN_ONE, "--agent-launcher ssh, srun or command")},
    {"launcher-exec", HYDRA, HINT(FOREIGN_ONE, "--agent-command starts the agents")},
    {"bootstrap-exec", HYDRA, HINT(FOREIGN_ONE, "--agent-command starts the agents")},
    {"rmk", HYDRA, HINT(FOREIGN_ONE,
        "an allocation of Slurm, PBS, LSF, SGE, OAR or Cobalt is found without it")},
    {"jobid", SRUN, HINT(FOREIGN_ONE, "run mlaunch inside the allocation, or with SLURM_JOB_ID")},

    /* Output. */
    {"l", SRUN, MEANS("output", "label")},
    {"label", SRUN, MEANS("output", "label")},
    {"tag-output", OPEN_MPI, MEANS("output", "label")},
    {"prepend-rank", HYDRA, MEANS("output", "label")},
    {"timestamp-output", OPEN_MPI, MEANS("timestamp", NULL)},
    {"prepend-pattern", HYDRA, HINT(FOREIGN_ONE, "--output label puts [rank] before each line")},
    {"output-filename", OPEN_MPI, HINT(FOREIGN_ONE,
        "--output DIR writes DIR/rank.N.out and .err, --output 'FILE-%r' one file a rank")},
    {"outfile-pattern", HYDRA, HINT(FOREIGN_ONE, "--output 'FILE-%r-%h' writes one file a rank")},
    {"errfile-pattern", HYDRA, HINT(FOREIGN_ONE,
        "--output DIR writes DIR/rank.N.err, --output 'FILE-%r-%h' one file a rank")},
    {"log-dir", TORCHRUN, HINT(FOREIGN_ONE, "--output DIR writes DIR/rank.N.out and .err")},
    {"redirects", TORCHRUN, HINT(FOREIGN_ONE, "--output DIR writes DIR/rank.N.out and .err")},
    {"tee", TORCHRUN, HINT(FOREIGN_ONE, "--output DIR writes DIR/rank.N.out and .err")},
    {"o", SRUN, HINT(FOREIGN_ONE,
        "--output DIR writes DIR/rank.N.out and .err, --output 'FILE-%t' one file a rank")},
    {"error", SRUN, HINT(FOREIGN_ONE, "--output DIR writes DIR/rank.N.err for each rank")},
    {"e", SRUN, HINT(FOREIGN_ONE, "--output DIR writes DIR/rank.N.err for each rank")},
    {"open-mode", SRUN, HINT(FOREIGN_ONE, "files of --output are written anew by each job")},
    {"merge-stderr-to-stdout", OPEN_MPI, HINT(FOREIGN_NONE, "write 2>&1")},
    {"unbuffered", SRUN, DEFAULT(FOREIGN_NONE)},
    {"u", SRUN, DEFAULT(FOREIGN_NONE)},
    {"display-map", OPEN_MPI, HINT(FOREIGN_NONE, TO_PLAN)},
    {"display-devel-map", OPEN_MPI, HINT(FOREIGN_NONE, TO_PLAN)},
    {"display-allocation", OPEN_MPI, HINT(FOREIGN_NONE, TO_PLAN)},
    {"display", OPEN_MPI, HINT(FOREIGN_ONE, TO_PLAN)},
    {"print-rank-map", HYDRA, HINT(FOREIGN_NONE, TO_PLAN)},
    {"print-all-exitcodes", HYDRA, HINT(FOREIGN_NONE, "-v reports how each rank ended")},
    {"print-python", MLX, HINT(FOREIGN_NONE, "mlaunch chooses no Python: command -v python3")},
    {"do-not-launch", OPEN_MPI, MEANS("dry-run", NULL)},
    {"test-only", SRUN, MEANS("dry-run", NULL)},
    {"Q", SRUN, MEANS("quiet", NULL)},
    {"V", MPIRUN, MEANS("version", NULL)},
    {"info", HYDRA, MEANS("version", NULL)},

    /* The end. */
    {"K", SRUN, DEFAULT(FOREIGN_MAYBE)},
    {"kill-on-bad-exit", SRUN, DEFAULT(FOREIGN_MAYBE)},
    {"enable-auto-cleanup", HYDRA, DEFAULT(FOREIGN_NONE)},
    {"disable-auto-cleanup", HYDRA, MEANS("on-failure", "continue")},
    {"disable-recovery", OPEN_MPI, DEFAULT(FOREIGN_NONE)},
    {"enable-recovery", OPEN_MPI, MEANS("on-failure", "continue")},
    {"continuous", OPEN_MPI, MEANS("on-failure", "continue")},
    {"no-kill", SRUN, HINT(FOREIGN_MAYBE, "--on-failure continue lets the other ranks run")},
    {"k", SRUN, HINT(FOREIGN_NONE, "--on-failure continue lets the other ranks run")},
    {"max-restarts", TORCHRUN, SAME("restarts")},
    {"job-name", SRUN, SAME("name")},
    {"J", SRUN, SAME("name")},
    {"monitor-interval", TORCHRUN, DEFAULT(FOREIGN_ONE)},
    {"time", SRUN, HINT(FOREIGN_ONE, "--timeout 90, 90s, 15m or 2h ends the job after that time")},
    {"t", "both srun's and torchrun", HINT(FOREIGN_ONE,
        "srun's time limit is --timeout 90, 90s, 15m or 2h here, and torchrun's --tee is "
        "--output DIR")},
    {"wait", SRUN, HINT(FOREIGN_ONE, "--grace is the time that ranks have once one has failed")},
    {"W", SRUN, HINT(FOREIGN_ONE, "--grace is the time that ranks have once one has failed")},
    {"signal", SRUN, HINT(FOREIGN_ONE, "--timeout ends the job, --grace before SIGKILL")},
    {"report-state-on-timeout", OPEN_MPI, HINT(FOREIGN_NONE,
        "mlaunch ps JOB --stacks shows where ranks wait")},
    {"get-stack-traces", OPEN_MPI, HINT(FOREIGN_NONE,
        "mlaunch ps JOB --stacks shows where ranks wait")},
    {"leave-session-attached", OPEN_MPI, DEFAULT(FOREIGN_NONE)},
    {"debug-daemons", OPEN_MPI, HINT(FOREIGN_NONE, "-vv shows what each part does")},
    {"debug-devel", OPEN_MPI, HINT(FOREIGN_NONE, "-vv shows what each part does")},
    {"d", "both srun's and mpirun", HINT(FOREIGN_NONE, "-vv shows what each part does")},

    /* What a scheduler reserves. */
    {"account", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"A", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"partition", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"p", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"qos", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"reservation", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"constraint", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"C", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"dependency", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"begin", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"immediate", SRUN, HINT(FOREIGN_MAYBE, TO_SCHEDULER)},
    {"licenses", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"mem", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"mem-per-cpu", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"mem-per-gpu", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"gres", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"gpus", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"G", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"gpus-per-node", SRUN, HINT(FOREIGN_ONE, TO_SCHEDULER)},
    {"gpus-per-task", SRUN, SAME("gpus-per-rank")},
    {"exclusive", SRUN, HINT(FOREIGN_MAYBE, TO_SCHEDULER)},
    {"exact", SRUN, HINT(FOREIGN_NONE, TO_SCHEDULER)},
    {"overlap", SRUN, DEFAULT(FOREIGN_NONE)},
    {NULL, NULL, DEFAULT(FOREIGN_NONE)},
};
/* clang-format on */

/* True if the name is `typed`, of which '_' is the same as '-'. */
static bool name_is(const char *name, const char *typed, size_t length)
{
    size_t i = 0;

    while (i < length && name[i] && (name[i] == typed[i] || (name[i] == '-' && typed[i] == '_')))
        i++;
    return i == length && !name[i];
}

const struct foreign *foreign_find(const char *name, size_t length)
{
    for (const struct foreign *f = foreign_table; f->name; f++)
        if (name_is(f->name, name, length))
            return f;
    return NULL;
}

bool foreign_takes(const struct foreign *f, const char *value)
{
    for (const char *at = f->values; at && *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        char pattern[32];

        snprintf(pattern, sizeof(pattern), "%.*s", (int)length, at);
        if (fnmatch(pattern, value, 0) == 0)
            return true;
        at += length;
    }
    return false;
}

int foreign_refuse(const struct foreign *f, const char *word, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return fault_set(why, ML_ERR_ARGUMENT, "%s is %s's: %s", text_show(shown, word), f->of,
                     f->hint);
}

int foreign_refuse_output(const char *value, struct fault *why)
{
    static const char label[] = "--output label puts [rank] before each line";
    static const char files[] = "--output DIR writes DIR/rank.N.out, --output 'FILE-%r' one file "
                                "a rank";
    static const struct {
        const char *word, *of, *hint;
    } words[] = {{"tag", MPIRUN, label},
                 {"tag-detailed", MPIRUN, label},
                 {"tag-fullname", MPIRUN, label},
                 {"rank", MPIRUN, label},
                 {"timestamp", MPIRUN, "--timestamp puts the time before each line"},
                 {"xml", MPIRUN, "--events FILE writes what happens as JSON"},
                 {"merge-stderr-to-stdout", MPIRUN, "write 2>&1"},
                 {"merge", MPIRUN, "write 2>&1"},
                 {"dir=", MPIRUN, files},
                 {"directory=", MPIRUN, files},
                 {"file=", MPIRUN, files},
                 {"filename=", MPIRUN, files},
                 {"none", SRUN, "write > /dev/null"},
                 {"all", SRUN, "all ranks write to standard output without --output, too"},
                 {NULL, NULL, NULL}};
    size_t length = strcspn(value, ",=");
    char shown[TEXT_SHOWN];

    length += value[length] == '=';
    for (int i = 0; words[i].word; i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, value, length) == 0)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "'%s' is %s's: %s; for a directory of that name write ./%s",
                             text_show(shown, value), words[i].of, words[i].hint, value);
    return 0;
}

const char *foreign_backend_hint(const char *value)
{
    static const struct {
        const char *word, *hint;
    } words[] = {{"jaccl-ring",
                  "with none, MLX finds the hostfile's wiring and JACCL_RING; mlaunch's own "
                  "calls need a link between every two hosts"},
                 {"nccl", "with tcp, MLX finds NCCL_HOST_IP and NCCL_PORT"},
                 {"mpi", "with none, the program's own library joins the ranks"},
                 {"gloo", "with tcp, PyTorch's init_process_group(\"gloo\") finds the other ranks"},
                 {NULL, NULL}};

    for (int i = 0; words[i].word; i++)
        if (strcmp(words[i].word, value) == 0)
            return words[i].hint;
    return NULL;
}
