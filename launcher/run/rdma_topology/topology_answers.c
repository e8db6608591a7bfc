/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_answers.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* Far above what a host has. */
enum {
    DEVICES_MOST = 256,
    GIDS_MOST = 256,
    TRIES_MOST = 4096,
    INDEX_MOST = 65535,
    MTU_MOST = 65536,
    QUEUE_PAIR_MOST = (1 << 24) - 1,
    ERROR_MOST = 1023,
    TYPE_TEXT = 16,
};

/* --- members of an object ----------------------------------------------------------------------
 */

/* The first malformed member sets rc and *why; what is read after it is of no use. */
struct topology_reader {
    const json_t *object;
    struct fault *why;
    int rc;
};

static struct topology_reader reader_of(const json_t *object, struct fault *why)
{
    struct topology_reader r = {object, why, 0};

    if (!json_is_object(object))
        r.rc = fault_set(why, ML_ERR_REFUSED, "it is not an object");
    return r;
}

static void reader_refuse(struct topology_reader *r, const char *key, const char *expected)
{
    if (!r->rc)
        r->rc = fault_set(r->why, ML_ERR_REFUSED, "\"%s\" is not %s", key, expected);
}

/* `otherwise`: it is absent. */
static int read_number(struct topology_reader *r, const char *key, int least, int most,
                       int otherwise)
{
    const json_t *value = json_object_get(r->object, key);
    json_int_t number = json_integer_value(value);

    if (!value)
        return otherwise;
    if (json_is_integer(value) && number >= least && number <= most)
        return (int)number;
    if (!r->rc)
        r->rc = fault_set(r->why, ML_ERR_REFUSED, "\"%s\" is not a whole number from %d to %d", key,
                          least, most);
    return otherwise;
}

static bool read_flag(struct topology_reader *r, const char *key)
{
    const json_t *value = json_object_get(r->object, key);

    if (value && !json_is_boolean(value))
        reader_refuse(r, key, "true or false");
    return json_is_true(value);
}

/* At most `most` bytes, without control characters, which could steer the user's terminal. "": it
 * is absent. */
static const char *read_text(struct topology_reader *r, const char *key, size_t most)
{
    const json_t *value = json_object_get(r->object, key);
    const char *text = json_string_value(value);

    if (!value)
        return "";
    if (!text || json_string_length(value) > most || strlen(text) != json_string_length(value)) {
        reader_refuse(r, key, "a text of moderate length");
        return "";
    }
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            reader_refuse(r, key, "plain text");
    return text;
}

static void read_text_into(struct topology_reader *r, const char *key, char *out, size_t room)
{
    const char *text = read_text(r, key, room - 1);

    memcpy(out, text, strlen(text) + 1);
}

/* NULL: it is absent or empty. */
static char *read_error(struct topology_reader *r)
{
    const char *text = read_text(r, "error", ERROR_MOST);
    char *copy = *text && !r->rc ? strdup(text) : NULL;

    if (*text && !copy && !r->rc)
        r->rc = fault_set(r->why, ML_ERR_MEMORY, "out of memory");
    return copy;
}

/* Zeroed room for a list's elements, of `size` bytes each; NULL if it is absent or empty. */
static void *read_list(struct topology_reader *r, const char *key, size_t most, size_t size,
                       int *count)
{
    const json_t *list = json_object_get(r->object, key);
    void *room;

    *count = 0;
    if (list && (!json_is_array(list) || json_array_size(list) > most))
        reader_refuse(r, key, "a list of moderate length");
    if (r->rc || json_array_size(list) == 0)
        return NULL;
    room = calloc(json_array_size(list), size);
    if (room)
        *count = (int)json_array_size(list);
    else
        r->rc = fault_set(r->why, ML_ERR_MEMORY, "out of memory");
    return room;
}

/* --- devices -----------------------------------------------------------------------------------
 */

static int gid_read(struct topology_gid *g, const json_t *object, struct fault *why)
{
    struct topology_reader r = reader_of(object, why);
    unsigned char raw[sizeof(struct in6_addr)] = {0}, four[sizeof(struct in_addr)];
    char type[TYPE_TEXT];

    g->index = read_number(&r, "index", 0, INDEX_MOST, 0);
    g->prefix = read_number(&r, "prefix", 0, 128, 0);
    read_text_into(&r, "gid", g->text, sizeof(g->text));
    read_text_into(&r, "ipv4", g->ipv4, sizeof(g->ipv4));
    read_text_into(&r, "type", type, sizeof(type));
    if (inet_pton(AF_INET6, g->text, raw) != 1)
        reader_refuse(&r, "gid", "a GID");
    if (g->ipv4[0] && inet_pton(AF_INET, g->ipv4, four) != 1)
        reader_refuse(&r, "ipv4", "an IPv4 address");
    g->is_link_local = raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80 && strcmp(type, "RoCE v2") == 0;
    return r.rc;
}

