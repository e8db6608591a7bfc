/* SPDX-License-Identifier: MIT */
/* verify_same.c: whether the hosts are equal where they should be. */
#include "common/text/object_field.h"
#include "launcher/tools/verify/verify_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double memory_tolerance = 0.05;

/* A value of each host; "": unknown. A host with another one than most is a finding of `kind`:
 * "Python's numpy is 1.26, and on 3 others 2.0". */
struct compared {
    enum finding_kind kind;
    const char *whose, *title, *verb; /* whose: "Python's ", or "" */
    const char **values;
    bool is_memory; /* which need only be about equal */
};

/* The value that most hosts have, of equally many the first; *count of them have it. */
static const char *most_find(const struct compared *c, int hosts, int *count)
{
    json_t *counts = json_object();
    const char *most = "";

    *count = 0;
    for (int i = 0; i < hosts; i++) {
        json_int_t n;

        if (!c->values[i][0])
            continue;
        n = json_integer_value(json_object_get(counts, c->values[i])) + 1;
        json_object_set_new(counts, c->values[i], json_integer(n));
    }
    for (int i = 0; i < hosts; i++) {
        int n = (int)json_integer_value(json_object_get(counts, c->values[i]));

        if (n > *count) {
            *count = n;
            most = c->values[i];
        }
    }
    json_decref(counts);
    return most;
}

static bool is_near(const struct verify *v, int host, const char *most, const struct compared *c)
{
    for (int i = 0; i < v->c.hosts->count; i++)
        if (strcmp(c->values[i], most) == 0)
            return fabs(v->survey.hosts[host].memory - v->survey.hosts[i].memory) <=
                   memory_tolerance * v->survey.hosts[i].memory;
    return false;
}

static void values_check(struct verify *v, const struct compared *c)
{
    int count;
    const char *most = most_find(c, v->c.hosts->count, &count);

    for (int i = 0; i < v->c.hosts->count; i++) {
        if (!c->values[i][0] || strcmp(c->values[i], most) == 0 ||
            (c->is_memory && is_near(v, i, most, c)))
            continue;
        verify_add(v, c->kind, i, "%s%s %s %s, and on %d other%s %s", c->whose, c->title, c->verb,
                   c->values[i], count, count == 1 ? "" : "s", most);
    }
}

/* How many RDMA devices have a known place. */
static int placed_count(const struct host_facts *h)
{
    int count = 0;

    for (int i = 0; i < h->device_count; i++)
        count += h->devices[i].numa_node >= 0;
    return count;
}

/* A device that is missing, or whose place is unknown, is a finding of its own, so hosts with fewer
 * devices than others are left out here. */
static void nearest_check(struct verify *v, const char **values)
{
    const struct compared c = {.kind = FINDING_DIFFERS,
                               .whose = "",
                               .title = host_fact_titles[HOST_GPU_NICS],
                               .verb = "are",
                               .values = values};
    const struct host_facts *hosts = v->survey.hosts;
    int most = 0;

    for (int i = 0; i < v->c.hosts->count; i++)
        most = placed_count(&hosts[i]) > most ? placed_count(&hosts[i]) : most;
    for (int i = 0; i < v->c.hosts->count; i++)
        values[i] = placed_count(&hosts[i]) == most ? hosts[i].text[HOST_GPU_NICS] : "";
    values_check(v, &c);
}

static void facts_check(struct verify *v, const char **values)
{
    for (int fact = 0; fact < HOST_FACTS; fact++) {
        const struct compared c = {FINDING_DIFFERS,    "", host_fact_titles[fact], "is", values,
                                   fact == HOST_MEMORY};

        for (int i = 0; i < v->c.hosts->count; i++)
            values[i] = fact == HOST_GPU_NICS ? "" : v->survey.hosts[i].text[fact];
        values_check(v, &c);
    }
    nearest_check(v, values);
}

/* Devices of one name are compared with those of the same driver. */
static void firmware_check(struct verify *v, const struct host_device *like, const char **values)
{
    char whose[HOST_FACT_NAME + 16];
    const struct compared c = {FINDING_DIFFERS, whose, "firmware", "is", values, false};

    snprintf(whose, sizeof(whose), "%s's ", like->name);
    for (int i = 0; i < v->c.hosts->count; i++) {
        const struct host_device *d = host_facts_device(&v->survey.hosts[i], like->name);

        values[i] = d && strcmp(d->driver, like->driver) == 0 ? d->firmware : "";
    }
    values_check(v, &c);
}

static void devices_check(struct verify *v, const char **values)
{
    json_t *seen = json_object();

    for (int i = 0; i < v->c.hosts->count; i++) {
        for (int k = 0; k < v->survey.hosts[i].device_count; k++) {
            const struct host_device *d = &v->survey.hosts[i].devices[k];
            char key[2 * HOST_FACT_NAME];

            snprintf(key, sizeof(key), "%s %s", d->name, d->driver);
            if (!json_object_get(seen, key))
                firmware_check(v, d, values);
            json_object_set_new_nocheck(seen, key, json_true());
        }
    }
    json_decref(seen);
}

/* The file of --program: "4711 bytes, sum 12345". */
static void file_describe(struct verify *v, int host, char *out, size_t size)
{
    json_t *file = json_array_get(json_object_get(v->survey.hosts[host].said, "files"), 0);
    const char *error = object_field_text(file, "error");

    out[0] = '\0';
    if (json_is_object(file) && *error)
        verify_add(v, FINDING_FILE, host, "%s: %s", v->survey.program, error);
    else if (json_is_object(file))
        snprintf(out, size, "%lld bytes with checksum %lld", object_field_whole(file, "size"),
                 object_field_whole(file, "sum"));
}

static void file_check(struct verify *v, const char **values)
{
    enum { TEXT = 64 };
    const struct compared c = {FINDING_FILE, "", v->survey.program, "has", values, false};
    int hosts = v->c.hosts->count;
    char(*texts)[TEXT] = calloc((size_t)hosts, sizeof(*texts));

    for (int i = 0; i < hosts && texts; i++) {
        file_describe(v, i, texts[i], TEXT);
        values[i] = texts[i];
    }
    if (texts)
        values_check(v, &c);
    free(texts);
}

/* The version of module `at` on each host. */
static void module_check(struct verify *v, size_t at, const char **values)
{
    const struct compared c = {FINDING_MODULE, "Python's ", v->survey.modules->items[at],
                               "is",           values,      false};

    for (int i = 0; i < v->c.hosts->count; i++) {
        json_t *one = json_array_get(json_object_get(v->survey.hosts[i].said, "modules"), at);

        values[i] = object_field_text(one, "version");
        if (*object_field_text(one, "error"))
            verify_add(v, FINDING_MODULE, i, "Python cannot import %s: %s", c.title,
                       object_field_text(one, "error"));
    }
    values_check(v, &c);
}

void verify_same(struct verify *v)
{
    const char **values = calloc((size_t)v->c.hosts->count, sizeof(*values));

    if (!values) {
        v->findings.is_short = true;
        return;
    }
    facts_check(v, values);
    devices_check(v, values);
    if (v->survey.program)
        file_check(v, values);
    for (size_t i = 0; v->survey.modules && i < v->survey.modules->count; i++)
        module_check(v, i, values);
    free(values);
}
