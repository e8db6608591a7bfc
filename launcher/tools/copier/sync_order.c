/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_order.h"

#include "common/text/parsed_json.h"
#include "launcher/base/tree/tree_list.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int order_refuse(struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "the launcher's order is malformed");
}

static int roots_parse(struct sync_order *o, const json_t *roots, struct fault *why)
{
    size_t count = json_array_size(roots);

    if (count == 0 || count > SYNC_ROOTS_MOST)
        return order_refuse(why);
    o->roots = calloc(count, sizeof(*o->roots));
    if (!o->roots)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    o->root_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *root = json_array_get(roots, i);

        o->roots[i].directory = json_string_value(json_array_get(root, 0));
        o->roots[i].name = json_string_value(json_array_get(root, 1));
        if (!o->roots[i].directory || !o->roots[i].directory[0] || !o->roots[i].name ||
            !tree_list_is_name(o->roots[i].name))
            return order_refuse(why);
    }
    return 0;
}

static int exclude_parse(struct sync_order *o, const json_t *patterns, struct fault *why)
{
    size_t count = json_array_size(patterns);

    o->exclude = calloc(count + 1, sizeof(*o->exclude));
    if (!o->exclude)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        o->exclude[i] = (char *)(uintptr_t)json_string_value(json_array_get(patterns, i));
        if (!o->exclude[i])
            return order_refuse(why);
    }
    return 0;
}

static bool secret_parse(struct sync_order *o, const char *hex)
{
    size_t size = 0;

    return sodium_hex2bin(o->secret, sizeof(o->secret), hex, strlen(hex), NULL, &size, NULL) == 0 &&
           size == sizeof(o->secret);
}

static int rdma_parse(struct sync_order *o, struct fault *why)
{
    struct rdma_choice *r = &o->rdma;

    *r = (struct rdma_choice){.gid_index = -1};
    if (json_unpack(o->json, "{s?{si si si si}}", "rdma", "port", &r->port, "gid_index",
                    &r->gid_index, "mtu", &r->mtu, "qp", &r->qp))
        return order_refuse(why);
    return 0;
}

static void sync_order_destroy(struct sync_order *o)
{
    sodium_memzero(o->secret, sizeof(o->secret));
    free(o->roots);
    free(o->exclude);
    json_decref(o->json);
}

int sync_order_parse(struct sync_order *out, const char *text, size_t size, struct fault *why)
{
    struct sync_order o = {.json = parsed_json(text, size, JSON_REJECT_DUPLICATES, NULL)};
    json_t *roots = NULL, *exclude = NULL;
    const char *secret = "";
    int comparing = 0, checksum = 0, is_delete = 0, git = 0;
    int rc = 0;

    if (json_unpack(o.json, "{ss ss si ss so so sb sb sb sb}", "job", &o.job, "secret", &secret,
                    "host", &o.host, "ip", &o.ip, "roots", &roots, "exclude", &exclude, "comparing",
                    &comparing, "checksum", &checksum, "delete", &is_delete, "git", &git) ||
        strlen(o.job) >= AUTH_JOB || o.host < 0 || !secret_parse(&o, secret))
        rc = order_refuse(why);
    o.is_comparing = comparing;
    o.is_checksum = checksum;
    o.is_delete = is_delete;
    o.is_git = git;
    if (!rc)
        rc = roots_parse(&o, roots, why);
    if (!rc)
        rc = exclude_parse(&o, exclude, why);
    if (!rc)
        rc = rdma_parse(&o, why);
    if (rc)
        sync_order_destroy(&o);
    else
        *out = o;
    return rc;
}

/* Without `rails` there are none. */
static int rails_parse(struct sync_rails *out, const json_t *rails, struct fault *why)
{
    const json_t *ports = json_object_get(rails, "ports");
    const char *name = json_string_value(json_object_get(rails, "name"));
    size_t count = json_array_size(ports);

    if (!rails)
        return 0;
    if (!name || strlen(name) >= sizeof(out->name) || count == 0 || count > RDMA_RAILS)
        return order_refuse(why);
    snprintf(out->name, sizeof(out->name), "%s", name);
    for (size_t i = 0; i < count; i++) {
        const char *port = json_string_value(json_array_get(ports, i));

        if (!port || strlen(port) >= sizeof(out->ports[i]))
            return order_refuse(why);
        snprintf(out->ports[i], sizeof(out->ports[i]), "%s", port);
    }
    out->count = (int)count;
    return 0;
}

int sync_order_parse_place(struct sync_place *out, const char *text, size_t size, struct fault *why)
{
    json_t *json = parsed_json(text, size, JSON_REJECT_DUPLICATES, NULL);
    struct sync_place p = {0};
    const char *address = "";
    json_int_t round = 0;
    int is_fed = 0, rc = 0;

    if (json_unpack(json, "{sI sb si si ss}", "round", &round, "is_fed", &is_fed, "previous",
                    &p.previous, "next", &p.next, "address", &address) ||
        round < 1 || round > INT32_MAX || strlen(address) >= sizeof(p.address))
        rc = order_refuse(why);
    p.round = (uint32_t)round;
    if (!rc)
        rc = rails_parse(&p.from, json_object_get(json, "from"), why);
    if (!rc)
        rc = rails_parse(&p.to, json_object_get(json, "to"), why);
    p.is_fed = is_fed;
    snprintf(p.address, sizeof(p.address), "%s", address);
    json_decref(json);
    if (!rc)
        *out = p;
    return rc;
}
