/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/rank_environment.h"

#include "launcher/agent/rank/framework_variables.h"
#include "launcher/agent/rank/variable_list.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    "MLAUNCH_MPI_FD",
    "MLAUNCH_HEAD",
    "MLAUNCH_ALONE",
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
    "TORCHELASTIC_ERROR_FILE",
    /* NCCL and torch, where mlaunch has set them */
    "NCCL_RAS_ADDR",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
    /* mlx.launch */
    "MLX_RANK",
    "MLX_WORLD_SIZE",
    "MLX_HOSTFILE",
    "MLX_IBV_DEVICES",
    "MLX_JACCL_COORDINATOR",
    "JACCL_RANK",
    "JACCL_IBV_DEVICES",
    "JACCL_COORDINATOR",
    "MLX_JACCL_RING",
    "JACCL_RING",
    "NCCL_HOST_IP",
    "NCCL_PORT",
    /* JAX, where mlaunch has set it */
    "JAX_COORDINATOR_PORT",
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
    /* a Slurm task's variables, not its job's */
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

struct rank_environment {
    const struct job_spec *job;
    const struct job_app *app;
    struct variable_list list; /* the first `kept` are for all ranks */
    size_t kept;
    bool serves_pmi, is_attached;
    const char *asks_pmix; /* the config's */
    char *pid_text;
};

static bool is_scrubbed(const char *variable)
{
    for (int i = 0; i < SCRUBBED; i++) {
        if (variable_list_is(variable, scrubbed[i]))
            return true;
    }
    return false;
}

/* Variables that identify a rank, which not even -x may change. */
static bool is_identity(const char *variable, bool compat)
{
    static const char *const names[] = {"MLAUNCH_RANK", "MLAUNCH_LOCAL_RANK", "MLAUNCH_EAGER",
                                        "MLAUNCH_STDOUT", "MLAUNCH_MPI_FD"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (variable_list_is(variable, names[i]))
            return true;
    }
    return compat && framework_variables_is_identity(variable);
}

/* Without all three MPICH would not find its launcher. */
static bool is_pmi(const char *variable)
{
    return variable_list_is(variable, "PMI_FD") || variable_list_is(variable, "PMI_RANK") ||
           variable_list_is(variable, "PMI_SIZE");
}

static void users_add(struct rank_environment *e, const char *const *variables)
{
    for (; *variables; variables++) {
        if (!is_identity(*variables, e->job->options.compat) &&
            !(e->serves_pmi && is_pmi(*variables)))
            variable_list_set(&e->list, "%s", *variables);
    }
}

/* Preloads the shim into every program, after the user's own libraries, whose functions take
 * precedence. ASAN_OPTIONS, because otherwise a program built with AddressSanitizer would not start
 * unless its library is the first. */
static void shim_inject(struct variable_list *l, const char *shim)
{
    variable_list_join(l, "LD_PRELOAD", ":", shim);
    variable_list_join(l, "ASAN_OPTIONS", ":", "verify_asan_link_order=0");
}

/* musl's loader searches for the library that a program needs even if it is preloaded. */
static void directory_add(struct variable_list *l, const char *shim)
{
    char *directory = strndup(shim, (size_t)(strrchr(shim, '/') - shim));

    if (directory)
        variable_list_join(l, "LD_LIBRARY_PATH", ":", directory);
    free(directory);
}

/* How many this process, and so its children, may use. */
static int processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) ? CPU_SETSIZE : CPU_COUNT(&set);
}

/* Open MPI 4 takes a PMIx server for its launcher only where it knows the launcher: by this
 * variable it knows IBM's jsrun, and uses it for nothing else. Its segments lie where the job's own
 * do, so that they go with the job. Waiting ranks yield where there are more ranks than
 * processors. */
void rank_environment_add_open_mpi(struct variable_list *l, const struct job_spec *job,
                                   const char *segments)
{
    static const char *const names[] = {"btl_vader", "btl_sm", "osc_sm"};

    variable_list_set(l, "JSM_JSRUN_PORT=0");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && segments[0]; i++)
        variable_list_set_default(l, "OMPI_MCA_%s_backing_directory=%s", names[i], segments);
    if (job->rank_count > processors())
        variable_list_set_default(l, "OMPI_MCA_mpi_oversubscribe=1");
}

