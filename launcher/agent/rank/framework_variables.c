/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/framework_variables.h"

#include "common/agent_to_rank.h"
#include "common/text/port_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PORT_FIRST = 10000, /* announced ports: below Linux's ephemeral ones (32768 …) */
    PORT_COUNT = 20000,
    PORT_LAST = 65535,

    /* What the ports of a block are for, by index; the ring has one for each rank of a host. */
    MASTER_PORTS = 0,
    JACCL_PORTS = 1,
    NCCL_PORTS = 2,
    RING_PORTS = 3,

    /* JAX takes its port from a job number of Open MPI's, a multiple of JAX_STEP. */
    JAX_STEP = 4096,
    JAX_PORT = PORT_LAST - JAX_STEP + 1,

    /* NCCL's RAS has its usual port, at an address of 127.0.0.0/8 for each rank; those that end in
     * 127.0.0.x and 127.255.255.x are everybody's. */
    RAS_PORT = 28028,
    RAS_FIRST = 0x100,
    RAS_COUNT = 0xffff00 - RAS_FIRST,

    FLIGHT_RECORDS = 2000, /* torch's own number where it records without being asked */
};

static unsigned job_hash(const struct job_spec *job)
{
    unsigned hash = 2166136261U; /* FNV-1a */

    for (const char *c = job->job; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    /* On a host that was lost, ranks of the run before may still have their ports. */
    return hash + (unsigned)job->restart;
}

int framework_port(const struct job_spec *job, int index)
{
    int first = job->options.starting_port + 1 +
                job->size; /* within the range that the user has opened in a firewall */

    if (job->options.starting_port == 0 || first + FRAMEWORK_PORTS > PORT_LAST) {
        unsigned block = job_hash(job) % (PORT_COUNT / FRAMEWORK_PORTS);

        first = PORT_FIRST + (int)block * FRAMEWORK_PORTS;
    }
    if (job->options.port >= first && job->options.port < first + FRAMEWORK_PORTS)
        first = job->options.port + 1; /* that is the coordinator's */
    return first + index;
}

static bool is_listened_on(const struct job_spec *job, int port)
{
    return port == job->options.port ||
           (job->options.starting_port > 0 && port >= job->options.starting_port &&
            port - job->options.starting_port <= job->size);
}

/* JAX's port: as above, in the range that JAX can express, of which the job may have all. */
static int jax_port(const struct job_spec *job)
{
    int port = JAX_PORT + (int)(job_hash(job) % JAX_STEP);

    for (int i = 1; i < JAX_STEP && is_listened_on(job, port); i++)
        port = port == PORT_LAST ? JAX_PORT : port + 1;
    return port;
}

void framework_head(char *out, size_t size, const struct job_spec *job, const char *coordinator)
{
    const char *colon = strrchr(coordinator, ':');
    const char *ip = job->addresses ? job->addresses[0] : "";
    bool is_bracketed = coordinator[0] == '[';

    if (colon)
        snprintf(out, size, "%.*s", (int)(colon - coordinator) - 2 * is_bracketed,
                 coordinator + is_bracketed);
    else if (ip[0])
        snprintf(out, size, "%s", ip);
    else if (job->host == 0)
        snprintf(out, size, "%s", job->bind_ip[0] ? job->bind_ip : "127.0.0.1");
    else
        snprintf(out, size, "%s", job->host_names[0]);
}

static void torchrun_add(struct variable_list *l, const struct job_spec *job, const char *master)
{
    variable_list_set(l, "WORLD_SIZE=%d", job->size);
    variable_list_set(l, "LOCAL_WORLD_SIZE=%d", job->rank_count);
    variable_list_set(l, "GROUP_RANK=%d", job->host);
    variable_list_set(l, "GROUP_WORLD_SIZE=%d", job->hosts);
    variable_list_set(l, "ROLE_NAME=default");
    variable_list_set(l, "ROLE_WORLD_SIZE=%d", job->size);
    variable_list_set(l, "TORCHELASTIC_RUN_ID=%s", job->job);
    variable_list_set(l, "TORCHELASTIC_RESTART_COUNT=%d", job->restart);
    variable_list_set(l, "TORCHELASTIC_MAX_RESTARTS=%d", job->options.restarts);
    variable_list_set(l, "TORCHELASTIC_USE_AGENT_STORE=False"); /* rank 0 opens the store */
    variable_list_set_default(l, "MASTER_ADDR=%s", master);
    variable_list_set_default(l, "MASTER_PORT=%d", framework_port(job, MASTER_PORTS));
}

/* Whether neighbours are joined, by rank, but not every two hosts: JACCL's ring, not its mesh. */
static bool is_ring_only(const struct job_spec *job)
{
    bool is_mesh = true;

    for (int i = 0; i < job->hosts; i++) {
        for (int j = 0; j < job->hosts; j++) {
            bool is_next = (i + 1) % job->hosts == j || (j + 1) % job->hosts == i;
            json_t *row = json_array_get(job->wiring, (size_t)i);

            if (i == j || json_array_size(json_array_get(row, (size_t)j)) > 0)
                continue;
            if (is_next)
                return false;
            is_mesh = false;
        }
    }
    return !is_mesh;
}

/* MLX takes the first of NCCL, its ring and JACCL that finds its variables. */
static void mlx_add(struct variable_list *l, const struct framework_config *c, const char *master)
{
    const struct job_spec *job = c->job;
    const char *open = strchr(master, ':') ? "[" : "", *close = *open ? "]" : "";
    int jaccl = framework_port(job, JACCL_PORTS);

    variable_list_set(l, "MLX_WORLD_SIZE=%d", job->size);
    variable_list_set_default(l, "NCCL_HOST_IP=%s", master);
    variable_list_set_default(l, "NCCL_PORT=%d", framework_port(job, NCCL_PORTS));
    if (c->ring_hosts)
        variable_list_set_default(l, "MLX_HOSTFILE=%s", c->ring_hosts);
    if (c->ibv_devices) {
        variable_list_set_default(l, "MLX_IBV_DEVICES=%s", c->ibv_devices);
        variable_list_set_default(l, "JACCL_IBV_DEVICES=%s", c->ibv_devices);
        variable_list_set_default(l, "MLX_JACCL_COORDINATOR=%s%s%s:%d", open, master, close, jaccl);
        variable_list_set_default(l, "JACCL_COORDINATOR=%s%s%s:%d", open, master, close, jaccl);
        if (is_ring_only(job)) {
            variable_list_set_default(l, "MLX_JACCL_RING=1");
            variable_list_set_default(l, "JACCL_RING=1");
        }
    }
}

/* JAX takes OMPI_MCA_orte_hnp_uri for the sign of mpirun, the address in it for its coordinator's,
 * and 61440 and the job number's middle 12 bits for the port. Newer versions prefer
 * JAX_COORDINATOR_PORT. */
static void mpirun_add(struct variable_list *l, const struct job_spec *job, const char *master)
{
    int port = jax_port(job);

    variable_list_set(l, "OMPI_COMM_WORLD_SIZE=%d", job->size);
    variable_list_set(l, "OMPI_COMM_WORLD_LOCAL_SIZE=%d", job->rank_count);
    variable_list_set_default(l, "JAX_COORDINATOR_PORT=%d", port);
    variable_list_set_default(l,
                              strchr(master, ':') ? "OMPI_MCA_orte_hnp_uri=%d.0;tcp6://[%s]:1"
                                                  : "OMPI_MCA_orte_hnp_uri=%d.0;tcp://%s:1",
                              (port - JAX_PORT) * JAX_STEP, master);
}

void framework_variables_add(struct variable_list *l, const struct framework_config *c)
{
    char master[256];

    framework_head(master, sizeof(master), c->job, c->coordinator);
    torchrun_add(l, c->job, master);
    mlx_add(l, c, master);
    mpirun_add(l, c->job, master);
}

/* Two ranks with one address would share RAS's clients between them. */
static void nccl_add(struct variable_list *l, const struct job_spec *job, int local_rank)
{
    unsigned at = RAS_FIRST + (job_hash(job) % RAS_COUNT + (unsigned)local_rank) % RAS_COUNT;

    variable_list_set_default(l, "NCCL_RAS_ADDR=127.%u.%u.%u:%d", at >> 16, at >> 8 & 255, at & 255,
                              RAS_PORT);
}

/* Older versions of torch record only where a size is given, under the name that they know, and
 * make the pipe only then. */
static void flight_recorder_add(struct variable_list *l, const char *job_dir)
{
    if (!variable_list_get(l, "TORCH_FR_BUFFER_SIZE") &&
        !variable_list_get(l, "TORCH_NCCL_TRACE_BUFFER_SIZE")) {
        variable_list_append(l, "TORCH_FR_BUFFER_SIZE=%d", FLIGHT_RECORDS);
        variable_list_append(l, "TORCH_NCCL_TRACE_BUFFER_SIZE=%d", FLIGHT_RECORDS);
    }
    variable_list_set_default(l, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=%s/torch.", job_dir);
}

void framework_variables_add_rank(struct variable_list *l, const struct job_spec *job,
                                  const struct job_rank *rank, const char *job_dir)
{
    variable_list_append(l, "RANK=%d", rank->rank);
    variable_list_append(l, "LOCAL_RANK=%d", rank->local_rank);
    variable_list_append(l, "ROLE_RANK=%d", rank->rank);
    variable_list_set_default(l, "TORCHELASTIC_ERROR_FILE=%s/" RANK_ERROR_FILE, job_dir,
                              rank->rank);
    nccl_add(l, job, rank->local_rank);
    if (job->options.flight_recorder)
        flight_recorder_add(l, job_dir);
    variable_list_append(l, "MLX_RANK=%d", rank->rank);
    variable_list_append(l, "JACCL_RANK=%d", rank->rank);
    variable_list_append(l, "OMPI_COMM_WORLD_RANK=%d", rank->rank);
    variable_list_append(l, "OMPI_COMM_WORLD_LOCAL_RANK=%d", rank->local_rank);
    variable_list_append(l, "OMPI_COMM_WORLD_NODE_RANK=%d", rank->local_rank);
}

bool framework_variables_is_identity(const char *variable)
{
    static const char *const names[] = {"RANK",
                                        "LOCAL_RANK",
                                        "ROLE_RANK",
                                        "MLX_RANK",
                                        "JACCL_RANK",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_NODE_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (variable_list_is(variable, names[i]))
            return true;
    }
    return false;
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
static json_t *devices_between(const struct job_spec *job, int from, int to)
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

/* For plain processes (backend none) the wiring alone tells which way their data goes. */
static bool is_over_rdma(const struct job_spec *job)
{
    return job->wiring && (strcmp(job->backend, "rdma") == 0 || strcmp(job->backend, "none") == 0);
}

char *framework_ibv_devices(const struct job_spec *job)
{
    json_t *matrix = is_over_rdma(job) ? json_array() : NULL;
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

char *framework_ring_hosts(const struct job_spec *job)
{
    /* One rank alone would connect to itself before it listens, and give up after 15 s. */
    json_t *list = job->size == 1 || is_over_rdma(job) ? NULL : json_array();
    int *next = calloc((size_t)job->hosts, sizeof(*next)); /* ports given out on each host */
    bool is_known = next && list;
    char *text;

    for (int i = 0; is_known && i < job->size; i++) {
        int host = job->host_of[i];
        const char *ip = job->addresses ? job->addresses[host] : "";
        bool is_v6 = strchr(ip, ':') != NULL;

        if (!ip[0] && job->hosts == 1)
            ip = "127.0.0.1";
        is_known = ip[0] != '\0';
        json_array_append_new(
            list, json_pack("[o]", json_sprintf(is_v6 ? "[%s]:%d" : "%s:%d", ip,
                                                framework_port(job, RING_PORTS) + next[host]++)));
    }
    text = is_known ? json_dumps(list, JSON_COMPACT) : NULL;
    free(next);
    json_decref(list);
    return text;
}
