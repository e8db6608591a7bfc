/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/option_table.h"

#include "common/net/job_file.h"
#include "common/text/number.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/nearest.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/options/foreign.h"
#include "launcher/input/options/option_binding.h"
#include "launcher/input/options/option_value.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    RANKS_LIMIT = 1 << 20,
    HOSTS_MOST = 65536,
    FANOUT_MOST = 1024, /* UPLINK_FANOUT_MOST */
    SECONDS_LIMIT = INT_MAX / 1000,
    STALL_LIMIT_S = 1 << 20,
    VERBOSE_MOST = 2, /* -vv; further ones change nothing */
};

/* option_value_choice() writes enums of struct options through an int. */
static_assert(sizeof(enum backend_choice) == sizeof(int), "an enum has the size of an int");

static int set_backend(void *to, const struct option *spec, const char *value, struct fault *why)
{
    const char *hint = foreign_backend_hint(value);
    int rc = option_value_choice(to, spec, value, why);
    char was[sizeof(why->text)];

    if (!rc || !hint)
        return rc;
    snprintf(was, sizeof(was), "%s", why->text);
    return fault_set(why, rc, "%s; %s", was, hint);
}

/* Also takes srun's words for what a job here does anyway. */
static int set_mpi(void *to, const struct option *spec, const char *value, struct fault *why)
{
    if (strcmp(value, "pmi2") == 0)
        value = "auto";
    else if (strncmp(value, "pmix_v", 6) == 0)
        value = "pmix";
    return option_value_choice(to, spec, value, why);
}

static int *layer_of(struct options *o, const struct option *spec)
{
    return (int *)((char *)o + spec->layer);
}

static int set_hostfile(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;

    *layer_of(o, spec) = o->layer;
    return option_value_text(to, spec, value, why);
}

/* Adds to the hosts of the same layer, and replaces those of a lower one. */
static int set_hosts(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;
    const char *before = *(char **)option_value_field(o, spec);
    bool adds = before && *layer_of(o, spec) == o->layer && *value;
    char *both = NULL;
    int rc = 0;

    if (adds)
        rc = string_format(&both, why, "%s%s%s", before,
                           before[strlen(before) - 1] == ',' ? "" : ",", value);
    if (!rc)
        rc = set_hostfile(o, spec, adds ? both : value, why);
    free(both);
    return rc;
}

static int stdin_check(const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t rank;

    return strcmp(value, "none") != 0 && strcmp(value, "all") != 0 &&
                   !number_parse(value, 0, RANKS_LIMIT, &rank)
               ? fault_set(why, ML_ERR_ARGUMENT, "'%s' is not none, all or a rank",
                           text_show(shown, value))
               : 0;
}

/* "--pty", "--pty=RANK"; and the words of a flag, for configuration files. */
static int set_pty(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;
    char shown[TEXT_SHOWN];
    int64_t rank = 0;

    (void)spec;
    if (value && number_parse(value, 0, RANKS_LIMIT, &rank))
        o->pty = true;
    else if (option_value_parse_flag(&o->pty, value, why))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a rank", text_show(shown, value));
    o->pty_rank = (int)rank;
    return 0;
}

/* The placeholders that output_dir.c fills in. */
static int pattern_check(const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (const char *c = value; (c = strchr(c, '%')); c += 2)
        if (!c[1] || !strchr("rthj%", c[1]))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "'%s': %.*s is not %%r or %%t (rank), %%h (host), %%j (job) or "
                             "%%%%",
                             text_show(shown, value), 1 + (c[1] > ' ' && c[1] <= '~'), c);
    return 0;
}

/* Anything but the two words is a directory or a pattern. A word that looks like one of them
 * mistyped is refused, as otherwise a directory of that name would be made. */
static int output_check(const char *value, struct fault *why)
{
    static const char *const words[] = {"label", "raw", "fold", NULL};
    const char *near = nearest_word(value, words);

    if (near && strcmp(near, value) != 0 && !strchr(value, '/'))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s': did you mean %s? For a directory of that name write ./%s", value,
                         near, value);
    return foreign_refuse_output(value, why) || pattern_check(value, why) ? ML_ERR_ARGUMENT : 0;
}

