/* SPDX-License-Identifier: MIT */
#include "rdma/probe/trial_question.h"

#include "common/text/object_field.h"
#include "rdma/probe/describe.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_BITS = 16, WAIT_MS = 5000 /* unless the question says otherwise */ };

static int number_of(const json_t *object, const char *key, int otherwise)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);

    return json_is_integer(value) && number >= INT_MIN && number <= INT_MAX ? (int)number
                                                                            : otherwise;
}

static void port_read(struct trial_port *p, int host, uint32_t id, const json_t *device,
                      const json_t *port)
{
    *p = (struct trial_port){.host = host,
                             .id = id,
                             .device = object_field_text(device, "name"),
                             .number = number_of(port, "port", 0),
                             .mtu = number_of(port, "active_mtu", 0),
                             .is_ethernet =
                                 strcmp(object_field_text(port, "link_layer"), "Ethernet") == 0,
                             .lid = (uint16_t)number_of(port, "lid", 0),
                             .queue_pair = (uint32_t)number_of(port, "queue_pair", 0)};
    p->gid_count = describe_gids_read(json_object_get(port, "gids"), p->gids, GID_MOST);
}

/* If memory runs out, the rest of the ports is not tried. */
static void host_read(struct trial_host *h, int host, const json_t *devices)
{
    uint32_t id = (uint32_t)host << PORT_BITS;
    json_t *device, *port;
    size_t i, k;

    json_array_foreach(devices, i, device)
    {
        json_array_foreach(json_object_get(device, "ports"), k, port)
        {
            struct trial_port *more;
            uint32_t its = id++;

            if (!json_is_integer(json_object_get(port, "queue_pair")))
                continue;
            more = realloc(h->ports, ((size_t)h->count + 1) * sizeof(*more));
            if (!more)
                return;
            h->ports = more;
            port_read(&h->ports[h->count++], host, its, device, port);
        }
    }
}

void trial_question_read(struct trial_question *q, json_t *root)
{
    const json_t *hosts = json_object_get(root, "hosts"), *wiring = json_object_get(root, "wiring");

    *q = (struct trial_question){.root = root,
                                 .host = number_of(root, "host", -1),
                                 .wiring = json_is_array(wiring) ? wiring : NULL,
                                 .port = number_of(root, "port", 0),
                                 .gid_index = number_of(root, "gid_index", -1),
                                 .mtu = number_of(root, "mtu", 0),
                                 .wait_ms = trial_question_wait_ms(root),
                                 .tag = (uint64_t)json_integer_value(json_object_get(root, "tag"))};
    q->hosts = calloc(json_array_size(hosts) + 1, sizeof(*q->hosts));
    q->host_count = q->hosts ? (int)json_array_size(hosts) : 0;
    for (int i = 0; i < q->host_count; i++)
        host_read(&q->hosts[i], i, json_array_get(hosts, (size_t)i));
    if (q->host < 0 || q->host >= q->host_count)
        q->host = -1;
}

void trial_question_clear(struct trial_question *q)
{
    for (int i = 0; i < q->host_count; i++)
        free(q->hosts[i].ports);
    free(q->hosts);
    json_decref(q->root);
    *q = (struct trial_question){.host = -1};
}

int trial_question_wait_ms(const json_t *root)
{
    return number_of(root, "wait_ms", WAIT_MS);
}
