/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/detached_job.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "launcher/base/text/command_words.h"
#include "launcher/run/job/detach.h"
#include "launcher/run/job/job.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int detached_job_check(const struct options *o, struct fault *why)
{
    if (o->json && !o->detach)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--json goes with --detach; --events FILE writes what happens in a job as "
                         "JSON");
    if (o->detach && o->pty)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--pty does not go with --detach: a job in the background has no "
                         "terminal");
    if (o->detach && o->stdin_to && strcmp(o->stdin_to, "none") != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--stdin %s does not go with --detach: a job in the background has no "
                         "input",
                         o->stdin_to);
    return 0;
}

static void json_say(const struct detach *d)
{
    json_t *one = json_pack("{ss ss ss si}", "job", d->id, "job_name", d->name ? d->name : "",
                            "log", d->log.path, "pid", d->pid);
    char *text = one ? json_dumps(one, JSON_INDENT(2)) : NULL;

    printable_print("%s\n", text ? text : "{}");
    free(text);
    json_decref(one);
}

/* " -H a,b" */
static void option_say(const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(stderr, " %s ", option);
    command_words_quote(stderr, value);
}

/* The id alone goes to standard output, for scripts. */
static void background_say(const struct options *o, const struct detach *d)
{
    const char *job = d->name ? d->name : d->id;

    if (o->json) {
        json_say(d);
        return;
    }
    puts(d->id);
    fflush(stdout);
    if (o->verbose < 0)
        return;
    fprintf(stderr, "mlaunch: job %s runs in the background; mlaunch logs %s prints its output, ",
            job, job);
    fputs("mlaunch kill", stderr);
    option_say("-H", o->hosts);
    option_say("--hostfile", o->hostfile);
    fprintf(stderr, " %s ends it\n", job);
}

int detached_job_run(const struct options *o, struct plan *p, const char *id)
{
    struct detach d = {.id = id, .name = p->job.name};
    const struct job_config config = {
        .on_started = detach_on_started, .on_written = detach_on_written, .arg = &d};
    bool is_parent = true;
    struct fault why;
    int status;

    if (detach_start(&d, &is_parent, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    if (!is_parent) {
        status = job_run(p, id, &config);
        detach_conclude(&d, status);
        return status;
    }
    status = detach_await(&d);
    if (status >= 0)
        return status;
    background_say(o, &d);
    return 0;
}
