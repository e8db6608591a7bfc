/* SPDX-License-Identifier: MIT */
#include "rdma/probe/describe.h"

#include "rdma/verbs/port.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

static const char *const gid_types[] = {"IB", "RoCE v1", "RoCE v2"};

json_t *describe_gids(const struct gid *gids, int count)
{
    json_t *list = json_array();
    char text[GID_TEXT], ip[INET_ADDRSTRLEN];

    for (int i = 0; i < count; i++) {
        json_t *gid = json_pack("{s:i, s:s, s:s}", "index", gids[i].index, "gid",
                                gid_format(&gids[i], text), "type", gid_types[gids[i].type]);

        if (gid_is_ipv4(&gids[i]) && inet_ntop(AF_INET, gids[i].raw + 12, ip, sizeof(ip)))
            json_object_set_new(gid, "ipv4", json_string(ip));
        if (gids[i].prefix)
            json_object_set_new(gid, "prefix", json_integer(gids[i].prefix));
        json_array_append_new(list, gid);
    }
    return list;
}

int describe_gids_read(const json_t *list, struct gid *out, int most)
{
    const json_t *gid;
    int count = 0;
    size_t i;

    json_array_foreach(list, i, gid)
    {
        const char *text = json_string_value(json_object_get(gid, "gid"));
        const char *type = json_string_value(json_object_get(gid, "type"));
        struct gid g = {
            .index = (uint16_t)json_integer_value(json_object_get(gid, "index")),
            .prefix = (uint8_t)json_integer_value(json_object_get(gid, "prefix")),
        };

        if (!text || !type || inet_pton(AF_INET6, text, g.raw) != 1)
            continue;
        while (g.type < GID_ROCE_V2 && strcmp(gid_types[g.type], type) != 0)
            g.type++;
        if (count < most)
            out[count++] = g;
    }
    return count;
}

/* The rate of the link in Gb/s, before coding; 0: unknown. Verbs names speed and width by bits. */
static double rate_of(const struct ibv_port_attr *attr)
{
    static const double lane_rates[] = {
        [1] = 2.5, [2] = 5, [4] = 10, [8] = 10, [16] = 14, [32] = 25, [64] = 50};
    static const int widths[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12};
    size_t speed = attr->active_speed, width = attr->active_width;

    if (speed >= sizeof(lane_rates) / sizeof(*lane_rates))
        return 0;
    return lane_rates[speed] * (width <= 8 && widths[width] ? widths[width] : 2);
}

static json_t *describe_port(struct ibv_context *context, int number)
{
    struct ibv_port_attr attr;
    struct gid gids[GID_MOST];
    int err = ibv_query_port(context, (uint8_t)number, &attr);
    int count = err ? 0 : port_read_gids(context, number, gids, GID_MOST);
    bool is_ethernet = !err && attr.link_layer == IBV_LINK_LAYER_ETHERNET;

    if (err)
        return json_pack("{s:i, s:s}", "port", number, "error", strerror(err));
    return json_pack(
        "{s:i, s:s, s:b, s:s, s:f, s:i, s:i, s:i, s:I, s:o}", "port", number, "state",
        ibv_port_state_str(attr.state), "is_active", attr.state == IBV_PORT_ACTIVE, "link_layer",
        is_ethernet ? "Ethernet" : "InfiniBand", "gigabits", rate_of(&attr), "active_mtu",
        128 << attr.active_mtu, "max_mtu", 128 << attr.max_mtu, "lid", attr.lid, "max_message",
        (json_int_t)attr.max_msg_sz, "gids", describe_gids(gids, count > 0 ? count : 0));
}

json_t *describe_device(struct ibv_context *context)
{
    struct ibv_device_attr attr;
    int err = ibv_query_device(context, &attr);
    json_t *ports = json_array();

    if (err) {
        json_decref(ports);
        return json_pack("{s:s}", "error", strerror(err));
    }
    for (int i = 1; i <= attr.phys_port_cnt; i++)
        json_array_append_new(ports, describe_port(context, i));
    return json_pack("{s:s, s:o, s:{s:i, s:i, s:i, s:i, s:I}}", "firmware", attr.fw_ver, "ports",
                     ports, "limits", "queue_pairs", attr.max_qp, "work_requests", attr.max_qp_wr,
                     "completions", attr.max_cqe, "memory_regions", attr.max_mr, "memory_region",
                     (json_int_t)attr.max_mr_size);
}