/* Seconds with up to three decimals, and a unit as timeout(1) has them: 5, 0.5, 90s, 15m, 2h. */
static bool duration_parse(const char *value, int64_t *ms)
{
    static const char units[] = "smhd";
    static const int seconds[] = {1, 60, 3600, 86400};
    char text[24], *point, decimals[4] = "000";
    size_t length = strlen(value);
    const char *unit = length > 1 ? strchr(units, value[length - 1]) : NULL;
    int64_t whole, rest = 0;

    if (unit)
        length--;
    if (length >= sizeof(text))
        return false;
    memcpy(text, value, length);
    text[length] = '\0';
    point = strchr(text, '.');
    if (point) {
        size_t n = strlen(point + 1);

        *point = '\0';
        if (n < 1 || n > 3)
            return false;
        memcpy(decimals, point + 1, n);
    }
    if (!number_parse(text, 0, SECONDS_LIMIT, &whole) || !number_parse(decimals, 0, 999, &rest))
        return false;
    *ms = (whole * 1000 + rest) * (unit ? seconds[unit - units] : 1);
    return true;
}

static int set_seconds(void *to, const struct option *spec, const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t ms;

    if (!duration_parse(value, &ms) || ms % 1000 || ms < spec->min * 1000 || ms > spec->max * 1000)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a time from %" PRId64 " to %" PRId64
                         " seconds, such as 90, 90s, 15m or 2h",
                         text_show(shown, value), spec->min, spec->max);
    *(int *)option_value_field(to, spec) = (int)ms;
    return 0;
}

static int set_grace(void *to, const struct option *spec, const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t ms;

    if (!duration_parse(value, &ms) || ms >= (int64_t)SECONDS_LIMIT * 1000)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a number of seconds, such as 5, 0.5 or 2m",
                         text_show(shown, value));
    *(int *)option_value_field(to, spec) = (int)ms;
    return 0;
}

static int set_signal(void *to, const struct option *spec, const char *value, struct fault *why)
{
    bool has_prefix = strncmp(value, "SIG", 3) == 0;

    return option_value_choice(to, spec, has_prefix ? value + 3 : value, why);
}

static int set_restarts(void *to, const struct option *spec, const char *value, struct fault *why)
{
    bool has_no_end = strcmp(value, "inf") == 0 || strcmp(value, "unlimited") == 0;

    if (!has_no_end)
        return option_value_number(to, spec, value, why);
    *(int *)option_value_field(to, spec) = INT_MAX;
    return 0;
}

static int set_verbose(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;
    int rc = 0;

    if (value)
        rc = option_value_number(to, spec, value, why);
    else
        o->verbose = o->verbose < 0 ? 1 : o->verbose + 1;
    if (o->verbose > VERBOSE_MOST)
        o->verbose = VERBOSE_MOST;
    return rc;
}

static int set_quiet(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;
    bool quiet = false;
    int rc = option_value_parse_flag(&quiet, value, why);

    (void)spec;
    if (!rc)
        o->verbose = quiet ? -1 : o->verbose < 0 ? 0 : o->verbose;
    return rc;
}

static bool is_host_directory(const char *value)
{
    return *value == '/' && strlen(value) <= TMPDIR_MOST && !strstr(value, "/../");
}

static int tmpdir_check(const char *value, struct fault *why)
{
    if (is_host_directory(value))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "--tmpdir must be an absolute path of at most %d bytes without ..",
                     TMPDIR_MOST);
}

static int stage_cache_check(const char *value, struct fault *why)
{
    if (is_host_directory(value))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "--stage-cache must be an absolute path of at most %d bytes without ..",
                     TMPDIR_MOST);
}

/* Those of MLAUNCH_OPT_… are there for mlaunch join, and say nothing of other jobs. */
static int set_joining(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;

    o->is_joining_typed |= o->layer == LAYER_COMMAND_LINE;
    return option_value_text(to, spec, value, why);
}

static int mount_check(const char *value, struct fault *why)
{
    const char *colon = strchr(value, ':');

    if (value[0] == '/' && colon && colon[1] == '/' && !strchr(colon + 1, ':') &&
        strlen(value) < PATH_MAX)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "--mount must be SOURCE:DIR, two absolute paths without colons");
}

