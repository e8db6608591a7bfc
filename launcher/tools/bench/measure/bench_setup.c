/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/measure/bench_setup.h"

#include "common/net/job_file.h"
#include "common/text/printable.h"
#include "common/text/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Copies of MLAUNCH_ALGO the items that are for this operation: those behind "all_reduce:", up to
 * the next item that names a call. */
static char *algorithm_of(enum bench_kind kind)
{
    const char *text = getenv("MLAUNCH_ALGO"), *name = bench_options_kind_name(kind);
    char *out = malloc((text ? strlen(text) : 0) + sizeof("auto"));
    size_t used = 0;
    bool is_ours = false;

    if (!out)
        return NULL;
    while (text && *text) {
        size_t length = strcspn(text, ","), call = strcspn(text, ":");
        size_t skip = call < length ? call + 1 : 0;

        if (skip)
            is_ours = call == strlen(name) && memcmp(text, name, call) == 0;
        if (is_ours) {
            if (used)
                out[used++] = ',';
            memcpy(out + used, text + skip, length - skip);
            used += length - skip;
        }
        text += length + (text[length] == ',');
    }
    out[used] = '\0';
    return used ? out : strcpy(out, "auto");
}

/* A process that mlaunch has not started is a group of one. */
static int job_look(struct bench_setup *s, struct fault *why)
{
    const char *directory = getenv("MLAUNCH_JOB_DIR");
    uint8_t secret[AUTH_SECRET];
    struct job_file j;
    int rc;

    s->ranks = s->host_count = 1;
    strcpy(s->backend, "shm");
    if (!directory)
        return 0;
    rc = job_file_read(directory, &j, secret, why);
    memset(secret, 0, sizeof(secret));
    if (rc)
        return rc;
    s->ranks = j.size;
    s->host_count = j.hosts;
    if (strcmp(j.host, "localhost") == 0)
        memcpy(s->node, j.node, sizeof(s->node));
    s->local_net = j.local_net;
    s->secure = j.secure;
    if (j.hosts > 1 || j.local_net)
        memcpy(s->backend, j.backend, sizeof(s->backend));
    return 0;
}

int bench_setup_open(struct bench_setup *out, const struct bench_options *o, struct fault *why)
{
    struct bench_setup s = {.memory = bench_memory_names[o->memory], .version = ml_version()};
    time_t now = time(NULL);
    struct tm utc;
    int rc = job_look(&s, why);

    if (rc)
        return rc;
    strftime(s.date, sizeof(s.date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    s.algorithm = algorithm_of(o->kind);
    if (!s.algorithm)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = s;
    return 0;
}

static int host_add(struct bench_setup *s, int *count, const char *name, struct fault *why)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(s->hosts[i].name, name) == 0) {
            s->hosts[i].ranks++;
            return 0;
        }
    s->hosts[*count].name = strdup(name);
    if (!s->hosts[*count].name)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->hosts[(*count)++].ranks = 1;
    return 0;
}

static void hosts_free(struct bench_host *hosts, int count)
{
    for (int i = 0; hosts && i < count; i++)
        free(hosts[i].name);
    free(hosts);
}

int bench_setup_add_hosts(struct bench_setup *s, const ml_group *world, struct fault *why)
{
    int ranks = ml_size(world), count = 0, rc = 0;

    if (s->hosts)
        return 0;
    s->ranks = ranks;
    s->hosts = calloc((size_t)ranks, sizeof(*s->hosts));
    if (!s->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < ranks && !rc; i++) {
        const char *name = ml_host(world, i);

        if (!name || (s->node[0] && strcmp(name, "localhost") == 0))
            name = s->node;
        rc = host_add(s, &count, name, why);
    }
    for (int i = 0; i < count; i++)
        printable_mend(s->hosts[i].name, "");
    s->host_count = count;
    return rc;
}

void bench_setup_close(struct bench_setup *s)
{
    hosts_free(s->hosts, s->host_count);
    free(s->algorithm);
    *s = (struct bench_setup){0};
}

char *bench_setup_hosts_text(const struct bench_setup *s, size_t most)
{
    size_t used = 0;
    struct text_stream text;
    FILE *to = text_stream_open(&text);

    if (!to)
        return NULL;
    for (int i = 0; i < s->host_count; i++) {
        if (most && i && used + strlen(s->hosts[i].name) > most) {
            fprintf(to, " and %d more", s->host_count - i);
            break;
        }
        used += (size_t)fprintf(to, "%s%s:%d", i ? " " : "", s->hosts[i].name, s->hosts[i].ranks);
    }
    return text_stream_close(to, &text);
}
