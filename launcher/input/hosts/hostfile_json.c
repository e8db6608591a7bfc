/* SPDX-License-Identifier: MIT */
/*
 * hostfile_json.c: hostfiles as mlx.launch writes them, a list of hosts or an object around it,
 * with mlaunch's own members "slots", "env" and "cwd". Each message names the entry as a path:
 * hosts[1] (b): rdma[2][0].
 */
#include "common/log.h"
#include "common/net/address.h"
#include "common/text/parsed_json.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/device_name.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_member.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/hosts/hostfile.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const file_members[] = {"backend", "envs", "hosts", NULL};
static const char *const host_members[] = {"ssh", "ips", "rdma", "slots", "env", "cwd", NULL};

static int ssh_read(struct host *h, const json_t *value, struct fault *why)
{
    static const struct host_number port = {"port", 65535};
    struct host_name n;
    int rc;

    if (!value)
        return fault_set(why, ML_ERR_ARGUMENT, "\"ssh\" is missing: how is the host reached?");
    if (!json_is_string(value))
        return host_member_mistyped(why, "ssh", "a string", value);
    rc = host_name_parse(&n, json_string_value(value), &port, why);
    if (rc)
        return fault_wrap(why, "ssh");
    h->name = n.name;
    h->user = n.user;
    h->port = (int)n.number;
    return 0;
}

static int ip_check(const char *ip, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (!address_is_literal(ip))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a literal IPv4 or IPv6 address",
                         text_show(shown, ip));
    if (strcmp(ip, "0.0.0.0") == 0 || strcmp(ip, "::") == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "%s is not the address of a host", ip);
    return 0;
}

static int slots_read(struct host *h, const json_t *value, struct fault *why)
{
    json_int_t slots = json_integer_value(value);

    if (!value)
        return 0;
    if (!json_is_integer(value))
        return host_member_mistyped(why, "slots", "a whole number", value);
    if (slots < 1 || slots > SLOTS_LIMIT)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "slots: %" JSON_INTEGER_FORMAT " is not from 1 to %d", slots, SLOTS_LIMIT);
    h->slots = (int)slots;
    return 0;
}

static int cwd_read(struct host *h, const json_t *value, struct fault *why)
{
    char shown[TEXT_SHOWN];

    if (!value)
        return 0;
    if (!json_is_string(value))
        return host_member_mistyped(why, "cwd", "a string", value);
    if (json_string_value(value)[0] != '/')
        return fault_set(why, ML_ERR_ARGUMENT, "cwd: '%s' is not an absolute path",
                         text_show(shown, json_string_value(value)));
    return string_copy(&h->cwd, json_string_value(value), why);
}

/* Reads one entry of a row: null or [] is no device, a string is one device or port, a list holds
 * the rails. */
static int wire_read(char ***out, const json_t *value, struct fault *why)
{
    struct string_list devices = {0};
    int rc = 0;

    if (json_is_string(value)) {
        rc = device_name_check(json_string_value(value), why);
        if (!rc)
            rc = string_list_add(&devices, json_string_value(value), why);
    } else if (!json_is_null(value)) {
        rc = host_member_strings(&devices, value, "a device, a list of devices or null",
                                 device_name_check, why);
        if (!rc)
            rc = device_name_check_rails(devices.items, devices.count, why);
    }
    if (!rc)
        rc = string_list_release(&devices, out, why);
    string_list_clear(&devices);
    return rc;
}

static int row_read(struct host *h, const json_t *row, size_t self, size_t hosts, struct fault *why)
{
    int rc;

    if (!row)
        return 0;
    if (!json_is_array(row))
        return host_member_mistyped(why, "rdma", "a list", row);
    if (json_array_size(row) != hosts)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "rdma: has %zu entries for %zu hosts; it needs one for each host, null "
                         "for the host itself",
                         json_array_size(row), hosts);
    if (!json_is_null(json_array_get(row, self)))
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "rdma[%zu]: must be null, as this entry is for the host itself; are the rows in the "
            "order of the hosts?",
            self);
    h->rdma = calloc(hosts, sizeof(*h->rdma));
    if (!h->rdma)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t j = 0; j < hosts; j++) {
        if ((rc = wire_read(&h->rdma[j], json_array_get(row, j), why)))
            return fault_wrap(why, "rdma[%zu]", j);
        h->rdma_count++;
    }
    return 0;
}

static int list_read(char ***out, const json_t *value, const char *name,
                     int (*check)(const char *, struct fault *), struct fault *why)
{
    struct string_list l = {0};
    int rc = 0;

    if (value)
        rc = host_member_strings(&l, value, "a list of strings", check, why);
    if (rc)
        fault_wrap(why, "%s", name);
    else
        rc = string_list_release(&l, out, why);
    string_list_clear(&l);
    return rc;
}

/* The variables of "envs", for all hosts, then those of the host's own "env". */
static int env_read(struct host *h, const json_t *value, char *const *shared, struct fault *why)
{
    struct string_list l = {0};
    int rc = string_list_add_all(&l, shared, why);

    if (!rc && value && (rc = host_member_environment(&l, value, why)))
        fault_wrap(why, "env");
    if (!rc)
        rc = string_list_release(&l, &h->env, why);
    string_list_clear(&l);
    return rc;
}

