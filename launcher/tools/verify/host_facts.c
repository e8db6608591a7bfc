/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/host_facts.h"

#include "common/text/number.h"
#include "launcher/base/text/amount.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MOST = 255, GIDS_MOST = 64, COUNTERS_MOST = 256 };

const char *const host_fact_titles[HOST_FACTS] = {
    "OS",          "kernel",     "CPU",       "cores",      "memory",     "NUMA nodes",
    "governor",    "huge pages", "security",  "GPUs",       "GPU driver", "GPU dmabuf",
    "GPU peermem", "GPU NICs",   "GPU cores", "libibverbs", "Python",     "mlaunch"};

/* The members of "system" that are texts. */
static const struct fact_text {
    const char *key;
    enum host_fact fact;
} texts[] = {{"os", HOST_OS},
             {"kernel", HOST_KERNEL},
             {"cpu", HOST_CPU},
             {"governor", HOST_GOVERNOR},
             {"huge_pages", HOST_HUGE_PAGES},
             {"security", HOST_SECURITY},
             {"gpus", HOST_GPUS},
             {"gpu_driver", HOST_GPU_DRIVER},
             {"gpu_dmabuf", HOST_GPU_DMABUF},
             {"gpu_peermem", HOST_GPU_PEERMEM},
             {"gpu_nics", HOST_GPU_NICS},
             {"gpu_cores", HOST_GPU_CORES},
             {"verbs", HOST_VERBS},
             {"python", HOST_PYTHON},
             {"mlaunch", HOST_MLAUNCH}};

static int member_refuse(const char *key, struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER: \"%s\"", key);
}

/* A member that is missing is "". */
static int text_read(const json_t *object, const char *key, char *out, size_t size,
                     struct fault *why)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_string(value))
        return member_refuse(key, why);
    snprintf(out, size, "%s", value ? json_string_value(value) : "");
    return 0;
}

/* A member that is missing is `otherwise`. */
static int number_read(const json_t *object, const char *key, double otherwise, double *out,
                       struct fault *why)
{
    const json_t *value = json_object_get(object, key);

    if (value && !json_is_number(value))
        return member_refuse(key, why);
    *out = value ? json_number_value(value) : otherwise;
    return 0;
}

/* Numbers beyond the bounds are refused. */
static int whole_read(const json_t *object, const char *key, long long otherwise, long long most,
                      long long *out, struct fault *why)
{
    const json_t *value = json_object_get(object, key);

    if (value && (!json_is_integer(value) || json_integer_value(value) < -1 ||
                  json_integer_value(value) > most))
        return member_refuse(key, why);
    *out = value ? json_integer_value(value) : otherwise;
    return 0;
}

static int system_read(struct host_facts *h, const json_t *s, struct fault *why)
{
    enum { CORES_MOST = 1 << 20 };
    long long nodes = 0;
    int rc = json_is_object(s) ? 0 : member_refuse("system", why);

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !rc; i++)
        rc = text_read(s, texts[i].key, h->text[texts[i].fact], HOST_FACT_TEXT, why);
    if (rc || (rc = text_read(s, "addresses", h->addresses, sizeof(h->addresses), why)) ||
        (rc = text_read(s, "boot", h->boot, sizeof(h->boot), why)) ||
        (rc = text_read(s, "namespaces", h->namespaces, sizeof(h->namespaces), why)) ||
        (rc = number_read(s, "memory_bytes", 0, &h->memory, why)) ||
        (rc = number_read(s, "memory_available_bytes", 0, &h->memory_available, why)) ||
        (rc = number_read(s, "load", -1, &h->load, why)) ||
        (rc = whole_read(s, "cores", 0, CORES_MOST, &h->cores, why)) ||
        (rc = whole_read(s, "numa_nodes", 0, CORES_MOST, &nodes, why)) ||
        (rc = whole_read(s, "uptime_s", 0, INT64_MAX, &h->uptime_s, why)))
        return rc;
    if (h->cores > 0)
        snprintf(h->text[HOST_CORES], HOST_FACT_TEXT, "%lld", h->cores);
    if (nodes > 0)
        snprintf(h->text[HOST_NUMA_NODES], HOST_FACT_TEXT, "%lld", nodes);
    if (h->memory > 0)
        amount_size(h->text[HOST_MEMORY], h->memory);
    return 0;
}

