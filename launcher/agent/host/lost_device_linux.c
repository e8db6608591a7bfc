/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/lost_device_linux.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MOST = 64, DEVICE = 64, STATE = 32 };

struct lost_device {
    const char *sysfs;
    int count;
    struct {
        char device[DEVICE];
        int number;
    } ports[PORTS_MOST]; /* that were active */
};

/* The kernel writes "4: ACTIVE". False: there is no such port. */
static bool state_read(char out[STATE], const char *sysfs, const char *device, int port)
{
    char path[PATH_MAX], line[STATE];
    bool is_there = false;
    const char *word;
    FILE *f;

    snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%d/state", sysfs, device, port);
    f = fopen(path, "re");
    if (f) {
        is_there = fgets(line, sizeof(line), f);
        fclose(f);
    }
    if (!is_there)
        return false;
    line[strcspn(line, "\n")] = '\0';
    word = strstr(line, ": ");
    snprintf(out, STATE, "%s", word ? word + 2 : line);
    return true;
}

static void device_note(struct lost_device *d, const char *device)
{
    size_t size = strlen(device) + 1;
    char state[STATE];

    if (size > DEVICE)
        return;
    for (int port = 1; state_read(state, d->sysfs, device, port); port++) {
        if (strcmp(state, "ACTIVE") != 0 || d->count == PORTS_MOST)
            continue;
        memcpy(d->ports[d->count].device, device, size);
        d->ports[d->count++].number = port;
    }
}

struct lost_device *lost_device_begin(const char *sysfs)
{
    struct lost_device *d = NULL;
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
    dir = opendir(path);
    if (dir)
        d = calloc(1, sizeof(*d));
    if (d)
        d->sysfs = sysfs;
    while (d && (e = readdir(dir))) {
        if (e->d_name[0] != '.')
            device_note(d, e->d_name);
    }
    if (dir)
        closedir(dir);
    if (d && d->count > 0)
        return d;
    free(d);
    return NULL;
}

void lost_device_end(struct lost_device *d)
{
    free(d);
}

bool lost_device_find(char *out, size_t size, const struct lost_device *d)
{
    for (int i = 0; d && i < d->count; i++) {
        char state[STATE] = "gone";

        if (state_read(state, d->sysfs, d->ports[i].device, d->ports[i].number) &&
            strcmp(state, "ACTIVE") == 0)
            continue;
        snprintf(out, size,
                 "port %d of the RDMA device %s, which was ACTIVE when the ranks were started, is "
                 "%s now",
                 d->ports[i].number, d->ports[i].device, state);
        return true;
    }
    return false;
}