static int name_check(const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return job_file_is_name(value)
               ? 0
               : fault_set(why, ML_ERR_ARGUMENT,
                           "'%s' is not a job's name: at most %d letters, digits and . _ -, a "
                           "letter first",
                           text_show(shown, value), JOB_NAME - 1);
}

static const struct named_value backends[] = {
    {"auto", BACKEND_AUTO},  {"tcp", BACKEND_TCP}, {"ring", BACKEND_TCP},  {"rdma", BACKEND_RDMA},
    {"jaccl", BACKEND_RDMA}, {"shm", BACKEND_SHM}, {"none", BACKEND_NONE}, {NULL, 0}};
static const struct named_value locals[] = {{"shm", LOCAL_SHM}, {"net", LOCAL_NET}, {NULL, 0}};
static const struct named_value queue_pairs[] = {
    {"auto", RDMA_PAIRS_OFFERED}, {"rc", RDMA_PAIRS_RC}, {"uc", RDMA_PAIRS_UC}, {NULL, 0}};
static const struct named_value checks[] = {
    {"none", FITNESS_NONE}, {"quick", FITNESS_QUICK}, {NULL, 0}};
static const struct named_value failures[] = {
    {"stop", FAILURE_STOP}, {"continue", FAILURE_CONTINUE}, {NULL, 0}};
static const struct named_value launchers[] = {
    {"ssh", LAUNCHER_SSH}, {"srun", LAUNCHER_SRUN}, {"command", LAUNCHER_COMMAND}, {NULL, 0}};

#define OF(member)     .field = offsetof(struct options, member)
#define OF_APP(member) .scope = OPTION_APP, .field = offsetof(struct app_options, member)

