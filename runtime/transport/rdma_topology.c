/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_topology.h"

#include "common/net/frame.h"
#include "common/net/job_file.h"
#include "common/text/number.h"
#include "runtime/group/world.h"

#include <jansson.h>
#include <stdlib.h>

struct rdma_topology {
    json_t *root;                      /* owns the names */
    const char *names[RDMA_RAILS + 1]; /* what rdma_topology_devices returned last */
};

int rdma_topology_read(struct rdma_topology **out, const char *job_dir, struct fault *why)
{
    struct rdma_topology *w = calloc(1, sizeof(*w));
    int rc;

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    /* The agent has it from a frame. */
    rc = job_file_json(&w->root, job_dir, "rdma.json", FRAME_LIMIT, why);
    if (!rc && !json_is_array(json_object_get(w->root, "wiring")))
        rc = fault_set(why, ML_ERR_SYSTEM, "%s/rdma.json has no RDMA wiring", job_dir);
    if (rc)
        rdma_topology_destroy(w);
    else
        *out = w;
    return rc;
}

void rdma_topology_destroy(struct rdma_topology *w)
{
    if (!w)
        return;
    json_decref(w->root);
    free(w);
}

/* MLAUNCH_RAIL, the only rail of each link to use, from 0; -1: all. */
static int rail_chosen(void)
{
    const char *text = getenv("MLAUNCH_RAIL");
    int64_t rail;

    return text && number_parse(text, 0, RDMA_RAILS - 1, &rail) ? (int)rail : -1;
}

int rdma_topology_devices(struct rdma_topology *w, int from, int to, const char *const **out,
                          int *count, struct fault *why)
{
    json_t *row = json_array_get(json_object_get(w->root, "wiring"), (size_t)from);
    json_t *entry = json_array_get(row, (size_t)to), *device;
    int only = rail_chosen();
    size_t i;

    *count = 0;
    json_array_foreach(entry, i, device)
    {
        if (i < RDMA_RAILS && json_is_string(device))
            w->names[(*count)++] = json_string_value(device);
    }
    if (only >= 0 && *count > 0) {
        w->names[0] = w->names[only < *count ? only : *count - 1];
        *count = 1;
    }
    w->names[*count] = NULL;
    *out = w->names;
    if (*count > 0)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "the hostfile's wiring has no RDMA device from host %d to host %d", from, to);
}

static int choice_read(const struct rdma_topology *w, const char *name, int otherwise)
{
    const json_t *value = json_object_get(w->root, name);

    return json_is_integer(value) ? (int)json_integer_value(value) : otherwise;
}

struct rdma_choice rdma_topology_choice(const struct rdma_topology *w)
{
    return (struct rdma_choice){.port = choice_read(w, "port", 0),
                                .gid_index = choice_read(w, "gid_index", -1),
                                .mtu = choice_read(w, "mtu", 0),
                                .qp = choice_read(w, "qp", 0),
                                .near = getenv("MLAUNCH_NEAR_DEVICES")};
}

int rdma_topology_endpoint(struct rdma_topology *w, const struct endpoint_table *rdma,
                           const struct group *g, int peer, bool may_lack, struct endpoint **out,
                           struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];
    struct endpoint_config c = {
        .choice = rdma_topology_choice(w),
        .tag = endpoint_tag(g->world->job.job, (uint64_t)g->world->generation << 32 | g->id),
        .rank = g->members[g->rank],
        .peer = g->members[peer],
        .may_lack = may_lack,
        .peer_name = group_describe(g, peer, who)};
    int rc = rdma_topology_devices(w, g->host_of[g->rank], g->host_of[peer], &c.devices,
                                   &c.device_count, why);

    return rc ? rc : rdma->open(out, &c, why);
}
