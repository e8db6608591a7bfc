/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/rank_environment.h"

#include "common/text/port_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PORT_FIRST = 10000, /* announced ports: below Linux's ephemeral ones (32768 …) */
    PORT_COUNT = 20000,
    PORT_LAST = 65535,
    PORTS_PER_JOB = 16, /* in blocks, so that two jobs on a host rarely use the same */
    RING_PORTS = 2,     /* index of the first of MLX's ring, one for each rank of a host */
};

/* Variables that outer launchers set for the processes that they start, by which a rank would take
 * itself for one of theirs. Listed by name: other variables with the same prefixes are the
 * user's. */
static const char *const scrubbed[] = {
    /* mlaunch */
    "MLAUNCH_RANK",
    "MLAUNCH_SIZE",
    "MLAUNCH_LOCAL_RANK",
    "MLAUNCH_LOCAL_SIZE",
    "MLAUNCH_HOST_RANK",
    "MLAUNCH_HOSTS",
    "MLAUNCH_JOB",
    "MLAUNCH_RESTART",
    "MLAUNCH_COORDINATOR",
    "MLAUNCH_BACKEND",
    "MLAUNCH_JOB_DIR",
    "MLAUNCH_EAGER",
    "MLAUNCH_STDOUT",
    /* torchrun */
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "ROLE_NAME",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
    "TORCHELASTIC_USE_AGENT_STORE",
    /* mlx.launch */
    "MLX_RANK",
    "MLX_WORLD_SIZE",
    "MLX_HOSTFILE",
    "MLX_IBV_DEVICES",
    "MLX_JACCL_COORDINATOR",
    "JACCL_RANK",
    "JACCL_IBV_DEVICES",
    "JACCL_COORDINATOR",
    /* MPICH's Hydra and PMI */
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "PMI_DEBUG",
    "PMI_JOBID",
    "PMI_APPNUM",
    "PMI_HOSTNAME",
    "PMI_KVS",
    "PMI_UNIVERSE_SIZE",
    "PMI_PROCESS_MAPPING",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "HYDI_CONTROL_FD",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    /* PMIx */
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMIX_SERVER_URI",
    "PMIX_SERVER_URI2",
    "PMIX_SERVER_URI21",
    "PMIX_SERVER_URI3",
    "PMIX_SERVER_URI4",
    "PMIX_SERVER_URI41",
    "PMIX_SERVER_URI51",
    "PMIX_SERVER_URI61",
    "PMIX_SECURITY_MODE",
    "PMIX_BFROP_BUFFER_TYPE",
    "PMIX_GDS_MODULE",
    "PMIX_PTL_MODULE",
    "PMIX_SERVER_TMPDIR",
    "PMIX_SYSTEM_TMPDIR",
    "PMIX_DSTORE_21_BASE_PATH",
    "PMIX_DSTORE_ESH_BASE_PATH",
    "PMIX_HOSTNAME",
    "PMIX_VERSION",
    "PMIX_ID",
    "PMIX_MCA_mca_base_component_show_load_errors",
    /* Open MPI and PRRTE */
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_NUM_APP_CTX",
    "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_VERSION",
    "OMPI_MCA_ess",
    "OMPI_MCA_ess_base_jobid",
    "OMPI_MCA_ess_base_vpid",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_mpi_oversubscribe",
    "OMPI_MCA_pmix",
    "OMPI_MCA_orte_app_num",
    "OMPI_MCA_orte_bound_at_launch",
    "OMPI_MCA_orte_ess_node_rank",
    "OMPI_MCA_orte_ess_num_procs",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir",
    "OMPI_MCA_orte_launch",
    "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_num_nodes",
    "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_orte_top_session_dir",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "PRTE_LAUNCHED",
    /* those of a Slurm task, not of its job */
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_TASK_PID",
    "SLURM_GTIDS",
    "SLURM_STEPID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_STEP_LAUNCHER_PORT",
    "SLURM_STEP_RESV_PORTS",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_SRUN_COMM_PORT",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_MPI_TYPE",
    "SLURM_PMI_KVS_NO_DUP_KEYS",
    "SLURM_PMIX_MAPPING_SERV",
    "SLURM_PMIXP_ABORT_AGENT_PORT",
};
enum { SCRUBBED = sizeof(scrubbed) / sizeof(scrubbed[0]) };

