/* SPDX-License-Identifier: MIT */
/* verify_left.c: what dead jobs have left on the hosts. */
#include "common/text/object_field.h"
#include "launcher/tools/verify/verify_groups.h"

#include <string.h>

static void jobs_check(struct verify *v, int host)
{
    json_t *job;
    size_t i;

    json_array_foreach(json_object_get(v->survey.hosts[host].said, "jobs"), i, job)
    {
        if (strcmp(object_field_text(job, "state"), "stale") == 0)
            verify_add(v, FINDING_STALE, host,
                       "job %s of %s is dead and has left %s and %lld processes",
                       object_field_text(job, "job"), object_field_text(job, "user"),
                       object_field_text(job, "directory"), object_field_whole(job, "processes"));
    }
}

static void orphans_check(struct verify *v, int host)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(v->survey.hosts[host].said, "orphans"), i, one)
    {
        verify_add(v, FINDING_STALE, host, "process %lld (%s) is left of a job that is gone",
                   object_field_whole(one, "pid"), object_field_text(one, "name"));
    }
}

void verify_left(struct verify *v)
{
    for (int i = 0; i < v->c.hosts->count; i++) {
        jobs_check(v, i);
        orphans_check(v, i);
    }
}
