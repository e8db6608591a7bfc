/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/served_job.h"

#include "common/text/parsed_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MOST = 1 << 20, SPACE_MOST = 200 };

static int malformed(const char *member, struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "the agent's JOB: \"%s\" is invalid", member);
}

static int number_of(const json_t *array, size_t i, int least, int most)
{
    const json_t *value = json_array_get(array, i);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;

    return n >= least && n <= most ? (int)n : -1;
}

/* The host's own name if PMIx's expressions can have it and it is the first of that name, so that
 * two agents on one machine are two nodes. */
static char *name_choose(const struct served_job *j, int host, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    bool is_usable = name && *name && strlen(name) < 200 && name[strspn(name, plain)] == '\0';
    char *out = NULL;

    for (int i = 0; i < host && is_usable; i++)
        is_usable = strcmp(j->names[i], name) != 0;
    if (is_usable)
        return strdup(name);
    return asprintf(&out, "mlaunch-host-%d", host) < 0 ? NULL : out;
}

static int hosts_read(struct served_job *j, struct fault *why)
{
    const json_t *names = json_object_get(j->root, "names");
    const json_t *host_of = json_object_get(j->root, "host_of");

    if (json_array_size(names) != (size_t)j->hosts || json_array_size(host_of) != (size_t)j->size)
        return malformed("names", why);
    j->names = calloc((size_t)j->hosts, sizeof(*j->names));
    j->host_of = calloc((size_t)j->size, sizeof(*j->host_of));
    if (!j->names || !j->host_of)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < j->hosts; i++) {
        j->names[i] = name_choose(j, i, json_string_value(json_array_get(names, (size_t)i)));
        if (!j->names[i])
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < j->size; i++) {
        j->host_of[i] = number_of(host_of, (size_t)i, 0, j->hosts - 1);
        if (j->host_of[i] < 0)
            return malformed("host_of", why);
    }
    return 0;
}

static int ranks_read(struct served_job *j, struct fault *why)
{
    const json_t *ranks = json_object_get(j->root, "ranks");
    const json_t *apps = json_object_get(j->root, "apps");
    const json_t *cpus = json_object_get(j->root, "cpus");
    size_t count = json_array_size(ranks);

    if (count == 0 || count > (size_t)j->size || json_array_size(apps) != count)
        return malformed("ranks", why);
    j->ranks = calloc(count, sizeof(*j->ranks));
    if (!j->ranks)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    j->rank_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        struct served_rank *r = &j->ranks[i];
        const char *bound = json_string_value(json_array_get(cpus, i));

        r->rank = number_of(ranks, i, i ? j->ranks[i - 1].rank + 1 : 0, j->size - 1);
        r->app = number_of(apps, i, 0, j->app_count - 1);
        r->cpus = bound ? bound : "";
        if (r->rank < 0 || r->app < 0 || j->host_of[r->rank] != j->host)
            return malformed("ranks", why);
    }
    return 0;
}

static void served_job_clear(struct served_job *j)
{
    for (int i = 0; j->names && i < j->hosts; i++)
        free(j->names[i]);
    free(j->names);
    free(j->host_of);
    free(j->ranks);
    json_decref(j->root);
    *j = (struct served_job){0};
}

int served_job_parse(struct served_job *out, const char *text, size_t size, struct fault *why)
{
    struct served_job j = {.root = parsed_json(text, size, 0, NULL)};
    int rc = 0;

    if (json_unpack(j.root, "{s:s, s:s, s:i, s:i, s:i, s:i}", "space", &j.space, "dir", &j.dir,
                    "size", &j.size, "hosts", &j.hosts, "host", &j.host, "app_count",
                    &j.app_count) ||
        j.size < 1 || j.size > RANKS_MOST || j.hosts < 1 || j.hosts > j.size || j.host < 0 ||
        j.host >= j.hosts || j.app_count < 1 || strlen(j.space) > SPACE_MOST)
        rc = malformed("size", why);
    if (!rc)
        rc = hosts_read(&j, why);
    if (!rc)
        rc = ranks_read(&j, why);
    if (rc)
        served_job_clear(&j);
    else
        *out = j;
    return rc;
}

int served_job_index(const struct served_job *j, uint32_t rank)
{
    for (int i = 0; i < j->rank_count; i++) {
        if ((uint32_t)j->ranks[i].rank == rank)
            return i;
    }
    return -1;
}
