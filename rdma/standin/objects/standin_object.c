/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void standin_lock(struct standin_context *c)
{
    pthread_mutex_lock(&c->lock);
}

void standin_unlock(struct standin_context *c)
{
    pthread_mutex_unlock(&c->lock);
}

void standin_wake(struct standin_context *c)
{
    const uint64_t one = 1;

    if (c->wake >= 0 && !pthread_equal(pthread_self(), c->thread))
        (void)!write(c->wake, &one, sizeof(one));
}

/* --- objects ---------------------------------------------------------------------------------- */

static void objects_tell(struct standin_context *c)
{
    struct fabric_objects *o = standin_objects_of(c);

    o->pds = (uint32_t)c->created[STANDIN_PD];
    o->mrs = (uint32_t)c->created[STANDIN_MR];
    o->cqs = (uint32_t)c->created[STANDIN_CQ];
    o->qps = (uint32_t)c->created[STANDIN_QP];
}

void *standin_object_create(struct standin_context *c, enum standin_kind kind, size_t size,
                            size_t offset, int most)
{
    static const char *const names[STANDIN_KINDS] = {
        [STANDIN_PD] = "protection domain", [STANDIN_MR] = "memory region",
        [STANDIN_CQ] = "completion queue",  [STANDIN_CHANNEL] = "completion channel",
        [STANDIN_QP] = "queue pair",        [STANDIN_SRQ] = "shared receive queue",
        [STANDIN_AH] = "address handle"};
    struct standin_object *o;
    char *memory;

    if (most > 0 && c->created[kind] >= most) {
        standin_break(RULE_LIMIT, c, names[kind], "one more than the %d that the device has", most);
        errno = ENOMEM;
        return NULL;
    }
    if (c->is_broken) {
        errno = ENODEV;
        return NULL;
    }
    memory = calloc(1, size);
    if (!memory)
        return NULL;
    o = (struct standin_object *)(void *)(memory + offset);
    *o = (struct standin_object){.kind = kind, .next = c->objects, .memory = memory};
    c->objects = o;
    c->created[kind]++;
    objects_tell(c);
    return memory;
}

void standin_object_destroy(struct standin_context *c, struct standin_object *o)
{
    o->is_dead = true;
    c->created[o->kind]--;
    objects_tell(c);
}

void standin_objects_free(struct standin_context *c)
{
    while (c->objects) {
        struct standin_object *o = c->objects;

        c->objects = o->next;
        free(o->memory);
    }
}

void standin_context_break(struct standin_context *c, bool has_failed)
{
    if (c->is_broken || c->is_closing)
        return;
    c->is_broken = true;
    if (has_failed)
        fprintf(stderr, "libibverbs (stand-in): the device %s of %s has failed\n",
                c->verbs.context.device->name, c->device.host);
    else
        fprintf(stderr,
                "libibverbs (stand-in): the fabric of %s has ended, so its device %s is lost\n",
                c->device.host, c->verbs.context.device->name);
    c->on_break(c);
}

/* --- asynchronous events ---------------------------------------------------------------------- */

void standin_event(struct standin_context *c, enum ibv_event_type type, void *element, int port)
{
    struct ibv_async_event event = {.event_type = type};

    if (element)
        event.element.cq = element; /* a union of pointers */
    else
        event.element.port_num = port;
    /* A full pipe has thousands of events that nobody reads. */
    (void)!write(c->events, &event, sizeof(event));
}
