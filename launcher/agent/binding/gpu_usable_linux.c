/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/gpu_usable_linux.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool may_open(const char *root, const char *device)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/dev/%s", root, device);
    return access(path, R_OK | W_OK) == 0;
}

/* The driver's number of a GPU, which names its file. */
static bool nvidia_is_usable(const char *root, const char *address)
{
    static const char key[] = "Device Minor:";
    static const char directory[] = "proc/driver/nvidia/gpus";
    char path[PATH_MAX], line[256], device[32];
    int minor = -1;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s/%s/information", root, directory, address);
    f = fopen(path, "re");
    while (f && minor < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            minor = (int)strtol(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    snprintf(device, sizeof(device), "nvidia%d", minor);
    return minor >= 0 && may_open(root, device);
}

/* The file for computing of any other GPU: /dev/dri/renderD128 and following. */
static bool render_is_usable(const char *root, const char *address)
{
    static const char directory[] = "sys/bus/pci/devices";
    char path[PATH_MAX], device[300];
    bool is_usable = false;
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/%s/%s/drm", root, directory, address);
    dir = opendir(path);
    while (dir && !is_usable && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "renderD", 7) != 0)
            continue;
        snprintf(device, sizeof(device), "dri/%s", entry->d_name);
        is_usable = may_open(root, device);
    }
    if (dir)
        closedir(dir);
    return is_usable;
}

bool gpu_usable(const char *root, const struct machine_gpu *g)
{
    char address[64];

    snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", (unsigned)g->domain, (unsigned)g->bus,
             (unsigned)g->device, (unsigned)g->function);
    return g->vendor == VENDOR_NVIDIA ? nvidia_is_usable(root, address)
                                      : render_is_usable(root, address);
}

bool gpu_usable_is_listed(const struct machine_gpu *g)
{
    const char *list = getenv(g->vendor == VENDOR_NVIDIA ? "CUDA_VISIBLE_DEVICES"
                              : g->vendor == VENDOR_AMD  ? "ROCR_VISIBLE_DEVICES"
                                                         : "ZE_AFFINITY_MASK");
    char *end;

    if (!list || !*list || list[strspn(list, "0123456789,")])
        return true;
    for (;; list = end + 1) {
        if (strtol(list, &end, 10) == g->number && end > list)
            return true;
        if (*end != ',')
            return false;
    }
}