void rank_environment_add_job(struct variable_list *l, const struct job_spec *job,
                              const char *job_dir)
{
    variable_list_set(l, "MLAUNCH_JOB_DIR=%s", job_dir);
    variable_list_set(l, "MLAUNCH_JOB=%s", job->job);
    variable_list_set(l, "MLAUNCH_RESTART=%d", job->restart);
    variable_list_set(l, "MLAUNCH_SIZE=%d", job->size);
    variable_list_set(l, "MLAUNCH_LOCAL_SIZE=%d", job->rank_count);
    variable_list_set(l, "MLAUNCH_HOST_RANK=%d", job->host);
    variable_list_set(l, "MLAUNCH_HOSTS=%d", job->hosts);
}

/* The environment of the rank that the process joins. Its job directory is this job's own: so the
 * end of the other job does not end it, and it cannot pass for that rank. Descriptors are not there
 * any more. */
static void attached_add(struct rank_environment *e, const struct rank_environment_config *c)
{
    static const char *const left_out[] = {"MLAUNCH_JOB_DIR", "MLAUNCH_EAGER", "MLAUNCH_STDOUT",
                                           "MLAUNCH_MPI_FD", "PMI_FD"};
    struct variable_list *l = &e->list;

    variable_list_set(l, "MLAUNCH_JOB_DIR=%s", c->job_dir);
    for (const char *const *entry = c->inherited; *entry; entry++) {
        bool is_kept = strchr(*entry, '=') != NULL;

        for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
            is_kept = is_kept && !variable_list_is(*entry, left_out[i]);
        if (is_kept)
            variable_list_append(l, "%s", *entry);
    }
    if (c->job->pty.term && c->job->pty.term[0])
        variable_list_set(l, "TERM=%s", c->job->pty.term);
    for (const char *const *entry = c->app->env; *entry; entry++)
        variable_list_set(l, "%s", *entry);
}

static bool copy_has(const struct rank_environment_config *c, const char *name)
{
    char path[PATH_MAX];

    return (size_t)snprintf(path, sizeof(path), "%s/%s", c->copy, name) < sizeof(path) &&
           access(path, F_OK) == 0;
}

/* As activating it does. */
static void staged_activate(struct variable_list *l, const struct rank_environment_config *c)
{
    const char *path = variable_list_get(l, "PATH");

    if (copy_has(c, "bin"))
        variable_list_set(l, "PATH=%s/bin:%s", c->staged,
                          path ? path : "/usr/local/bin:/usr/bin:/bin");
    if (copy_has(c, "pyvenv.cfg"))
        variable_list_set(l, "VIRTUAL_ENV=%s", c->staged);
    if (copy_has(c, "conda-meta"))
        variable_list_set(l, "CONDA_PREFIX=%s", c->staged);
}

static void common_add(struct rank_environment *e, const struct rank_environment_config *c)
{
    const struct job_spec *job = c->job;
    struct framework_config frameworks = {.job = job,
                                          .coordinator = c->coordinator,
                                          .ibv_devices = c->ibv_devices,
                                          .ring_hosts = c->ring_hosts};
    struct variable_list *l = &e->list;

    /* First in the block, because it is searched for in every process of the user when a job is
     * cleaned up. */
    variable_list_set(l, "MLAUNCH_JOB_DIR=%s", c->job_dir);
    for (const char *const *entry = c->inherited; *entry; entry++) {
        if (strchr(*entry, '=') && !is_scrubbed(*entry))
            variable_list_append(l, "%s", *entry);
    }
    if (job->pty.term && job->pty.term[0])
        variable_list_set(l, "TERM=%s",
                          job->pty.term); /* the user's terminal's, also on other hosts */
    users_add(e, job->env);
    users_add(e, c->app->env);
    if (c->staged)
        staged_activate(l, c);
    variable_list_set(l, "PWD=%s", c->cwd);
    rank_environment_add_job(l, job, c->job_dir);
    variable_list_set(l, "MLAUNCH_COORDINATOR=%s", c->coordinator);
    variable_list_set(l, "MLAUNCH_BACKEND=%s", job->backend);
    if (job->options.buffer != BUFFER_FULL)
        variable_list_set_default(l, "PYTHONUNBUFFERED=1");
    if (job->options.compat)
        framework_variables_add(l, &frameworks);
    if (c->serves_pmix)
        rank_environment_add_open_mpi(l, job, c->segments);
    if (c->shim)
        shim_inject(l, c->shim);
    /* Last, so that the user's own libraries and modules are found first. */
    if (c->libraries)
        variable_list_join(l, "LD_LIBRARY_PATH", ":", c->libraries);
    if (c->shim && c->is_musl)
        directory_add(l, c->shim);
    if (c->modules)
        variable_list_join(l, "PYTHONPATH", ":", c->modules);
}