static int limit_read(const json_t *limits, const char *key, double *out, struct fault *why)
{
    int rc = number_read(limits, key, HUGE_VAL, out, why);

    if (*out < 0) /* -1 */
        *out = HUGE_VAL;
    return rc;
}

static int limits_read(struct host_limits *l, const json_t *limits, struct fault *why)
{
    const struct {
        const char *key;
        double *value;
    } all[] = {{"memlock", &l->memlock},
               {"nofile", &l->nofile},
               {"nproc", &l->nproc},
               {"shm_free_bytes", &l->shm_free},
               {"tmp_free_bytes", &l->tmp_free},
               {"cache_free_bytes", &l->cache_free},
               {"cgroup_cpus", &l->cgroup_cpus},
               {"cgroup_memory_bytes", &l->cgroup_memory}};
    const struct {
        const char *key;
        char *text;
    } reasons[] = {{"no_process_read", l->no_process_read},
                   {"tmp", l->tmp},
                   {"no_tmp", l->no_tmp},
                   {"no_shm", l->no_shm},
                   {"no_cache", l->no_cache}};
    int rc = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !rc; i++)
        rc = limit_read(limits, all[i].key, all[i].value, why);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons) && !rc; i++)
        rc = text_read(limits, reasons[i].key, reasons[i].text, HOST_FACT_TEXT, why);
    return rc;
}

static int gids_read(struct host_port *p, const json_t *list, struct fault *why)
{
    const json_t *one;
    size_t i;
    int rc = 0;

    if (json_array_size(list) > GIDS_MOST)
        return member_refuse("gids", why);
    p->gids = calloc(json_array_size(list) + 1, sizeof(*p->gids));
    if (!p->gids)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(list, i, one)
    {
        struct host_gid *g = &p->gids[p->gid_count++];

        if ((rc = text_read(one, "gid", g->text, sizeof(g->text), why)) ||
            (rc = text_read(one, "type", g->type, sizeof(g->type), why)))
            break;
    }
    return rc;
}

/* "4: ACTIVE" is ACTIVE. */
static void word_keep(char *text)
{
    const char *colon = strchr(text, ':');

    if (colon)
        memmove(text, colon + 1 + strspn(colon + 1, " "),
                strlen(colon + 1 + strspn(colon + 1, " ")) + 1);
}

static int counters_check(const json_t *counters, struct fault *why)
{
    const char *key;
    json_t *value;

    if (counters && (!json_is_object(counters) || json_object_size(counters) > COUNTERS_MOST))
        return member_refuse("counters", why);
    json_object_foreach((json_t *)(uintptr_t)counters, key, value)
    {
        if (!json_is_integer(value))
            return member_refuse("counters", why);
    }
    return 0;
}

static int port_read(struct host_port *p, const json_t *port, struct fault *why)
{
    char number[16], layer[HOST_FACT_NAME];
    long long mtu, links, up;
    int64_t index;
    int rc;

    if ((rc = text_read(port, "port", number, sizeof(number), why)) ||
        (rc = text_read(port, "state", p->state, sizeof(p->state), why)) ||
        (rc = text_read(port, "physical", p->physical, sizeof(p->physical), why)) ||
        (rc = text_read(port, "rate", p->rate, sizeof(p->rate), why)) ||
        (rc = text_read(port, "link_layer", layer, sizeof(layer), why)) ||
        (rc = text_read(port, "interface", p->interface, sizeof(p->interface), why)) ||
        (rc = text_read(port, "pkey", p->pkey, sizeof(p->pkey), why)) ||
        (rc = whole_read(port, "mtu", 0, 1 << 20, &mtu, why)) ||
        (rc = text_read(port, "bond", p->bond, sizeof(p->bond), why)) ||
        (rc = whole_read(port, "bond_links", 0, 1024, &links, why)) ||
        (rc = whole_read(port, "bond_links_up", 0, 1024, &up, why)) ||
        (rc = gids_read(p, json_object_get(port, "gids"), why)) ||
        (rc = counters_check(json_object_get(port, "counters"), why)))
        return rc;
    if (!number_parse(number, 1, PORTS_MOST, &index))
        return member_refuse("port", why);
    p->number = (int)index;
    p->mtu = (int)mtu;
    p->bond_links = (int)links;
    p->bond_links_up = (int)up;
    p->counters = json_object_get(port, "counters");
    word_keep(p->state);
    word_keep(p->physical);
    p->gigabits = strtod(p->rate, NULL);
    p->is_active = strcmp(p->state, "ACTIVE") == 0;
    p->is_ethernet = strcmp(layer, "Ethernet") == 0;
    return 0;
}

