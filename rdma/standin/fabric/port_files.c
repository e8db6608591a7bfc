/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/port_files.h"

#include "rdma/standin/profile/notation.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum { NONE = -1, PATH = 64 };

/* Those of ib_core (drivers/infiniband/core/sysfs.c), and below hw_counters two of Soft-RoCE. */
static const struct port_file {
    const char *name;
    int at;   /* in struct ports_counters; NONE: always 0 */
    int unit; /* bytes: InfiniBand counts data in words of four (IBTA 16.1.3.5) */
} files[PORT_FILES_COUNTERS] = {
    {"counters/port_xmit_data", offsetof(struct ports_counters, sent_bytes), 4},
    {"counters/port_rcv_data", offsetof(struct ports_counters, received_bytes), 4},
    {"counters/port_xmit_packets", offsetof(struct ports_counters, sent_packets), 1},
    {"counters/port_rcv_packets", offsetof(struct ports_counters, received_packets), 1},
    {"counters/unicast_xmit_packets", offsetof(struct ports_counters, sent_packets), 1},
    {"counters/unicast_rcv_packets", offsetof(struct ports_counters, received_packets), 1},
    {"counters/multicast_xmit_packets", NONE, 1},
    {"counters/multicast_rcv_packets", NONE, 1},
    {"counters/port_xmit_discards", offsetof(struct ports_counters, discards), 1},
    {"counters/symbol_error", offsetof(struct ports_counters, errors), 1},
    {"counters/port_rcv_errors", offsetof(struct ports_counters, errors), 1},
    {"counters/link_downed", offsetof(struct ports_counters, downs), 1},
    {"counters/link_error_recovery", NONE, 1},
    {"counters/port_rcv_remote_physical_errors", NONE, 1},
    {"counters/port_rcv_switch_relay_errors", NONE, 1},
    {"counters/port_xmit_constraint_errors", NONE, 1},
    {"counters/port_rcv_constraint_errors", NONE, 1},
    {"counters/port_xmit_wait", NONE, 1},
    {"counters/local_link_integrity_errors", NONE, 1},
    {"counters/excessive_buffer_overrun_errors", NONE, 1},
    {"counters/VL15_dropped", NONE, 1},
    {"hw_counters/sent_pkts", offsetof(struct ports_counters, sent_packets), 1},
    {"hw_counters/rcvd_pkts", offsetof(struct ports_counters, received_packets), 1},
};

static void rate_write(struct folder *f, const struct ibv_port_attr *attr)
{
    static const struct {
        uint8_t speed;
        int rate; /* a lane's, in tenths of Gb/s */
        const char *word;
    } speeds[] = {{1, 25, "SDR"},   {2, 50, "DDR"},   {4, 100, "QDR"},  {8, 100, "FDR10"},
                  {16, 140, "FDR"}, {32, 250, "EDR"}, {64, 500, "HDR"}, {128, 1000, "NDR"}};
    static const int widths[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2};
    int i = 0, width = widths[attr->active_width], rate;

    while (speeds[i].speed != attr->active_speed)
        i++;
    rate = speeds[i].rate * width;
    folder_write(f, "rate", "%d%s Gb/sec (%dX %s)", rate / 10, rate % 10 ? ".5" : "", width,
                 speeds[i].word);
}

static void gid_write(struct folder *f, const struct ports_port *p, int i)
{
    static const char *const types[] = {"IB/RoCE v1", "IB/RoCE v1", "RoCE v2"};
    const uint8_t *raw = p->is->gids[i].raw;
    bool is_empty = fabric_gid_is_zero(&p->is->gids[i]);
    char name[PATH], text[PATH] = "";

    for (int j = 0; j < 8; j++)
        snprintf(text + 5 * j, sizeof(text) - 5 * (size_t)j, "%02x%02x%s", raw[2 * j],
                 raw[2 * j + 1], j < 7 ? ":" : "");
    snprintf(name, sizeof(name), "gids/%d", i);
    folder_write(f, name, "%s", text);
    snprintf(name, sizeof(name), "gid_attrs/types/%d", i);
    if (is_empty)
        folder_remove(f, name);
    else
        folder_write(f, name, "%s", types[p->is->gid_types[i]]);
    snprintf(name, sizeof(name), "gid_attrs/ndevs/%d", i);
    if (is_empty || !*p->profile->netdev)
        folder_remove(f, name);
    else
        folder_write(f, name, "%s", p->profile->netdev);
}

void port_files_write(struct folder *f, const struct ports_port *p)
{
    static const char *const folders[] = {"gids",  "gid_attrs/types", "gid_attrs/ndevs",
                                          "pkeys", "counters",        "hw_counters"};
    const struct ibv_port_attr *attr = &p->is->attr;
    bool is_active = attr->state == IBV_PORT_ACTIVE;

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        folder_make(f, "%s", folders[i]);
    folder_write(f, "state", "%d: %s", attr->state, is_active ? "ACTIVE" : "DOWN");
    folder_write(f, "phys_state", "%d: %s", attr->phys_state,
                 attr->phys_state == 5   ? "LinkUp"
                 : attr->phys_state == 3 ? "Disabled"
                                         : "Polling");
    rate_write(f, attr);
    folder_write(f, "lid", "0x%x", attr->lid);
    folder_write(f, "lid_mask_count", "%d", attr->lmc);
    folder_write(f, "sm_lid", "0x%x", attr->sm_lid);
    folder_write(f, "sm_sl", "%d", attr->sm_sl);
    folder_write(f, "cap_mask", "0x%08x", attr->port_cap_flags);
    folder_write(f, "link_layer", "%s",
                 attr->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
    folder_write(f, "pkeys/0", "0xffff");
    folder_write(f, "hw_counters/lifespan", "10");
    for (int i = 0; i < FABRIC_GIDS_MOST; i++)
        gid_write(f, p, i);
}

void port_files_count(struct folder *f, const struct ports_port *p, struct port_files_shown *shown)
{
    for (int i = 0; i < PORT_FILES_COUNTERS && files[i].name; i++) {
        uint64_t value = 0;

        if (files[i].at != NONE)
            value = *(const uint64_t *)((const char *)&p->counters + files[i].at) /
                    (unsigned)files[i].unit;
        if (shown->is_there[i] && shown->values[i] == value)
            continue;
        folder_write(f, files[i].name, "%" PRIu64, value);
        shown->is_there[i] = !f->rc;
        shown->values[i] = value;
    }
}
