/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/events_file.h"

#include "common/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct events_file {
    FILE *file;
    char *path;
    const char *name; /* the job's, or NULL */
};

int events_file_open(struct events_file **out, const char *path, const char *name,
                     struct fault *why)
{
    struct events_file *e;
    int rc;

    *out = NULL;
    if (!path)
        return 0;
    e = calloc(1, sizeof(*e));
    if (e) {
        e->path = strdup(path);
        e->name = name;
    }
    if (!e || !e->path) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    e->file = fopen(path, "we");
    if (!e->file) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "--events: cannot write %s", path);
        goto fail;
    }
    *out = e;
    return 0;
fail:
    events_file_close(e);
    return rc;
}

void events_file_close(struct events_file *e)
{
    if (!e)
        return;
    if (e->file)
        fclose(e->file);
    free(e->path);
    free(e);
}

void events_file_write(struct events_file *e, const char *event, const char *job, json_t *members)
{
    struct timespec now;
    json_t *line;
    int failed;

    if (!e || !e->file) {
        json_decref(members);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    line = json_pack("{s:f, s:s, s:s}", "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9,
                     "event", event, "job", job);
    if (e->name)
        json_object_set_new(line, "name", json_string(e->name));
    if (members)
        json_object_update(line, members);
    json_decref(members);
    failed = json_dumpf(line, e->file, JSON_COMPACT | JSON_REAL_PRECISION(16)) ||
             fputc('\n', e->file) == EOF || fflush(e->file);
    json_decref(line);
    if (failed) {
        log_warn("--events: cannot write %s: %s; no more events are written", e->path,
                 strerror(errno));
        fclose(e->file);
        e->file = NULL;
    }
}
