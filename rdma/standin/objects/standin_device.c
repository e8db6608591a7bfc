/* SPDX-License-Identifier: MIT */
/* The devices of this host, as its /sys/class/infiniband_verbs names them. */
#include "rdma/standin/objects/standin_context.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list

#define VERBS "/sys/class/infiniband_verbs"

enum { DEVICES_MOST = 256 };

struct standin_device {
    struct ibv_device verbs; /* first */
    void *operations;        /* NULL: libmlx5 looks here whether the device is one of its own */
    uint64_t guid;           /* as it is on the wire */
};

/* The first line of the file, without its end. */
static bool line_read(const char *folder, const char *name, char *text, int size)
{
    char path[IBV_SYSFS_PATH_MAX * 2];
    FILE *f;
    bool is_read;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    is_read = fgets(text, size, f) != NULL;
    fclose(f);
    if (is_read)
        text[strcspn(text, "\n")] = '\0';
    return is_read;
}

static uint64_t guid_parse(const char *text)
{
    unsigned part[4];

    if (sscanf(text, "%x:%x:%x:%x", &part[0], &part[1], &part[2], &part[3]) != 4)
        return 0;
    return htobe64((uint64_t)part[0] << 48 | (uint64_t)part[1] << 32 | (uint64_t)part[2] << 16 |
                   part[3]);
}

/* Devices that were listed once stay: a context has a pointer to its own. */
static struct {
    pthread_mutex_t lock;
    struct standin_device *all[DEVICES_MOST];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct ibv_device *device_keep(struct standin_device *d)
{
    int i = 0;

    pthread_mutex_lock(&known.lock);
    while (i < DEVICES_MOST && known.all[i] &&
           (strcmp(known.all[i]->verbs.name, d->verbs.name) != 0 ||
            strcmp(known.all[i]->verbs.dev_name, d->verbs.dev_name) != 0))
        i++;
    if (i == DEVICES_MOST || known.all[i]) {
        free(d);
        d = i == DEVICES_MOST ? NULL : known.all[i];
    } else {
        known.all[i] = d;
    }
    pthread_mutex_unlock(&known.lock);
    return d ? &d->verbs : NULL;
}

static struct ibv_device *device_read(const char *name)
{
    struct standin_device *d = calloc(1, sizeof(*d));
    char text[64];

    if (!d)
        return NULL;
    snprintf(d->verbs.dev_name, sizeof(d->verbs.dev_name), "%.63s", name);
    snprintf(d->verbs.dev_path, sizeof(d->verbs.dev_path), VERBS "/%.63s", name);
    /* A device whose file is not there, as in some containers, is none. */
    snprintf(text, sizeof(text), "/dev/infiniband/%.40s", name);
    if (access(text, F_OK) ||
        !line_read(d->verbs.dev_path, "ibdev", d->verbs.name, sizeof(d->verbs.name))) {
        free(d);
        return NULL;
    }
    snprintf(d->verbs.ibdev_path, sizeof(d->verbs.ibdev_path), "/sys/class/infiniband/%.63s",
             d->verbs.name);
    d->verbs.node_type = IBV_NODE_CA;
    d->verbs.transport_type = IBV_TRANSPORT_IB;
    if (line_read(d->verbs.ibdev_path, "node_guid", text, sizeof(text)))
        d->guid = guid_parse(text);
    return device_keep(d);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp((*(struct ibv_device *const *)a)->dev_name,
                      (*(struct ibv_device *const *)b)->dev_name);
}

struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = calloc(DEVICES_MOST + 1, sizeof(struct ibv_device *));
    DIR *folder = opendir(VERBS);
    struct dirent *entry;
    int n = 0;

    if (!list || (!folder && errno != ENOENT)) {
        if (folder)
            closedir(folder);
        free(list);
        return NULL;
    }
    while (folder && n < DEVICES_MOST && (entry = readdir(folder)))
        if (strncmp(entry->d_name, "uverbs", 6) == 0 && (list[n] = device_read(entry->d_name)))
            n++;
    if (folder)
        closedir(folder);
    qsort(list, (size_t)n, sizeof(struct ibv_device *), by_name);
    if (count)
        *count = n;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return ((struct standin_device *)device)->guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
    return atoi(device->dev_name + strlen("uverbs"));
}