/* What a row's value is, and where it is stored. */
#define FLAG(member) .set = option_value_flag, OF(member)
#define TEXT(member) .set = option_value_text, .is_text = true, OF(member)
#define LAYERED(setter, member)                                                                    \
    .set = setter, .is_text = true, OF(member), .layer = offsetof(struct options, member##_layer)
#define CHOICE(words, member) .set = option_value_choice, .choices = words, OF(member)
#define NUMBER(least, most, member)                                                                \
    .set = option_value_number, .min = least, .max = most, OF(member)
#define SECONDS(least, most, member) .set = set_seconds, .min = least, .max = most, OF(member)

/* clang-format off */
const struct option option_table[] = {
    {.help = "Most used"},
    {"np", NULL, 'n', "N",
     "ranks in all (default: --ppn times the hosts, or one a slot of the hosts, or 1 here)",
     .set = option_value_number, .min = 1, .max = RANKS_LIMIT, OF_APP(np)},
    {"hosts", NULL, 'H', "LIST", "hosts, with slots: a,b:4,n[1-8]; repeats",
     LAYERED(set_hosts, hosts)},
    {"hostfile", NULL, 0, "FILE", "hosts as JSON or text: hostfile(5)",
     LAYERED(set_hostfile, hostfile)},
    {"env", NULL, 'x', "NAME[=VALUE]",
     "set a variable, or pass on the caller's; NAME may be a glob; repeats",
     .set = option_value_list, .check = environment_check_argument, OF_APP(env)},
    {"backend", NULL, 0, "auto|rdma|tcp|shm|none",
     "the path between ranks; none: plain processes, nothing is preloaded; jaccl is rdma, ring "
     "is tcp", .set = set_backend, .choices = backends, OF(backend)},
    {"output", NULL, 0, "label|raw|fold|DIR|PATTERN",
     "[rank] before each line (default for several ranks), raw, fold: equal lines once, as [0-6], "
     "or files here: DIR/rank.N.out and .err, or one a rank, as 'log-%r': %r rank, %h host, %j job",
     TEXT(output), .check = output_check},
    {"timeout", NULL, 0, "SECS", "end the job after SECS (or 90s, 15m, 2h), with status 124",
     SECONDS(0, SECONDS_LIMIT, timeout_ms)},
    {"restarts", NULL, 0, "N", "start the whole job again after a failure, at most N times or "
     "without end (inf)",
     .set = set_restarts, .min = 0, .max = INT_MAX, OF(job.restarts)},
    {"dry-run", NULL, 0, NULL, "print the plan, start nothing", FLAG(dry_run)},
    {"verbose", NULL, 'v', NULL, "print more; -vv (or more of them): what each part does",
     .set = set_verbose, .min = 0, .max = 9, OF(verbose)},

    {.help = "How many ranks, and where"},
    {"ppn", "repeat-hosts", 0, "N", "ranks a host", NUMBER(1, RANKS_LIMIT, ppn)},
    {"oversubscribe", NULL, 0, NULL, "more ranks than the stated slots", FLAG(oversubscribe)},
    {"map-by", NULL, 0, "slot|host|core|l3cache|socket|numa|gpu",
     "fill each host before the next (slot), deal ranks out over the hosts (host), or each host's "
     "over its cores, caches, sockets, NUMA nodes or GPUs", .set = option_binding_map},
    {"bind-to", NULL, 0, "none|hwthread|core|l3cache|socket|numa|gpu",
     "bind each rank to its share of a host's cores; core:4: to four; cpus:0-3,4-7: to these",
     .set = option_binding_to, .is_text = true,
     OF(job.binding.cpus)},
    {"cpus-per-rank", NULL, 0, "N", "bind each rank to N cores of its own",
     NUMBER(1, 1024, cpus_per_rank)},
    {"gpus-per-rank", NULL, 0, "N", "each rank sees N GPUs of its own; --bind-to gpu: beside them",
     NUMBER(1, GPUS_MOST, job.binding.gpus)},
    {"mem-bind", NULL, 0, "none|local|prefer|interleave",
     "each rank's memory: on the nodes beside its cores alone (local), there if there is room "
     "(prefer), spread over them (interleave); nodes:0,1: on these",
     .set = option_binding_memory, .is_text = true, OF(job.binding.nodes)},
    {"threads", NULL, 0, "auto|N",
     "OMP_NUM_THREADS and the like for each rank; auto: as many as its share of the cores",
     .set = option_binding_threads},
    {"report-bindings", NULL, 0, NULL, "say of each rank which cores and memory it has got",
     FLAG(job.binding.report)},

    {.help = "What a rank gets"},
    {"env-file", NULL, 0, "FILE", "NAME=VALUE lines; -x wins over them",
     .set = option_value_list, OF_APP(env_files)},
    {"cwd", NULL, 0, "DIR", "working directory (default: this one where it exists, else home)",
     .set = option_value_text, .is_text = true, OF_APP(cwd)},
    {"words", NULL, 0, NULL,
     "fill {rank} {host_rank} {local_rank} {size} {hosts} {host} {head} {port} in the arguments",
     FLAG(words)},
    {"stage", NULL, 0, NULL,
     "copy the program to the other hosts, for the time of the job (no shared home is needed)",
     FLAG(stage)},
    {"stage-libs", NULL, 0, NULL,
     "--stage, and the shared libraries that the program needs and a host lacks", FLAG(stage_libs)},
    {"stage-env", NULL, 0, "DIR",
     "copy a Python environment, or any directory, to the hosts' own disks, for the time of the "
     "job", TEXT(stage_env)},
    {"stage-cache", NULL, 0, "DIR",
     "keep the copies of --stage-env in this directory of each host, for the next job",
     TEXT(stage_cache), .check = stage_cache_check},
    {"stdin", NULL, 0, "none|all|RANK",
     "the ranks that read stdin (default: rank 0; in the background none)",
     TEXT(stdin_to), .check = stdin_check},
    {"pty", NULL, 0, NULL,
     "a terminal for rank 0, or with --pty=RANK for another: for shells, editors, debuggers",
     .set = set_pty},
    {"no-compat", NULL, 0, NULL, "none of the variables of other launchers (RANK, WORLD_SIZE, ...)",
     FLAG(no_compat)},
    {"mpi", NULL, 0, "auto|pmi1|pmix|none",
     "how MPI programs start; auto: PMIx if they need Open MPI, else PMI-1",
     .set = set_mpi, .choices = job_words_mpi, OF(job.mpi)},

    {.help = "Output"},
    {"buffer", NULL, 0, "line|full|none",
     "when the C library and Python write a rank's output: each line (default), full buffers, "
     "or at once", CHOICE(job_words_buffer, job.buffer)},
    {"show", NULL, 0, "RANKS", "print what these ranks write alone (0,3-5); files get all",
     TEXT(show)},
    {"timestamp", NULL, 0, NULL, "the time before each line", FLAG(timestamp)},
    {"summary", NULL, 0, NULL,
     "a table at the end: the time, processor time and memory of each rank and host",
     FLAG(summary)},
    {"events", NULL, 0, "FILE", "write what happens, one JSON object a line", TEXT(events)},
    {"record", NULL, 0, "FILE", "write all calls of all ranks, one JSON object a line",
     TEXT(record)},
    {"trace", NULL, 0, "FILE", "write all calls of all ranks as a trace for ui.perfetto.dev",
     TEXT(trace)},
    {"compare-hashes", NULL, 0, "FILE",
     "write hashes of all calls' data, or compare them with those of an earlier run",
     TEXT(compare_hashes)},
    {"quiet", NULL, 'q', NULL, "print errors only", .set = set_quiet, OF(verbose)},

    {.help = "Finding faults"},
    {"wrap", NULL, 0, "RANKS:CMD",
     "run these ranks (0,3-5 or all) under CMD: --wrap '3: strace -o trace.{rank}'; repeats",
     .set = option_value_list, OF(wraps)},
    {"gdb", NULL, 0, "RANKS",
     "a debugger for each of these ranks: in windows of tmux on a terminal, else gdbserver",
     TEXT(gdb)},
    {"chaos", NULL, 0, "ACTIONS",
     "faults on purpose: 'kill 3 after 10s; stop 2 for 5s; cut HOST after 20s'", TEXT(chaos)},

    {.help = "The end"},
    {"stall", NULL, 0, "SECS",
     "say where all ranks are once a call, or all output, stalls for SECS",
     SECONDS(1, STALL_LIMIT_S, job.stall_ms)},
    {"grace", NULL, 0, "SECS", "time between SIGTERM and SIGKILL (5)",
     .set = set_grace, OF(job.grace_ms)},
    {"signal-children", NULL, 0, NULL,
     "pass SIGUSR1 and SIGUSR2 to all processes of a rank, not to one alone",
     FLAG(job.signal_children)},
    {"stop-signal", NULL, 0, "USR1|USR2|TERM|INT|HUP|none",
     "the signal to mlaunch that only asks the ranks to stop: ml_should_stop()",
     .set = set_signal, .choices = job_words_stop, OF(job.stop_signal)},
    {"on-failure", NULL, 0, "stop|continue",
     "when a rank fails: end the others (default), or let them run", CHOICE(failures, on_failure)},
    {"elastic", NULL, 0, "MIN", "when a rank dies, the others may go on while MIN live (ml_repair)",
     NUMBER(1, RANKS_LIMIT, job.elastic)},
    {"spare-hosts", NULL, 0, "LIST",
     "hosts that take the places of lost or unfit ones (--restarts, --check); repeats",
     LAYERED(set_hosts, spare_hosts)},
    {"check", NULL, 0, "quick|none",
     "look at the hosts before each start, and let spare ones replace unfit ones",
     CHOICE(checks, check)},
    {"evict-slow", NULL, 0, NULL,
     "in a restart, replace the host that was waited for most by a spare one", FLAG(evict_slow)},

    {.help = "The data path"},
    {"local", NULL, 0, "shm|net",
     "the path between ranks of one host: shared memory, or the network's", CHOICE(locals, local)},
    {"secure", NULL, 0, NULL, "encrypt what ranks on different hosts send to each other over TCP",
     FLAG(job.secure)},
    {"deterministic", NULL, 0, NULL,
     "reductions rank by rank: the same bits over any backend and placement", FLAG(deterministic)},
    {"tuning", NULL, 0, "FILE",
     "the algorithms of collective calls that `mlaunch bench --tune --save FILE` has found",
     TEXT(tuning)},
    {"eager", NULL, 0, NULL, "connect all ranks to all, and before main()", FLAG(job.eager)},
    {"keep", NULL, 0, "N",
     "what ranks keep (ml_keep) is on N hosts, 1 or 2: with 2 also on the next one (default 1)",
     NUMBER(1, 2, job.keep)},
    {"replace-wait", NULL, 0, "SECS",
     "how long ml_repair waits for ranks that take dead ones' places (10)",
     SECONDS(0, SECONDS_LIMIT, job.replace_wait_ms)},
    {"init-timeout", NULL, 0, "SECS", "how long ranks wait for each other (60)",
     SECONDS(1, SECONDS_LIMIT, job.init_timeout_ms)},
    {"port", NULL, 0, "N", "the coordinator's port", NUMBER(0, 65535, job.port)},
    {"starting-port", NULL, 0, "N",
     "the coordinator on N (unless --port), rank r's listener on N+1+r",
     NUMBER(0, 65535, job.starting_port)},

    {.help = "RDMA"},
    {"rdma-device", NULL, 0, "NAME",
     "backend rdma: this device on every host, instead of the hostfile's wiring",
     TEXT(rdma_device)},
    {"rdma-port", NULL, 0, "N",
     "port of the RDMA devices (default: the one that reaches the peer best)",
     NUMBER(1, 255, job.rdma.port)},
    {"gid-index", NULL, 0, "N",
     "index in the RDMA ports' GID tables (default: what fits each pair best)",
     NUMBER(0, 255, job.rdma.gid_index)},
    {"mtu", NULL, 0, "N", "RDMA path MTU in bytes, at most (default: the smaller of both ports')",
     NUMBER(256, 4096, job.rdma.mtu)},
    {"qp", NULL, 0, "auto|rc|uc",
     "RDMA queue pairs: reliable, or unreliable connections; auto: rc where it is offered",
     CHOICE(queue_pairs, job.rdma.qp)},

    {.help = "Reaching the hosts"},
    {"ssh-config", NULL, 0, "FILE", "instead of ~/.ssh/config, as ssh -F", TEXT(ssh_config)},
    {"agent", NULL, 0, "PATH", "mlaunch-agent on the hosts (default: found, or copied there)",
     TEXT(agent)},
    {"agent-launcher", NULL, 0, "ssh|srun|command",
     "what starts the agents (default: srun inside a Slurm job, else ssh)",
     CHOICE(launchers, agent_launcher)},
    {"agent-command", NULL, 0, "CMD", "start the agents with CMD, such as 'docker exec -i {host}'",
     TEXT(agent_command)},
    {"await", NULL, 0, "N", "run on N hosts, each of which mlaunch join lets call this machine",
     .scope = OPTION_COMMAND, NUMBER(1, HOSTS_MOST, await)},
    {"listen", NULL, 0, "[ADDR:]PORT", "with --await: where hosts call (default: any free port)",
     .scope = OPTION_COMMAND, .set = set_joining, .is_text = true, OF(listen)},
    {"key-file", NULL, 0, "FILE", "with --await: the key of the hosts that may join",
     .scope = OPTION_COMMAND, .set = set_joining, .is_text = true, OF(key_file)},
    {"fanout", NULL, 0, "N",
     "hosts that join, or that srun starts, feed each other: N call mlaunch, N each of those",
     .scope = OPTION_COMMAND, NUMBER(2, FANOUT_MOST, fanout)},
    {"prolog", NULL, 0, "CMD",
     "run by sh once on each host before its ranks; none start if it fails", TEXT(job.prolog)},
    {"epilog", NULL, 0, "CMD", "run by sh once on each host when its ranks have ended",
     TEXT(job.epilog)},
    {"mount", NULL, 0, "SOURCE:DIR",
     "let the ranks alone see SOURCE of their host in place of its DIR", TEXT(job.mount),
     .check = mount_check},
    {"container", NULL, 0, "CMD",
     "run each rank in a container: 'podman run IMAGE', 'bwrap --ro-bind DIR /', ...",
     TEXT(job.container)},
    {"tmpdir", NULL, 0, "DIR",
     "for the job's files on each host (default: $TMPDIR there, else /tmp)",
     TEXT(job.tmpdir), .check = tmpdir_check},

    {.help = "In the background"},
    {"detach", NULL, 0, NULL,
     "go to the background once all ranks have started, and print the job's id; mlaunch logs "
     "prints what it writes", .scope = OPTION_COMMAND, FLAG(detach)},
    {"json", NULL, 0, NULL, "with --detach: print the job's id, name, log and pid as JSON",
     .scope = OPTION_COMMAND, FLAG(json)},
    {"name", NULL, 0, "NAME", "the job's name, for ps, kill and logs; one job at a time has it",
     .scope = OPTION_COMMAND, TEXT(job.name), .check = name_check},

    {.help = "This command"},
    {"config", NULL, 0, "FILE",
     "a configuration file, after /etc/mlaunch.ini and ~/.config/mlaunch/mlaunch.ini",
     .scope = OPTION_COMMAND, TEXT(config)},
    {"profile", NULL, 0, "NAME", "use section [profile NAME] of the configuration",
     .scope = OPTION_COMMAND, TEXT(profile)},
    {"version", NULL, 0, NULL, "print version, build id and optional parts",
     .scope = OPTION_COMMAND},
    {"help", NULL, 'h', NULL, "print this", .scope = OPTION_COMMAND},
    {0},
};

const struct option option_table_one_host = {.name = "one-host", FLAG(one_host)};

static const struct option connect_timeout =
    {"connect-timeout", NULL, 0, "SECS", NULL, NUMBER(1, SECONDS_LIMIT, ssh_connect_timeout_s)};

/* The keys of the sections [ssh] and [rdma] of configuration files: short names, and those of the
 * options themselves. */
static const struct section_key {
    const char *section, *key, *option; /* option NULL: connect_timeout */
} section_keys[] = {
    {"ssh", "connect-timeout", NULL}, {"ssh", "config", "ssh-config"},
    {"rdma", "device", "rdma-device"}, {"rdma", "port", "rdma-port"},
    {"rdma", "gid-index", "gid-index"}, {"rdma", "mtu", "mtu"}, {"rdma", "qp", "qp"},
    {"rdma", "rdma-device", "rdma-device"}, {"rdma", "rdma-port", "rdma-port"}, {NULL, NULL, NULL},
};

/* clang-format on */

const struct option *option_table_search(const struct option *table, const char *name)
{
    for (const struct option *s = table; s->help; s++)
        if ((s->name && strcmp(s->name, name) == 0) || (s->alias && strcmp(s->alias, name) == 0))
            return s;
    return NULL;
}

const struct option *option_table_search_letter(const struct option *table, char letter)
{
    for (const struct option *s = table; s->help; s++)
        if (letter && s->letter == letter)
            return s;
    return NULL;
}

const struct option *option_table_find(const char *name)
{
    return option_table_search(option_table, name);
}

int option_table_find_in(const struct option **out, const char *section, const char *key,
                         struct fault *why)
{
    char shown[TEXT_SHOWN];

    for (const struct section_key *k = section_keys; k->section; k++) {
        if (strcmp(k->section, section) == 0 && strcmp(k->key, key) == 0) {
            *out = k->option ? option_table_find(k->option) : &connect_timeout;
            return 0;
        }
    }
    return fault_set(why, ML_ERR_ARGUMENT, "unknown key %s in [%s]; there are %s",
                     text_show(shown, key), section,
                     strcmp(section, "ssh") == 0 ? "connect-timeout and config"
                                                 : "device, port, gid-index, mtu and qp");
}

int option_table_unknown(const char *name, struct fault *why)
{
    const struct foreign *f = foreign_find(name, strlen(name));
    struct nearest n = {.typed = name};
    char shown[TEXT_SHOWN];
    const char *near;

    text_show(shown, name);
    if (f && f->hint)
        return foreign_refuse(f, shown, why);
    if (f && f->option)
        return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; here it is called %s", shown,
                         f->option);
    for (const struct option *s = option_table; s->help; s++) {
        nearest_offer(&n, s->name);
        nearest_offer(&n, s->alias);
    }
    near = nearest_slip(&n);
    if (near)
        return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; did you mean %s?", shown, near);
    return fault_set(why, ML_ERR_ARGUMENT, "unknown option %s; mlaunch --help lists all", shown);
}