struct place {
    size_t self, hosts;          /* the index of the host, and how many there are */
    char *const *shared;         /* "envs" */
    struct string_list *ignored; /* unknown members */
};

static int members_read(struct host *h, const json_t *o, const struct place *p, struct fault *why)
{
    int rc;

    if ((rc = ssh_read(h, json_object_get(o, "ssh"), why)) ||
        (rc = host_member_unknown(o, host_members, p->ignored, why)) ||
        (rc = list_read(&h->ips, json_object_get(o, "ips"), "ips", ip_check, why)) ||
        (rc = row_read(h, json_object_get(o, "rdma"), p->self, p->hosts, why)) ||
        (rc = slots_read(h, json_object_get(o, "slots"), why)) ||
        (rc = env_read(h, json_object_get(o, "env"), p->shared, why)))
        return rc;
    return cwd_read(h, json_object_get(o, "cwd"), why);
}

static int host_read(struct host_list *l, const json_t *o, const struct place *p, struct fault *why)
{
    struct host h = {0};
    const char *name = json_string_value(json_object_get(o, "ssh"));
    char shown[TEXT_SHOWN];
    int rc;

    if (!json_is_object(o))
        return fault_set(why, ML_ERR_ARGUMENT, "hosts[%zu]: must be an object, not %s", p->self,
                         host_member_type(o));
    rc = members_read(&h, o, p, why);
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    if (rc && name)
        fault_wrap(why, "hosts[%zu] (%s)", p->self, text_show(shown, name));
    else if (rc)
        fault_wrap(why, "hosts[%zu]", p->self);
    return rc;
}

static int hosts_read(struct host_list *l, const json_t *hosts, char *const *shared,
                      struct string_list *ignored, struct fault *why)
{
    struct place p = {.hosts = json_array_size(hosts), .shared = shared, .ignored = ignored};
    int rc = 0;

    if (!hosts)
        return fault_set(why, ML_ERR_ARGUMENT, "\"hosts\" is missing");
    if (!json_is_array(hosts))
        return host_member_mistyped(why, "hosts", "a list", hosts);
    if (p.hosts == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "names no host");
    for (; p.self < p.hosts && !rc; p.self++)
        rc = host_read(l, json_array_get(hosts, p.self), &p, why);
    return rc;
}

static int object_read(struct host_list *l, const json_t *root, struct string_list *ignored,
                       struct fault *why)
{
    const json_t *backend = json_object_get(root, "backend");
    const json_t *envs = json_object_get(root, "envs");
    struct string_list shared = {0};
    int rc = host_member_unknown(root, file_members, ignored, why);

    if (!rc && backend && !json_is_null(backend)) {
        if (!json_is_string(backend))
            rc = host_member_mistyped(why, "backend", "a string", backend);
        else
            rc = string_copy(&l->backend, json_string_value(backend), why);
    }
    if (!rc && envs && (rc = host_member_environment(&shared, envs, why)))
        fault_wrap(why, "envs");
    if (!rc)
        rc = hosts_read(l, json_object_get(root, "hosts"), shared.items, ignored, why);
    string_list_clear(&shared);
    return rc;
}

static int syntax_explain(const char *text, const json_error_t *e, struct fault *why)
{
    char shown[TEXT_SHOWN];
    const char *hint = "";

    text += strspn(text, " \t\r\n");
    if (*text == '[' && (isxdigit((unsigned char)text[1]) || text[1] == ':'))
        hint = " (a text hostfile that begins with an IPv6 address needs a # line before it)";
    return fault_set(why, ML_ERR_ARGUMENT, "line %d column %d: %s%s", e->line, e->column,
                     text_show(shown, e->text), hint);
}

/* Warns once about each name, even if many hosts have it. */
static void ignored_warn(const char *path, const struct string_list *ignored)
{
    char shown[TEXT_SHOWN];

    for (size_t i = 0; i < ignored->count; i++)
        log_warn("hostfile: %s: ignoring unknown member \"%s\"", path,
                 text_show(shown, ignored->items[i]));
}

int hostfile_json_parse(struct host_list **out, const char *path, const char *text, size_t size,
                        struct fault *why)
{
    struct string_list ignored = {0};
    struct host_list *l = NULL;
    json_error_t e;
    json_t *root = parsed_json(text, size, JSON_REJECT_DUPLICATES, &e);
    int rc;

    if (!root) {
        syntax_explain(text, &e, why);
        return fault_wrap(why, "%s", path);
    }
    rc = host_list_create(&l, path, why);
    if (!rc)
        rc = json_is_array(root) ? hosts_read(l, root, NULL, &ignored, why)
                                 : object_read(l, root, &ignored, why);
    json_decref(root);
    ignored_warn(path, &ignored);
    string_list_clear(&ignored);
    rc = host_list_finish(out, l, rc, why);
    return rc ? fault_wrap(why, "%s", path) : 0;
}
