/* SPDX-License-Identifier: MIT */
#include "launcher/wiring/wiring_survey.h"

#include "launcher/wiring/wiring_answers.h"
#include "launcher/wiring/wiring_choice.h"
#include "launcher/wiring/wiring_match.h"
#include "launcher/wiring/wiring_sentence.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 5000 };

int wiring_survey_create(struct wiring_survey **out, const struct wiring_survey_config *c,
                         struct fault *why)
{
    struct wiring_survey *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->config = *c;
    s->config.stated = json_incref(c->stated);
    s->devices = calloc((size_t)c->count, sizeof(json_t *));
    s->tries = calloc((size_t)c->count, sizeof(json_t *));
    if (!s->devices || !s->tries) {
        wiring_survey_destroy(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = s;
    return 0;
}

void wiring_survey_destroy(struct wiring_survey *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->config.count; i++) {
        if (s->devices)
            json_decref(s->devices[i]);
        if (s->tries)
            json_decref(s->tries[i]);
    }
    json_decref(s->config.stated);
    json_decref(s->wiring);
    free(s->devices);
    free(s->tries);
    free(s);
}

/* The devices in this host's row, each once. */
static json_t *devices_named(const struct wiring_survey *s, int host)
{
    json_t *list = json_array(), *seen = json_object(), *entry, *device;
    size_t i, j;

    json_array_foreach(json_array_get(s->config.stated, (size_t)host), i, entry)
    {
        json_array_foreach(entry, j, device)
        {
            const char *name = json_string_value(device);

            if (!name || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            json_array_append(list, device);
        }
    }
    json_decref(seen);
    return list;
}

json_t *wiring_survey_question(const struct wiring_survey *s, int host, enum wiring_round round)
{
    const struct wiring_survey_config *c = &s->config;
    json_t *hosts, *inner;

    if (round == WIRING_LOOK)
        return json_pack("{s:s, s:o, s:i, s:i}", "what", "devices", "named", devices_named(s, host),
                         "port", c->rdma.port, "gid_index", c->rdma.gid_index);
    hosts = json_array();
    for (int i = 0; i < c->count; i++)
        json_array_append(hosts, s->devices[i]);
    inner = json_pack("{s:i, s:I, s:i, s:i, s:i, s:i, s:o}", "host", host, "tag",
                      (json_int_t)c->tag, "port", c->rdma.port, "gid_index", c->rdma.gid_index,
                      "mtu", c->rdma.mtu, "wait_ms", WAIT_MS, "hosts", hosts);
    if (inner && c->stated)
        json_object_set(inner, "wiring", c->stated);
    return json_pack("{s:s, s:o}", "what", "wires", "wires", inner);
}

int wiring_survey_answer(struct wiring_survey *s, int host, enum wiring_round round,
                         const json_t *said, struct fault *why)
{
    json_t *devices = json_object_get(said, "devices"), *named = devices_named(s, host), *device;
    json_t **place = round == WIRING_LOOK ? &s->devices[host] : &s->tries[host];
    int rc = json_is_array(devices)
                 ? 0
                 : fault_set(why, ML_ERR_REFUSED, "what its agent says of its devices is damaged");
    size_t i;

    json_array_foreach(named, i, device)
    {
        const json_t *found = wiring_device_find(devices, json_string_value(device));
        const char *error = json_string_value(json_object_get(found, "error"));

        if (!rc && error)
            rc = fault_set(why, ML_ERR_DEVICE, "%s", error);
    }
    json_decref(named);
    if (rc)
        return rc;
    json_decref(*place);
    *place = json_incref(devices);
    return 0;
}

json_t *wiring_survey_wiring(const struct wiring_survey *s)
{
    return s->wiring;
}

/* The port over which ranks of one host meet: the first that leads anywhere, else the first that is up. */
static json_t *local_device(const struct wiring_survey *s, int host)
{
    char name[PORT_NAME_TEXT];
    json_t *entry, *device;
    size_t i;

    json_array_foreach(json_array_get(s->config.stated, (size_t)host), i, entry)
    {
        if (json_array_size(entry) > 0)
            return json_pack("[O]", json_array_get(entry, 0));
    }
    json_array_foreach(s->devices[host], i, device)
    {
        struct wiring_end ports[WIRING_PORTS],
            any = {.host = host, .device = json_string_value(json_object_get(device, "name"))};

        if (any.device && wiring_end_ports(s, any, ports) > 0)
            return json_pack("[s]", wiring_end_name(s, ports[0], name));
    }
    return NULL;
}

static int mtu_check(const struct wiring_survey *s, struct wiring_end e, int *host,
                     struct fault *why)
{
    json_int_t active = json_integer_value(json_object_get(wiring_port(s, e), "active_mtu"));

    return active && s->config.rdma.mtu > active ? wiring_sentence_mtu(s, e, host, why) : 0;
}

static int local_settle(struct wiring_survey *s, int *host, struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < s->config.count && s->config.local_net && !rc; i++) {
        json_t *entry = local_device(s, i);
        struct wiring_end ports[WIRING_PORTS], e;

        *host = i;
        if (!entry)
            return wiring_sentence_no_port(s, i, why);
        json_array_set_new(json_array_get(s->wiring, (size_t)i), (size_t)i, entry);
        e = wiring_end_read(s, i, json_string_value(json_array_get(entry, 0)));
        if (wiring_end_ports(s, e, ports) > 0)
            rc = mtu_check(s, ports[0], host, why);
    }
    return rc;
}

static json_t *empty_matrix(int count)
{
    json_t *matrix = json_array();

    for (int i = 0; i < count; i++) {
        json_t *row = json_array();

        for (int j = 0; j < count; j++)
            json_array_append_new(row, json_null());
        json_array_append_new(matrix, row);
    }
    return matrix;
}

/* Both entries of a pair of hosts, out of its rails. */
static int pair_settle(struct wiring_survey *s, int i, int j, int *host, struct fault *why)
{
    struct wiring_rail rails[WIRING_RAILS];
    json_t *there = json_array(), *back = json_array();
    int count = 0, rc = wiring_match(s, i, j, rails, &count, host, why);

    for (int r = 0; r < count && !rc; r++) {
        char name[PORT_NAME_TEXT];

        rc = mtu_check(s, rails[r].mine, host, why);
        if (!rc)
            rc = mtu_check(s, rails[r].theirs, host, why);
        json_array_append_new(there, json_string(wiring_end_name(s, rails[r].mine, name)));
        json_array_append_new(back, json_string(wiring_end_name(s, rails[r].theirs, name)));
    }
    if (rc) {
        json_decref(there);
        json_decref(back);
        return rc;
    }
    json_array_set_new(json_array_get(s->wiring, (size_t)i), (size_t)j, there);
    json_array_set_new(json_array_get(s->wiring, (size_t)j), (size_t)i, back);
    return 0;
}

int wiring_survey_settle(struct wiring_survey *s, int *host, struct fault *why)
{
    int rc = 0;

    s->wiring = empty_matrix(s->config.count);
    for (int i = 0; i < s->config.count && !rc; i++)
        for (int j = i + 1; j < s->config.count && !rc; j++)
            rc = pair_settle(s, i, j, host, why);
    return rc ? rc : local_settle(s, host, why);
}

/* What `words` finds to say of each link. */
static void each_link(const struct wiring_survey *s,
                      bool (*words)(const struct wiring_survey *s, char text[WIRING_CHOICE_TEXT],
                                    struct wiring_end a, struct wiring_end b),
                      void (*tell)(const char *text, void *arg), void *arg)
{
    for (int i = 0; i < s->config.count; i++)
        for (int j = i + 1; j < s->config.count; j++) {
            json_t *there = json_array_get(json_array_get(s->wiring, (size_t)i), (size_t)j);
            json_t *back = json_array_get(json_array_get(s->wiring, (size_t)j), (size_t)i);

            for (size_t r = 0; r < json_array_size(there); r++) {
                char text[WIRING_CHOICE_TEXT];

                if (words(s, text,
                          wiring_end_read(s, i, json_string_value(json_array_get(there, r))),
                          wiring_end_read(s, j, json_string_value(json_array_get(back, r)))))
                    tell(text, arg);
            }
        }
}

void wiring_survey_tell(const struct wiring_survey *s, void (*tell)(const char *text, void *arg),
                        void *arg)
{
    each_link(s, wiring_choice_tell, tell, arg);
}

struct first_warning {
    char text[WIRING_CHOICE_TEXT];
    int count;
};

static void keep_first(const char *text, void *arg)
{
    struct first_warning *first = arg;

    if (first->count++ == 0)
        snprintf(first->text, sizeof(first->text), "%s", text);
}

bool wiring_survey_warn(const struct wiring_survey *s, char text[WIRING_WARNING_TEXT])
{
    struct first_warning first = {.count = 0};

    each_link(s, wiring_choice_warn, keep_first, &first);
    if (first.count == 1)
        snprintf(text, WIRING_WARNING_TEXT, "%s", first.text);
    else if (first.count > 1)
        snprintf(text, WIRING_WARNING_TEXT, "%s; so %d links in all (-v shows them)", first.text,
                 first.count);
    return first.count > 0;
}