static int ports_read(struct host_device *d, const json_t *list, struct fault *why)
{
    const json_t *one;
    size_t i;
    int rc = 0;

    if (json_array_size(list) > PORTS_MOST)
        return member_refuse("ports", why);
    d->ports = calloc(json_array_size(list) + 1, sizeof(*d->ports));
    if (!d->ports)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(list, i, one)
    {
        rc = port_read(&d->ports[d->port_count++], one, why);
        if (rc)
            break;
    }
    return rc;
}

static int device_read(struct host_device *d, const json_t *device, struct fault *why)
{
    long long width, width_most, node;
    int rc;

    if ((rc = text_read(device, "name", d->name, sizeof(d->name), why)) ||
        (rc = text_read(device, "guid", d->guid, sizeof(d->guid), why)) ||
        (rc = text_read(device, "firmware", d->firmware, sizeof(d->firmware), why)) ||
        (rc = text_read(device, "driver", d->driver, sizeof(d->driver), why)) ||
        (rc = text_read(device, "speed", d->speed, sizeof(d->speed), why)) ||
        (rc = text_read(device, "speed_most", d->speed_most, sizeof(d->speed_most), why)) ||
        (rc = text_read(device, "iommu", d->iommu, sizeof(d->iommu), why)) ||
        (rc = text_read(device, "error", d->error, sizeof(d->error), why)) ||
        (rc = whole_read(device, "width", 0, 255, &width, why)) ||
        (rc = whole_read(device, "width_most", 0, 255, &width_most, why)) ||
        (rc = whole_read(device, "numa_node", -1, 65535, &node, why)) ||
        (rc = ports_read(d, json_object_get(device, "ports"), why)))
        return rc;
    if (!d->name[0])
        return member_refuse("name", why);
    d->width = (int)width;
    d->width_most = (int)width_most;
    d->numa_node = (int)node;
    return 0;
}

static int devices_read(struct host_facts *h, const json_t *list, struct fault *why)
{
    const json_t *one;
    size_t i;
    int rc = 0;

    if (!json_is_array(list) || json_array_size(list) > HOST_DEVICES_MOST)
        return member_refuse("devices", why);
    h->devices = calloc(json_array_size(list) + 1, sizeof(*h->devices));
    if (!h->devices)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(list, i, one)
    {
        rc = device_read(&h->devices[h->device_count++], one, why);
        if (rc)
            break;
    }
    return rc;
}

int host_facts_read(struct host_facts *out, json_t *said, struct fault *why)
{
    int rc;

    host_facts_clear(out);
    out->said = json_incref(said);
    if ((rc = system_read(out, json_object_get(said, "system"), why)) ||
        (rc = limits_read(&out->limits, json_object_get(said, "limits"), why)) ||
        (rc = number_read(said, "time", 0, &out->time, why)) ||
        (rc = devices_read(out, json_object_get(said, "devices"), why)))
        return rc;
    out->is_known = true;
    return 0;
}

void host_facts_clear(struct host_facts *h)
{
    for (int i = 0; i < h->device_count; i++) {
        for (int k = 0; k < h->devices[i].port_count; k++)
            free(h->devices[i].ports[k].gids);
        free(h->devices[i].ports);
    }
    free(h->devices);
    json_decref(h->said);
    memset(h, 0, sizeof(*h));
}

const struct host_device *host_facts_device(const struct host_facts *h, const char *name)
{
    for (int i = 0; i < h->device_count; i++)
        if (strcmp(h->devices[i].name, name) == 0)
            return &h->devices[i];
    return NULL;
}

const struct host_port *host_facts_port(const struct host_device *d, int number)
{
    for (int i = 0; i < d->port_count; i++)
        if (d->ports[i].number == number)
            return &d->ports[i];
    return NULL;
}

bool host_facts_has_port(const struct host_facts *h)
{
    for (int i = 0; i < h->device_count; i++)
        for (int k = 0; k < h->devices[i].port_count; k++)
            if (h->devices[i].ports[k].is_active)
                return true;
    return false;
}

bool host_facts_are_one(const struct host_facts *a, const struct host_facts *b)
{
    return a->boot[0] && a->namespaces[0] && strcmp(a->boot, b->boot) == 0 &&
           strcmp(a->namespaces, b->namespaces) == 0;
}
