/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_rdma_linux.h"

#include "common/text/text_json.h"
#include "launcher/agent/facts/fact_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GIDS_MOST = 16, COUNTERS_MOST = 128 };

/* A folder that is read into a member of `out`. */
struct facts_folder {
    const char *root, *path; /* path: as the caller may open it, with the root */
    json_t *out;
};

/* Sets the member to the line of a file in the folder. */
static void line_put(const struct facts_folder *f, const char *key, const char *file)
{
    char path[FACT_PATH];

    fact_file_path(path, f->path, "/%s", file);
    fact_put_line(f->out, key, path);
}

static void whole_put(const struct facts_folder *f, const char *key, const char *file)
{
    char path[FACT_PATH];

    fact_file_path(path, f->path, "/%s", file);
    fact_put_whole(f->out, key, path);
}

static void on_counter(const char *name, void *arg)
{
    const struct facts_folder *f = arg;

    if (json_object_size(f->out) < COUNTERS_MOST)
        whole_put(f, name, name);
}

/* The counters of a port or, in hw_counters alone, of the whole device. */
static json_t *counters_read(const char *folder)
{
    json_t *counters = json_object();
    char path[FACT_PATH];
    struct facts_folder f = {.path = path, .out = counters};

    fact_file_path(path, folder, "/counters");
    fact_file_list(path, on_counter, &f);
    fact_file_path(path, folder, "/hw_counters");
    fact_file_list(path, on_counter, &f);
    return counters;
}

/* Adds an address, unless it is empty or nothing but a subnet's prefix. */
static void on_gid(const char *name, void *arg)
{
    static const char nobody[] = ":0000:0000:0000:0000";
    const struct facts_folder *port = arg;
    char path[FACT_PATH], gid[FACT_TEXT], type[FACT_TEXT];
    json_t *list = json_object_get(port->out, "gids");

    fact_file_path(path, port->path, "/gids/%s", name);
    if (json_array_size(list) >= GIDS_MOST || !fact_file_line(path, gid) ||
        strlen(gid) < strlen(nobody) || strcmp(gid + strlen(gid) - strlen(nobody), nobody) == 0)
        return;
    fact_file_path(path, port->path, "/gid_attrs/types/%s", name);
    fact_file_line(path, type);
    json_array_append_new(list,
                          json_pack("{so so}", "gid", text_json(gid), "type", text_json(type)));
}

struct found_bond {
    const char *root, *name;
    int links, up;
};

/* A bond's links are named "lower_…" in its folder. */
static void on_lower(const char *name, void *arg)
{
    struct found_bond *b = arg;
    char path[FACT_PATH], state[FACT_TEXT];

    if (strncmp(name, "lower_", 6) != 0)
        return;
    b->links++;
    fact_file_path(path, b->root, "/sys/class/net/%s/operstate", name + 6);
    b->up += fact_file_line(path, state) && strcmp(state, "up") == 0;
}

/* The bond that the interface is, or belongs to, and how many of its links are up. */
static void bond_add(const struct facts_folder *port, const char *interface)
{
    char path[FACT_PATH], master[FACT_TEXT], mode[FACT_TEXT];
    struct found_bond b = {.root = port->root, .name = interface};

    fact_file_path(path, port->root, "/sys/class/net/%s/master", interface);
    if (fact_file_link(path, master))
        b.name = master;
    fact_file_path(path, port->root, "/sys/class/net/%s/bonding/mode", b.name);
    if (!fact_file_line(path, mode))
        return; /* a bridge, or nothing */
    fact_file_path(path, port->root, "/sys/class/net/%s", b.name);
    fact_file_list(path, on_lower, &b);
    fact_put_text(port->out, "bond", b.name);
    json_object_set_new(port->out, "bond_links", json_integer(b.links));
    json_object_set_new(port->out, "bond_links_up", json_integer(b.up));
}

/* The network interface of a RoCE port, and its MTU. */
static void interface_add(const struct facts_folder *port)
{
    char path[FACT_PATH], name[FACT_TEXT];

    fact_file_path(path, port->path, "/gid_attrs/ndevs/0");
    if (!fact_file_line(path, name) || strchr(name, '/'))
        return;
    fact_put_text(port->out, "interface", name);
    fact_file_path(path, port->root, "/sys/class/net/%s/mtu", name);
    fact_put_whole(port->out, "mtu", path);
    bond_add(port, name);
}

static void on_port(const char *name, void *arg)
{
    const struct facts_folder *device = arg;
    char path[FACT_PATH], gids[FACT_PATH];
    struct facts_folder port = {device->root, path, json_object()};

    fact_file_path(path, device->path, "/ports/%s", name);
    fact_put_text(port.out, "port", name);
    line_put(&port, "state", "state");
    line_put(&port, "physical", "phys_state");
    line_put(&port, "rate", "rate");
    line_put(&port, "link_layer", "link_layer");
    line_put(&port, "pkey", "pkeys/0");
    interface_add(&port);
    json_object_set_new(port.out, "gids", json_array());
    fact_file_path(gids, path, "/gids");
    fact_file_list(gids, on_gid, &port);
    json_object_set_new(port.out, "counters", counters_read(path));
    json_array_append_new(json_object_get(device->out, "ports"), port.out);
}

/* Whether this user may open the device, whose file has a number of its own; only of this
 * machine. */
static void on_verbs(const char *name, void *arg)
{
    const struct facts_folder *device = arg;
    char path[FACT_PATH], text[FACT_PATH + FACT_TEXT], owner[FACT_TEXT];
    int fd;

    fact_file_path(path, "", "/sys/class/infiniband_verbs/%s/ibdev", name);
    if (!fact_file_line(path, owner) ||
        strcmp(owner, json_string_value(json_object_get(device->out, "name"))) != 0)
        return;
    fact_file_path(path, "", "/dev/infiniband/%s", name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        snprintf(text, sizeof(text), "cannot open %s: %s", path, strerror(errno));
        fact_put_text(device->out, "error", text);
    } else {
        close(fd);
    }
}

static void on_device(const char *name, void *arg)
{
    const struct facts_folder *all = arg;
    char path[FACT_PATH], inner[FACT_PATH], driver[FACT_TEXT];
    struct facts_folder device = {all->root, path, json_object()};

    fact_file_path(path, all->path, "/%s", name);
    fact_put_text(device.out, "name", name);
    line_put(&device, "guid", "node_guid");
    line_put(&device, "firmware", "fw_ver");
    line_put(&device, "board", "board_id");
    line_put(&device, "speed", "device/current_link_speed");
    line_put(&device, "speed_most", "device/max_link_speed");
    whole_put(&device, "width", "device/current_link_width");
    whole_put(&device, "width_most", "device/max_link_width");
    whole_put(&device, "numa_node", "device/numa_node");
    line_put(&device, "iommu", "device/iommu_group/type");
    fact_file_path(inner, path, "/device/driver");
    if (fact_file_link(inner, driver))
        fact_put_text(device.out, "driver", driver);
    if (!*all->root)
        fact_file_list("/sys/class/infiniband_verbs", on_verbs, &device);
    json_object_set_new(device.out, "counters", counters_read(path));
    json_object_set_new(device.out, "ports", json_array());
    fact_file_path(inner, path, "/ports");
    fact_file_list(inner, on_port, &device);
    json_array_append_new(all->out, device.out);
}

json_t *facts_rdma_read(const char *root)
{
    json_t *out = json_array();
    char path[FACT_PATH];
    struct facts_folder all = {root, path, out};

    fact_file_path(path, root, "/sys/class/infiniband");
    fact_file_list(path, on_device, &all);
    return out;
}
