/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/device.h"

#include "rdma/verbs/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 200 /* bytes, in a sentence */ };

static int device_unknown(const char *name, struct ibv_device **list, struct fault *why)
{
    char names[NAMES] = "";
    size_t used = 0;

    for (int i = 0; list[i] && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 ibv_get_device_name(list[i]));
    if (!names[0])
        return fault_set(why, ML_ERR_DEVICE,
                         "there is no RDMA device %.64s here, nor any other: is its driver loaded, "
                         "and is /dev/infiniband in this container?",
                         name);
    return fault_set(why, ML_ERR_DEVICE,
                     "there is no RDMA device %.64s here, only %s; compare the hostfile's \"rdma\" "
                     "with `rdma link`",
                     name, names);
}

static int list_refuse(const char *name, int err, struct fault *why)
{
    if (err == ENOSYS)
        return fault_set(why, ML_ERR_DEVICE,
                         "there is no RDMA device %.64s here: the kernel has no RDMA (%s): load "
                         "ib_uverbs (modprobe ib_uverbs)",
                         name, strerror(err));
    return fault_set(why, ML_ERR_DEVICE,
                     "cannot look for the RDMA device %.64s: %s; is ib_uverbs loaded, and "
                     "/dev/infiniband in this container?",
                     name, strerror(err));
}

/* The errno to report. libibverbs says ENOENT even if the device's file exists and only this user
 * may not open it. */
static int open_error(struct ibv_device *device, int err)
{
    char path[NAMES];

    snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
    if (access(path, R_OK | W_OK) && errno != ENOENT)
        return errno;
    return err ? err : EIO;
}

int device_open(struct ibv_context **out, const char *name, struct fault *why)
{
    struct explain_place at = {.device = name};
    struct ibv_device **list;
    struct ibv_context *context;
    int i = 0, rc = 0;

    /* It does nothing where it was called before, or where the kernel copies pinned pages. */
    ibv_fork_init();
    list = ibv_get_device_list(NULL);
    if (!list)
        return list_refuse(name, errno, why);
    while (list[i] && strcmp(ibv_get_device_name(list[i]), name) != 0)
        i++;
    if (!list[i]) {
        rc = device_unknown(name, list, why);
    } else {
        errno = 0;
        context = ibv_open_device(list[i]);
        if (context)
            *out = context;
        else
            rc = explain(why, EXPLAIN_OPEN, open_error(list[i], errno), &at);
    }
    ibv_free_device_list(list);
    return rc;
}

void device_close(struct ibv_context *context)
{
    if (context)
        ibv_close_device(context);
}
