/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/sysfs_tree.h"

#include "rdma/standin/fabric/folder.h"
#include "rdma/standin/fabric/port_files.h"
#include "rdma/standin/profile/notation.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIR_MOST = 3800 }; /* bytes; all paths below have room behind it */

struct sysfs_tree {
    struct ports *ports;
    char dir[PATH_MAX];
    struct port_files_shown *shown; /* by the port's index */
};

/* --- paths ------------------------------------------------------------------------------------ */

static void device_path(char path[PATH_MAX], const struct sysfs_tree *t,
                        const struct ports_device *d)
{
    snprintf(path, PATH_MAX, "%.3800s/%s/sys/class/infiniband/%s", t->dir, d->host->name, d->name);
}

static void port_path(char path[PATH_MAX], const struct sysfs_tree *t, const struct ports_port *p)
{
    size_t used;

    device_path(path, t, p->device);
    used = strlen(path);
    snprintf(path + used, PATH_MAX - used, "/ports/%d", p->number);
}

/* --- devices ---------------------------------------------------------------------------------- */

static void guid_write(struct folder *f, const char *name, uint64_t guid)
{
    uint64_t n = be64toh(guid);

    folder_write(f, name, "%04x:%04x:%04x:%04x", (unsigned)(n >> 48), (unsigned)(n >> 32) & 0xffff,
                 (unsigned)(n >> 16) & 0xffff, (unsigned)n & 0xffff);
}

/* What would be the PCI device. */
static void parent_write(struct folder *f, const struct ports_device *d)
{
    folder_make(f, "device");
    folder_write(f, "device/vendor", "0x%04x", d->is.attr.vendor_id);
    folder_write(f, "device/device", "0x%04x", d->is.attr.vendor_part_id);
}

static int device_write(struct sysfs_tree *t, const struct ports_device *d, struct fault *why)
{
    const struct profile_kind *k = d->profile->kind;
    char path[PATH_MAX];
    struct folder f = {.path = path, .why = why};

    device_path(path, t, d);
    folder_make(&f, "ports");
    guid_write(&f, "node_guid", d->is.attr.node_guid);
    guid_write(&f, "sys_image_guid", d->is.attr.sys_image_guid);
    folder_write(&f, "node_type", "1: CA");
    folder_write(&f, "node_desc", "%s %s", d->host->name, d->name);
    folder_write(&f, "fw_ver", "%s", d->is.attr.fw_ver);
    folder_write(&f, "hca_type", "%s", k->hca_type);
    folder_write(&f, "board_id", "%s", k->board_id);
    folder_write(&f, "hw_rev", "%x", d->is.attr.hw_ver);
    parent_write(&f, d);
    for (int i = 0; !f.rc && i < d->port_count; i++) {
        struct folder at = {.path = path, .why = why};

        port_path(path, t, &d->ports[i]);
        port_files_write(&at, &d->ports[i]);
        port_files_count(&at, &d->ports[i], &t->shown[d->ports[i].index]);
        f.rc = at.rc;
    }
    return f.rc;
}

static int verbs_write(struct sysfs_tree *t, const struct ports_device *d, struct fault *why)
{
    char path[PATH_MAX];
    struct folder f = {.path = path, .why = why};

    snprintf(path, sizeof(path), "%.3800s/%s/sys/class/infiniband_verbs", t->dir, d->host->name);
    folder_make(&f, "uverbs%d", d->verbs_number);
    folder_write(&f, "abi_version", "6");
    snprintf(path, sizeof(path), "%.3800s/%s/sys/class/infiniband_verbs/uverbs%d", t->dir,
             d->host->name, d->verbs_number);
    folder_write(&f, "ibdev", "%s", d->name);
    folder_write(&f, "abi_version", "1");
    folder_write(&f, "dev", "231:%d", 192 + d->verbs_number);
    parent_write(&f, d);
    return f.rc;
}

/* --- hosts ------------------------------------------------------------------------------------ */

static int host_write(struct sysfs_tree *t, const struct ports_host *h, struct fault *why)
{
    char path[PATH_MAX], name[64] = "";
    struct folder f = {.path = path, .why = why};

    if (readlink("/proc/self/ns/mnt", name, sizeof(name) - 1) < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read /proc/self/ns/mnt");
    snprintf(path, sizeof(path), "%s", t->dir);
    folder_make(&f, "%s/dev", h->name);
    folder_make(&f, "%s/sys/class/infiniband", h->name);
    folder_make(&f, "%s/sys/class/infiniband_verbs", h->name);
    snprintf(path, sizeof(path), "%.3800s/%s", t->dir, h->name);
    folder_write(&f, "namespace", "%s", name);
    return f.rc;
}

int sysfs_tree_open(struct sysfs_tree **out, struct ports *p, const char *dir, struct fault *why)
{
    struct sysfs_tree *t;
    int rc = 0;

    /* Refused here, as a path that is cut short leads to somebody else's folder. */
    if (strlen(dir) > DIR_MOST)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "the folder's path is longer than the %d bytes that are allowed",
                         DIR_MOST);
    t = calloc(1, sizeof(*t));
    if (t)
        t->shown = calloc((size_t)p->port_count, sizeof(*t->shown));
    if (!t || !t->shown) {
        free(t);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    t->ports = p;
    snprintf(t->dir, sizeof(t->dir), "%s", dir);
    for (int i = 0; !rc && i < p->host_count; i++)
        rc = host_write(t, &p->hosts[i], why);
    for (int i = 0; !rc && i < p->device_count; i++) {
        rc = device_write(t, &p->devices[i], why);
        if (!rc)
            rc = verbs_write(t, &p->devices[i], why);
    }
    if (rc)
        sysfs_tree_close(t);
    else
        *out = t;
    return rc;
}

void sysfs_tree_close(struct sysfs_tree *t)
{
    if (!t)
        return;
    folder_empty(t->dir);
    free(t->shown);
    free(t);
}

/* --- changes ---------------------------------------------------------------------------------- */

int sysfs_tree_write_port(struct sysfs_tree *t, const struct ports_port *p, struct fault *why)
{
    char path[PATH_MAX];
    struct folder f = {.path = path, .why = why};

    port_path(path, t, p);
    port_files_write(&f, p);
    return f.rc;
}

int sysfs_tree_write_counters(struct sysfs_tree *t, struct fault *why)
{
    char path[PATH_MAX];
    struct folder f = {.path = path, .why = why};

    for (int i = 0; i < t->ports->device_count; i++)
        for (int j = 0; j < t->ports->devices[i].port_count; j++) {
            struct ports_port *p = &t->ports->devices[i].ports[j];

            if (!p->is_counted)
                continue;
            p->is_counted = false;
            port_path(path, t, p);
            port_files_count(&f, p, &t->shown[p->index]);
        }
    return f.rc;
}