static int port_read(struct topology_port *p, const json_t *object, struct fault *why)
{
    static const char *const layers[] = {"", "Ethernet", "InfiniBand"};
    struct topology_reader r = reader_of(object, why);
    const json_t *rate = json_object_get(object, "gigabits");
    const char *layer = read_text(&r, "link_layer", TOPOLOGY_STATE_TEXT);

    p->number = read_number(&r, "port", 1, PORT_NAME_MOST, 0);
    p->is_active = read_flag(&r, "is_active");
    p->is_untried = *read_text(&r, "untried", ERROR_MOST) != '\0';
    p->active_mtu = read_number(&r, "active_mtu", 0, MTU_MOST, 0);
    p->lid = read_number(&r, "lid", 0, INDEX_MOST, 0);
    p->gigabits = json_number_value(rate);
    read_number(&r, "queue_pair", 0, QUEUE_PAIR_MOST, 0);
    read_text_into(&r, "state", p->state, sizeof(p->state));
    for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++)
        if (strcmp(layers[i], layer) == 0)
            p->link_layer = layers[i];
    p->is_infiniband = p->link_layer == layers[2];
    if (p->number == 0)
        reader_refuse(&r, "port", "there");
    if (!p->link_layer)
        reader_refuse(&r, "link_layer", "Ethernet or InfiniBand");
    if (rate && (!json_is_number(rate) || !(p->gigabits >= 0)))
        reader_refuse(&r, "gigabits", "a rate");
    p->gids = read_list(&r, "gids", GIDS_MOST, sizeof(*p->gids), &p->gid_count);
    for (int i = 0; i < p->gid_count && !r.rc; i++)
        if (gid_read(&p->gids[i], json_array_get(json_object_get(object, "gids"), (size_t)i), why))
            r.rc = fault_wrap(why, "gids[%d]", i);
    return r.rc;
}

/* The name in the object; refused if a device before this one has the same. */
static void name_read(struct topology_reader *r, char name[PORT_NAME_DEVICE],
                      const struct topology_host *h, int before)
{
    read_text_into(r, "name", name, PORT_NAME_DEVICE);
    if (!*name || strchr(name, '/'))
        reader_refuse(r, "name", "a device's name");
    for (int i = 0; i < before; i++)
        if (strcmp(h->devices[i].name, name) == 0)
            reader_refuse(r, "name", "another one than before");
}

static int device_read(struct topology_host *h, int at, const json_t *object, struct fault *why)
{
    struct topology_reader r = reader_of(object, why);
    struct topology_device *d = &h->devices[at];

    name_read(&r, d->name, h, at);
    d->error = read_error(&r);
    d->ports = read_list(&r, "ports", PORT_NAME_MOST, sizeof(*d->ports), &d->port_count);
    for (int i = 0; i < d->port_count && !r.rc; i++) {
        const json_t *port = json_array_get(json_object_get(object, "ports"), (size_t)i);

        if (port_read(&d->ports[i], port, why))
            r.rc = fault_wrap(why, "ports[%d]", i);
        else if (topology_answers_port(d, d->ports[i].number) != &d->ports[i])
            r.rc = fault_set(why, ML_ERR_REFUSED, "ports[%d] has another one's number", i);
    }
    return r.rc;
}