int rank_environment_create(struct rank_environment **out,
                            const struct rank_environment_config *config, struct fault *why)
{
    struct rank_environment *e = calloc(1, sizeof(*e));

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    e->job = config->job;
    e->app = config->app;
    e->serves_pmi = config->serves_pmi;
    e->asks_pmix = config->asks_pmix;
    e->is_attached = config->is_attached;
    if (e->is_attached)
        attached_add(e, config);
    else
        common_add(e, config);
    if (e->list.failed) {
        rank_environment_destroy(e);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for the ranks' environment");
    }
    e->kept = e->list.count;
    *out = e;
    return 0;
}

void rank_environment_destroy(struct rank_environment *e)
{
    if (!e)
        return;
    variable_list_truncate(&e->list, 0);
    free(e);
}

/* By this the shim recognises the rank's own pipe. */
static void stdout_describe(struct rank_environment *e, int out)
{
    struct stat st;

    if (e->job->options.buffer == BUFFER_FULL || fstat(out, &st) || !S_ISFIFO(st.st_mode))
        return;
    variable_list_append(&e->list, "MLAUNCH_STDOUT=%s:%llu:%llu",
                         e->job->options.buffer == BUFFER_NONE ? "none" : "line",
                         (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

static bool is_listed(const char *const *variables, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;

    while (*variables && strncmp(*variables, variable, length) != 0)
        variables++;
    return *variables != NULL;
}

char **rank_environment_of(struct rank_environment *e, const struct job_rank *rank,
                           const char *const *own, int out, int pmi, const char *const *pmix)
{
    struct variable_list *l = &e->list;

    variable_list_truncate(l, e->kept);
    e->pid_text = NULL;
    if (e->is_attached)
        return l->failed ? NULL : l->list;
    variable_list_append(l, "MLAUNCH_RANK=%d", rank->rank);
    variable_list_append(l, "MLAUNCH_LOCAL_RANK=%d", rank->local_rank);
    stdout_describe(e, out);
    for (; own && *own; own++)
        if (!is_listed(e->job->env, *own) && !is_listed(e->app->env, *own))
            variable_list_set(l, "%s", *own);
    if (e->job->options.compat)
        framework_variables_add_rank(l, e->job, rank, variable_list_get(l, "MLAUNCH_JOB_DIR"));
    if (pmi >= 0) {
        variable_list_append(l, "PMI_FD=%d", pmi);
        if (e->asks_pmix)
            variable_list_append(l, "MLAUNCH_MPI_FD=%d%s", pmi, e->asks_pmix);
        variable_list_append(l, "PMI_RANK=%d", rank->rank);
        variable_list_append(l, "PMI_SIZE=%d", e->job->size);
    }
    for (; pmix && *pmix; pmix++)
        variable_list_set(l, "%s", *pmix);
    if (e->job->options.eager && strcmp(e->job->backend, "none") != 0) {
        char *variable = variable_list_append(l, "MLAUNCH_EAGER=%-12s", "");

        e->pid_text = variable ? strchr(variable, '=') + 1 : NULL;
    }
    return l->failed ? NULL : l->list;
}

void rank_environment_set_restarts(struct rank_environment *e, int restarts)
{
    if (!e->is_attached)
        variable_list_set(&e->list, "MLAUNCH_RESTART=%d", restarts);
}

const char *rank_environment_get(const struct rank_environment *e, const char *name)
{
    return variable_list_get(&e->list, name);
}

char *rank_environment_pid_text(struct rank_environment *e)
{
    return e->pid_text;
}