/* A list of NAME=VALUE that owns its strings; the first `kept` are for all ranks. */
struct rank_environment {
    const struct job_message *job;
    char **list;
    size_t count, room, kept;
    bool serves_pmi;
    int local_size;
    char *pid_text;
    bool failed; /* out of memory; reported at the end */
};

static size_t name_length(const char *entry)
{
    return (size_t)(strchr(entry, '=') - entry);
}

static bool name_equals(const char *entry, const char *name, size_t length)
{
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char **entry_find(const struct rank_environment *e, const char *name, size_t length)
{
    for (size_t i = 0; i < e->count; i++) {
        if (name_equals(e->list[i], name, length))
            return &e->list[i];
    }
    return NULL;
}

/* Appends `entry` without checking whether the name exists. Takes `entry` over. */
static char *entry_append(struct rank_environment *e, char *entry)
{
    if (entry && e->count + 1 >= e->room) {
        size_t room = e->room * 2 + 64;
        char **more = realloc(e->list, room * sizeof(*more));

        if (!more) {
            free(entry);
            entry = NULL;
        } else {
            e->list = more;
            e->room = room;
        }
    }
    if (!entry) {
        e->failed = true;
        return NULL;
    }
    e->list[e->count++] = entry;
    e->list[e->count] = NULL;
    return entry;
}

/* Adds `entry`, or replaces the entry of the same name. Takes `entry` over. */
static void entry_set(struct rank_environment *e, char *entry)
{
    char **old = entry ? entry_find(e, entry, name_length(entry)) : NULL;

    if (old) {
        free(*old);
        *old = entry;
    } else {
        entry_append(e, entry);
    }
}

static __attribute__((format(printf, 1, 2))) char *format_text(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

#define SET(e, ...) entry_set((e), format_text(__VA_ARGS__))

/* For the names that differ by rank, which are never in the common part: they are removed there,
 * and users cannot set them. */
#define APPEND(e, ...) entry_append((e), format_text(__VA_ARGS__))

/* Keeps a value that the user has set. */
#define SET_DEFAULT(e, name, ...)                                                                  \
    do {                                                                                           \
        if (!rank_environment_get((e), (name)))                                                    \
            entry_append((e), format_text(name "=" __VA_ARGS__));                                  \
    } while (0)

const char *rank_environment_get(const struct rank_environment *e, const char *name)
{
    char **entry = entry_find(e, name, strlen(name));

    return entry ? *entry + strlen(name) + 1 : NULL;
}

static bool is_scrubbed(const char *entry)
{
    for (int i = 0; i < SCRUBBED; i++) {
        if (name_equals(entry, scrubbed[i], strlen(scrubbed[i])))
            return true;
    }
    return false;
}

/* Variables that identify a rank, which not even -x may change. (With --no-compat only the first
 * ones are mlaunch's.) */
static bool is_identity(const char *entry, bool compat)
{
    static const char *const names[] = {"MLAUNCH_RANK",
                                        "MLAUNCH_LOCAL_RANK",
                                        "MLAUNCH_EAGER",
                                        "MLAUNCH_STDOUT",
                                        "RANK",
                                        "LOCAL_RANK",
                                        "MLX_RANK",
                                        "JACCL_RANK",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_NODE_RANK"};
    const size_t ours = 4;

    for (size_t i = 0; i < (compat ? sizeof(names) / sizeof(names[0]) : ours); i++) {
        if (name_equals(entry, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

/* Without all three MPICH would not find its launcher. */
static bool is_pmi(const char *entry)
{
    return name_equals(entry, "PMI_FD", 6) || name_equals(entry, "PMI_RANK", 8) ||
           name_equals(entry, "PMI_SIZE", 8);
}

static void users_add(struct rank_environment *e, const char *const *entries)
{
    for (; *entries; entries++) {
        if (!is_identity(*entries, e->job->compat) && !(e->serves_pmi && is_pmi(*entries)))
            entry_set(e, strdup(*entries));
    }
}

/* Appends `value` to the variable's value, after `separator`. */
static void value_append(struct rank_environment *e, const char *name, const char *separator,
                         const char *value)
{
    const char *old = rank_environment_get(e, name);

    if (old && *old)
        SET(e, "%s=%s%s%s", name, old, separator, value);
    else
        SET(e, "%s=%s", name, value);
}

/* Preloads the shim into every program, after the user's own libraries, whose functions take
 * precedence. ASAN_OPTIONS, because otherwise a program built with AddressSanitizer would not start
 * unless its library is the first. */
static void shim_inject(struct rank_environment *e, const char *shim)
{
    value_append(e, "LD_PRELOAD", ":", shim);
    value_append(e, "ASAN_OPTIONS", ":", "verify_asan_link_order=0");
}

int rank_environment_port(const struct job_message *job, int index)
{
    unsigned hash = 2166136261U; /* FNV-1a */
    int first = job->starting_port + 1 +
                job->size; /* within the range that the user has opened in a firewall */

    if (job->starting_port == 0 || first + PORTS_PER_JOB > PORT_LAST) {
        for (const char *c = job->job; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619U;
        /* On a host that was lost, ranks of the run before may still have theirs. */
        hash += (unsigned)job->restart;
        first = PORT_FIRST + (int)(hash % (PORT_COUNT / PORTS_PER_JOB)) * PORTS_PER_JOB;
    }
    if (job->port >= first && job->port < first + PORTS_PER_JOB)
        first = job->port + 1; /* that is the coordinator's */
    return first + index;
}

/* The address of rank 0's host, without a port: the coordinator's or, without a coordinator, what
 * the launcher knows. */
static void master_address(const struct rank_environment_config *c, char *out, size_t size)
{
    const struct job_message *job = c->job;
    const char *colon = strrchr(c->coordinator, ':');
    const char *ip = job->addresses ? job->addresses[0] : "";
    bool is_bracketed = c->coordinator[0] == '[';

    if (colon)
        snprintf(out, size, "%.*s", (int)(colon - c->coordinator) - 2 * is_bracketed,
                 c->coordinator + is_bracketed);
    else if (ip[0])
        snprintf(out, size, "%s", ip);
    else if (job->host == 0)
        snprintf(out, size, "%s", job->bind_ip[0] ? job->bind_ip : "127.0.0.1");
    else
        snprintf(out, size, "%s", job->peers[0] ? job->peers[0] : job->host_names[0]);
}

static void compat_add(struct rank_environment *e, const struct rank_environment_config *c)
{
    const struct job_message *job = c->job;
    char master[256];
    const char *open, *close;

    master_address(c, master, sizeof(master));
    open = strchr(master, ':') ? "[" : "";
    close = *open ? "]" : "";
    SET(e, "WORLD_SIZE=%d", job->size);
    SET(e, "LOCAL_WORLD_SIZE=%d", job->rank_count);
    SET(e, "GROUP_RANK=%d", job->host);
    SET(e, "TORCHELASTIC_RESTART_COUNT=%d", job->restart);
    SET_DEFAULT(e, "MASTER_ADDR", "%s", master);
    SET_DEFAULT(e, "MASTER_PORT", "%d", rank_environment_port(job, 0));
    SET(e, "MLX_WORLD_SIZE=%d", job->size);
    SET(e, "OMPI_COMM_WORLD_SIZE=%d", job->size);
    SET(e, "OMPI_COMM_WORLD_LOCAL_SIZE=%d", job->rank_count);
    if (c->ring_hosts)
        SET_DEFAULT(e, "MLX_HOSTFILE", "%s", c->ring_hosts);
    if (c->ibv_devices) {
        int port = rank_environment_port(job, 1);

        SET_DEFAULT(e, "MLX_IBV_DEVICES", "%s", c->ibv_devices);
        SET_DEFAULT(e, "JACCL_IBV_DEVICES", "%s", c->ibv_devices);
        SET_DEFAULT(e, "MLX_JACCL_COORDINATOR", "%s%s%s:%d", open, master, close, port);
        SET_DEFAULT(e, "JACCL_COORDINATOR", "%s%s%s:%d", open, master, close, port);
    }
}

static void common_add(struct rank_environment *e, const struct rank_environment_config *c)
{
    const struct job_message *job = c->job;

    /* First in the block, because it is searched for in every process of the user when a job is
     * cleaned up. */
    SET(e, "MLAUNCH_JOB_DIR=%s", c->job_dir);
    for (const char *const *entry = c->inherited; *entry; entry++) {
        if (strchr(*entry, '=') && !is_scrubbed(*entry))
            entry_append(e, strdup(*entry));
    }
    if (job->pty.term && job->pty.term[0])
        SET(e, "TERM=%s", job->pty.term); /* of the user's terminal, also on other hosts */
    users_add(e, job->env);
    users_add(e, c->app->env);
    SET(e, "PWD=%s", c->cwd);
    SET(e, "MLAUNCH_JOB_DIR=%s", c->job_dir);
    SET(e, "MLAUNCH_JOB=%s", job->job);
    SET(e, "MLAUNCH_RESTART=%d", job->restart);
    SET(e, "MLAUNCH_SIZE=%d", job->size);
    SET(e, "MLAUNCH_LOCAL_SIZE=%d", job->rank_count);
    SET(e, "MLAUNCH_HOST_RANK=%d", job->host);
    SET(e, "MLAUNCH_HOSTS=%d", job->hosts);
    SET(e, "MLAUNCH_COORDINATOR=%s", c->coordinator);
    SET(e, "MLAUNCH_BACKEND=%s", job->backend);
    if (job->buffer != JOB_BUFFER_FULL)
        SET_DEFAULT(e, "PYTHONUNBUFFERED", "1");
    if (job->compat)
        compat_add(e, c);
    if (c->shim)
        shim_inject(e, c->shim);
    /* Last, so that the user's own modules are found first. */
    if (c->modules)
        value_append(e, "PYTHONPATH", ":", c->modules);
}

int rank_environment_create(struct rank_environment **out,
                            const struct rank_environment_config *config, struct fault *why)
{
    struct rank_environment *e = calloc(1, sizeof(*e));

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    e->job = config->job;
    e->serves_pmi = config->serves_pmi;
    common_add(e, config);
    if (e->failed) {
        rank_environment_destroy(e);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the ranks' environment");
    }
    e->kept = e->count;
    *out = e;
    return 0;
}

static void entries_drop(struct rank_environment *e, size_t keep)
{
    while (e->count > keep)
        free(e->list[--e->count]);
    if (e->list)
        e->list[keep] = NULL;
    e->pid_text = NULL;
}

void rank_environment_destroy(struct rank_environment *e)
{
    if (!e)
        return;
    entries_drop(e, 0);
    free(e->list);
    free(e);
}

/* By this the shim recognises the rank's own pipe. */
static void stdout_describe(struct rank_environment *e, int out)
{
    struct stat st;

    if (e->job->buffer == JOB_BUFFER_FULL || fstat(out, &st) || !S_ISFIFO(st.st_mode))
        return;
    APPEND(e, "MLAUNCH_STDOUT=%s:%llu:%llu", e->job->buffer == JOB_BUFFER_NONE ? "none" : "line",
           (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

char **rank_environment_of(struct rank_environment *e, const struct job_rank *rank, int out,
                           int pmi)
{
    entries_drop(e, e->kept);
    APPEND(e, "MLAUNCH_RANK=%d", rank->rank);
    APPEND(e, "MLAUNCH_LOCAL_RANK=%d", rank->local_rank);
    stdout_describe(e, out);
    if (e->job->compat) {
        APPEND(e, "RANK=%d", rank->rank);
        APPEND(e, "LOCAL_RANK=%d", rank->local_rank);
        APPEND(e, "MLX_RANK=%d", rank->rank);
        APPEND(e, "JACCL_RANK=%d", rank->rank);
        APPEND(e, "OMPI_COMM_WORLD_RANK=%d", rank->rank);
        APPEND(e, "OMPI_COMM_WORLD_LOCAL_RANK=%d", rank->local_rank);
        APPEND(e, "OMPI_COMM_WORLD_NODE_RANK=%d", rank->local_rank);
    }
    if (pmi >= 0) {
        APPEND(e, "PMI_FD=%d", pmi);
        APPEND(e, "PMI_RANK=%d", rank->rank);
        APPEND(e, "PMI_SIZE=%d", e->job->size);
    }
    if (e->job->eager && strcmp(e->job->backend, "none") != 0) {
        char *entry = APPEND(e, "MLAUNCH_EAGER=%-12s", "");

        e->pid_text = entry ? strchr(entry, '=') + 1 : NULL;
    }
    return e->failed ? NULL : e->list;
}

char *rank_environment_pid_text(struct rank_environment *e)
{
    return e->pid_text;
}

static bool list_has(const json_t *list, const char *text)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

/* One entry of MLX's device matrix: null on the same host, a name, or the list of rails. MLX opens
 * devices, so ports are left out and each device is listed once. */
static json_t *devices_between(const struct job_message *job, int from, int to)
{
    json_t *entry = json_array_get(json_array_get(job->wiring, (size_t)job->host_of[from]),
                                   (size_t)job->host_of[to]);
    json_t *list = json_array(), *name, *first;
    size_t i;

    json_array_foreach(entry, i, name)
    {
        char device[PORT_NAME_DEVICE];
        int port;

        if (port_name_split(json_string_value(name), device, &port) && !list_has(list, device))
            json_array_append_new(list, json_string(device));
    }
    if (job->host_of[from] == job->host_of[to] || json_array_size(list) == 0) {
        json_decref(list);
        return json_null();
    }
    if (json_array_size(list) > 1)
        return list;
    first = json_incref(json_array_get(list, 0));
    json_decref(list);
    return first;
}

char *rank_environment_ibv_devices(const struct job_message *job)
{
    json_t *matrix = job->wiring ? json_array() : NULL;
    char *text;

    for (int i = 0; matrix && i < job->size; i++) {
        json_t *row = json_array();

        for (int j = 0; j < job->size; j++)
            json_array_append_new(row, devices_between(job, i, j));
        json_array_append_new(matrix, row);
    }
    text = matrix ? json_dumps(matrix, JSON_COMPACT) : NULL;
    json_decref(matrix);
    return text;
}

char *rank_environment_ring_hosts(const struct job_message *job)
{
    json_t *list = json_array();
    int *next = calloc((size_t)job->hosts, sizeof(*next)); /* ports given out on each host */
    bool is_known = next != NULL;
    char *text;

    for (int i = 0; is_known && i < job->size; i++) {
        int host = job->host_of[i];
        const char *ip = job->addresses ? job->addresses[host] : "";
        bool is_v6 = strchr(ip, ':') != NULL;

        if (!ip[0] && job->hosts == 1)
            ip = "127.0.0.1";
        is_known = ip[0] != '\0';
        json_array_append_new(
            list,
            json_pack("[o]", json_sprintf(is_v6 ? "[%s]:%d" : "%s:%d", ip,
                                          rank_environment_port(job, RING_PORTS) + next[host]++)));
    }
    text = is_known ? json_dumps(list, JSON_COMPACT) : NULL;
    free(next);
    json_decref(list);
    return text;
}
