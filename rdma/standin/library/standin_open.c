/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_context.h"

#include "rdma/standin/library/standin_create.h"
#include "rdma/standin/library/standin_end.h"
#include "rdma/standin/library/standin_send.h"
#include "rdma/standin/library/standin_serve.h"
#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_link.h"
#include "rdma/standin/objects/standin_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { VECTORS = 1 };

/* --- devices ---------------------------------------------------------------------------------- */

/* The fabric has ended, or the device has. */
static void on_break(struct standin_context *c)
{
    for (uint32_t i = 1; i <= c->qp_most; i++)
        if (c->qps[i])
            standin_qp_fail(c->qps[i], IBV_WC_FATAL_ERR);
    standin_event(c, IBV_EVENT_DEVICE_FATAL, NULL, 0);
}

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr,
                      size_t size)
{
    struct standin_context *c = standin_context(context);

    if (number < 1 || number > c->device.attr.phys_port_cnt)
        return EINVAL;
    standin_lock(c);
    memset(attr, 0, size);
    memcpy(attr, &c->device.ports[number - 1].attr,
           size < sizeof(*attr) ? size : sizeof(struct ibv_port_attr));
    standin_unlock(c);
    return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *in,
                           struct ibv_device_attr_ex *attr, size_t size)
{
    (void)in;
    memset(attr, 0, size);
    attr->orig_attr = standin_context(context)->device.attr;
    attr->phys_port_cnt_ex = attr->orig_attr.phys_port_cnt;
    return 0;
}

static int compat_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    return ibv_query_device(context, attr);
}

#undef ibv_query_port
static int compat_query_port(struct ibv_context *context, uint8_t number,
                             struct _compat_ibv_port_attr *attr)
{
    return ibv_query_port(context, number, attr);
}

static void operations_set(struct verbs_context *v)
{
    v->sz = sizeof(*v);
    v->query_port = query_port;
    v->query_device_ex = query_device_ex;
    v->create_qp_ex = standin_create_qp_ex;
    v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    v->context.ops = (struct ibv_context_ops){
        ._compat_query_device = compat_query_device,
        ._compat_query_port = compat_query_port,
        .poll_cq = standin_cq_poll,
        .req_notify_cq = standin_cq_notify,
        .post_srq_recv = standin_srq_post,
        .post_send = standin_post_send,
        .post_recv = standin_post_receive,
    };
}

static void context_free(struct standin_context *c)
{
    standin_link_close(c);
    if (c->wake >= 0)
        close(c->wake);
    if (c->events >= 0)
        close(c->events);
    if (c->verbs.context.async_fd >= 0)
        close(c->verbs.context.async_fd);
    standin_memory_free(c);
    standin_objects_free(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static int context_start(struct standin_context *c, struct ibv_device *device)
{
    char path[sizeof(device->dev_name) + sizeof("/dev/infiniband/.socket")];
    int events[2], err, fd;

    snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
    fd = open(path, O_RDWR | O_CLOEXEC); /* may this user? */
    if (fd < 0)
        return errno;
    close(fd);
    snprintf(path, sizeof(path), "/dev/infiniband/%s.socket", device->dev_name);
    err = standin_link_open(c, path);
    if (err)
        return err;
    if (pipe2(events, O_CLOEXEC))
        return errno;
    c->verbs.context.async_fd = events[0];
    c->events = events[1];
    fcntl(c->events, F_SETFL, O_NONBLOCK);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->wake < 0)
        return errno;
    return standin_serve_start(c);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct standin_context *c = calloc(1, sizeof(*c));
    int err;

    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->on_break = on_break;
    c->on_cq_full = standin_qp_fail_users;
    c->fabric = c->arena.fd = c->wake = c->events = c->verbs.context.async_fd = -1;
    c->verbs.context.device = device;
    c->verbs.context.cmd_fd = -1;
    c->verbs.context.num_comp_vectors = VECTORS;
    pthread_mutex_init(&c->verbs.context.mutex, NULL);
    operations_set(&c->verbs);
    err = context_start(c, device);
    if (err) {
        context_free(c);
        errno = err;
        return NULL;
    }
    return &c->verbs.context;
}

struct ibv_context *ibv_import_device(int fd)
{
    (void)fd;
    errno = EOPNOTSUPP;
    return NULL;
}

int ibv_close_device(struct ibv_context *context)
{
    struct standin_context *c = standin_context(context);

    standin_lock(c);
    c->is_closing = true;
    standin_unlock(c);
    standin_serve_stop(c);
    for (uint32_t i = 1; i <= c->qp_most; i++)
        if (c->qps[i])
            ibv_destroy_qp(&c->qps[i]->verbs.qp_base);
    context_free(c);
    return 0;
}

/* --- what is asked of devices ----------------------------------------------------------------- */

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    *attr = standin_context(context)->device.attr;
    return 0;
}

/* The older call, for programs that were not built with ibv_port_attr's last members. */
int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *attr)
{
    return query_port(context, number, (struct ibv_port_attr *)attr,
                      offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_pkey(struct ibv_context *context, uint8_t number, int index, __be16 *pkey)
{
    if (number < 1 || number > standin_context(context)->device.attr.phys_port_cnt || index)
        return -1;
    *pkey = 0xffff;
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t number, __be16 pkey)
{
    if (number < 1 || number > standin_context(context)->device.attr.phys_port_cnt ||
        pkey != 0xffff)
        return -1;
    return 0;
}