/* Makes room for the devices of an answer, for topology_answers_clear to free. */
static int devices_make(struct topology_host *out, const json_t *devices, struct fault *why)
{
    *out = (struct topology_host){NULL, (int)json_array_size(devices)};
    if (!json_is_array(devices) || json_array_size(devices) > DEVICES_MOST)
        return fault_set(why, ML_ERR_REFUSED,
                         "its RDMA probe's answer is malformed: \"devices\" is not a "
                         "list of moderate length");
    out->devices = calloc((size_t)out->device_count + 1, sizeof(*out->devices));
    return out->devices ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

static int answer_refuse(struct fault *why, int device)
{
    return fault_wrap(why, "its RDMA probe's answer is malformed: devices[%d]", device);
}

int topology_answers_read_devices(struct topology_host *hosts, int host, const json_t *devices,
                                  struct fault *why)
{
    struct topology_host fresh;
    int rc = devices_make(&fresh, devices, why);

    if (rc)
        return rc;
    for (int i = 0; i < fresh.device_count && !rc; i++)
        if (device_read(&fresh, i, json_array_get(devices, (size_t)i), why))
            rc = answer_refuse(why, i);
    if (rc) {
        topology_answers_clear(&fresh);
        return rc;
    }
    topology_answers_clear(&hosts[host]);
    hosts[host] = fresh;
    return 0;
}

/* --- tries -------------------------------------------------------------------------------------
 */

static int try_read(struct topology_try *t, const struct topology_host *hosts, int count, int host,
                    const struct topology_device *d, const json_t *object, struct fault *why)
{
    struct topology_reader r = reader_of(object, why);
    const char *device = read_text(&r, "device", PORT_NAME_DEVICE);
    const json_t *gid = json_object_get(object, "gid"), *peer = json_object_get(object, "peer_gid");
    const struct topology_host *other;

    t->port = read_number(&r, "port", 1, PORT_NAME_MOST, 0);
    t->peer_port = read_number(&r, "peer_port", 1, PORT_NAME_MOST, 0);
    t->host = read_number(&r, "host", 0, count - 1, host);
    t->mtu = read_number(&r, "mtu", 0, MTU_MOST, 0);
    t->is_shared = read_flag(&r, "shared");
    t->carries = read_flag(&r, "carries");
    t->carries_long = read_flag(&r, "whole");
    t->error = read_error(&r);
    if (t->host == host)
        reader_refuse(&r, "host", "another host");
    other = &hosts[t->host];
    t->device = topology_answers_device(other, device);
    if (t->device < 0)
        reader_refuse(&r, "device", "a device of that host");
    else if (!topology_answers_port(&other->devices[t->device], t->peer_port))
        reader_refuse(&r, "peer_port", "a port of that device");
    if (!topology_answers_port(d, t->port))
        reader_refuse(&r, "port", "a port of the device");
    if (!r.rc && gid && gid_read(&t->gid, gid, why))
        r.rc = fault_wrap(why, "gid");
    if (!r.rc && peer && gid_read(&t->peer_gid, peer, why))
        r.rc = fault_wrap(why, "peer_gid");
    return r.rc;
}

/* Into fresh->devices[at], whose place in the host's list is *place. */
static int tries_read(struct topology_host *fresh, int at, const struct topology_host *hosts,
                      int count, int host, const json_t *object, int *place, struct fault *why)
{
    struct topology_reader r = reader_of(object, why);
    struct topology_device *d = &fresh->devices[at];

    name_read(&r, d->name, fresh, at);
    *place = topology_answers_device(&hosts[host], d->name);
    if (*place < 0)
        reader_refuse(&r, "name", "a device that was there before");
    d->try_error = read_error(&r);
    d->tries = read_list(&r, "tries", TRIES_MOST, sizeof(*d->tries), &d->try_count);
    for (int i = 0; i < d->try_count && !r.rc; i++) {
        const json_t *try = json_array_get(json_object_get(object, "tries"), (size_t)i);

        if (try_read(&d->tries[i], hosts, count, host, &hosts[host].devices[*place], try, why))
            r.rc = fault_wrap(why, "tries[%d]", i);
    }
    return r.rc;
}

static void tries_clear(struct topology_device *d)
{
    for (int i = 0; i < d->try_count; i++)
        free(d->tries[i].error);
    free(d->tries);
    free(d->try_error);
    d->tries = NULL;
    d->try_count = 0;
    d->try_error = NULL;
}

int topology_answers_read_tries(struct topology_host *hosts, int count, int host,
                                const json_t *devices, struct fault *why)
{
    struct topology_host fresh;
    int rc = devices_make(&fresh, devices, why), places[DEVICES_MOST];

    if (rc)
        return rc;
    for (int i = 0; i < fresh.device_count && !rc; i++)
        if (tries_read(&fresh, i, hosts, count, host, json_array_get(devices, (size_t)i),
                       &places[i], why))
            rc = answer_refuse(why, i);
    for (int i = 0; i < fresh.device_count && !rc; i++) {
        struct topology_device *from = &fresh.devices[i], *to = &hosts[host].devices[places[i]];

        tries_clear(to);
        to->tries = from->tries;
        to->try_count = from->try_count;
        to->try_error = from->try_error;
        *from = (struct topology_device){.name = ""};
    }
    topology_answers_clear(&fresh);
    return rc;
}

/* --- what has been read ------------------------------------------------------------------------
 */

void topology_answers_clear(struct topology_host *h)
{
    for (int i = 0; h->devices && i < h->device_count; i++) {
        struct topology_device *d = &h->devices[i];

        tries_clear(d);
        for (int k = 0; k < d->port_count; k++)
            free(d->ports[k].gids);
        free(d->ports);
        free(d->error);
    }
    free(h->devices);
    *h = (struct topology_host){NULL, 0};
}

int topology_answers_device(const struct topology_host *h, const char *name)
{
    for (int i = 0; i < h->device_count; i++)
        if (strcmp(h->devices[i].name, name) == 0)
            return i;
    return -1;
}

const struct topology_port *topology_answers_port(const struct topology_device *d, int number)
{
    for (int i = 0; i < d->port_count; i++)
        if (d->ports[i].number == number)
            return &d->ports[i];
    return NULL;
}

bool topology_answers_has_ipv4(const struct topology_port *p)
{
    for (int i = 0; i < p->gid_count; i++)
        if (p->gids[i].ipv4[0])
            return true;
    return false;
}
