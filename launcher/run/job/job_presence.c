/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job_presence.h"

#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/base/machine/job_register.h"
#include "launcher/base/process/loop_memory.h"
#include "launcher/run/identity/job_spec_encode.h"
#include "launcher/wire/channel/question_door.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATER_MS = 100, /* a job that is shorter than this writes its entry once */
    TOUCH_S = 3600, /* tidy systems remove what is some days old */
};

struct job_presence {
    const struct plan *plan;
    const char *id;
    struct job_register place;
    struct register_entry entry; /* filled in once the first is to be written */
    bool is_filled;
    struct event *later;
    struct question_door *door; /* NULL: no host joins */
};

/* Those that somebody else than this mlaunch can ask. */
static json_t *hosts_list(const struct plan *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++) {
        const struct host *h = plan_host(p, i);
        json_t *one;

        if (h->launch_method == LAUNCH_METHOD_JOIN)
            continue;
        one = json_object();
        json_object_set_new(one, "name", text_json(h->name));
        json_object_set_new(one, "user", text_json(h->user ? h->user : ""));
        json_object_set_new(one, "port", json_integer(h->port));
        json_array_append_new(list, one);
    }
    return list;
}

/* Those that nobody else can ask, with their numbers in the job. */
static json_t *joined_list(const struct plan *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->where->host_count; i++)
        if (plan_host(p, i)->launch_method == LAUNCH_METHOD_JOIN)
            json_array_append_new(
                list, json_pack("{so si}", "name", text_json(plan_host(p, i)->name), "index", i));
    return list;
}

/* How the agents were reached: whoever asks about the job may be in another directory. */
static json_t *reach_describe(const struct options *o)
{
    char config[PATH_MAX];
    json_t *reach = json_object();

    if (!o->ssh_config || !realpath(o->ssh_config, config))
        config[0] = '\0';
    json_object_set_new(reach, "ssh_config", text_json(config));
    json_object_set_new(reach, "agent", text_json(o->agent ? o->agent : ""));
    json_object_set_new(reach, "agent_command",
                        text_json(o->agent_command ? o->agent_command : ""));
    return reach;
}

static bool has_joined_hosts(const struct plan *p)
{
    for (int i = 0; i < p->where->host_count; i++)
        if (plan_host(p, i)->launch_method == LAUNCH_METHOD_JOIN)
            return true;
    return false;
}

/* What mlaunch grow changes. */
static void sizes_fill(struct job_presence *p)
{
    p->entry.file.hosts = p->plan->where->host_count;
    p->entry.file.size = p->plan->where->size;
    json_decref(p->entry.hosts);
    p->entry.hosts = hosts_list(p->plan);
}

static void entry_fill(struct job_presence *p)
{
    const struct plan *plan = p->plan;
    struct job_file *f = &p->entry.file;

    job_register_describe(&p->entry);
    f->grace_ms = plan->job.grace_ms;
    snprintf(f->job, sizeof(f->job), "%s", p->id);
    snprintf(f->name, sizeof(f->name), "%s", plan->job.name ? plan->job.name : "");
    snprintf(f->backend, sizeof(f->backend), "%s", plan->backend);
    job_spec_encode_command_line(f->command, sizeof(f->command), plan);
    p->entry.restarts = plan->job.restarts;
    sizes_fill(p);
    p->entry.reach = reach_describe(plan->options);
}

/* The entry says where the door is, which is beside it. */
static void door_open(struct job_presence *p)
{
    char path[USER_DIRECTORY_PATH + 8];
    struct fault why;
    int rc;

    job_register_door(&p->place, path, sizeof(path));
    rc = question_door_open(p->door, path, &why);
    if (!rc) {
        p->entry.door = json_pack("{ss so}", "path", path, "hosts", joined_list(p->plan));
        rc = job_register_write(&p->place, user_directory_base(), &p->entry, &why);
    }
    if (rc)
        log_warn("%s; mlaunch ps and top here do not ask the hosts that have joined", why.text);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval again = {.tv_sec = TOUCH_S};
    struct job_presence *p = arg;
    struct fault why;

    (void)fd, (void)what;
    evtimer_add(p->later, &again);
    job_register_touch(&p->place);
    if (p->place.path[0] && job_register_write(&p->place, user_directory_base(), &p->entry, &why))
        log_debug("%s", why.text);
    loop_memory_keep_file(p->place.path); /* it may have been made again elsewhere */
}

int job_presence_open(struct job_presence **out, struct event_base *base, const struct plan *plan,
                      const char *id, struct fault *why)
{
    struct job_presence *p = calloc(1, sizeof(*p));

    if (p) {
        *p = (struct job_presence){.plan = plan, .id = id};
        p->later = evtimer_new(base, on_later, p);
    }
    if (!p || !p->later) {
        job_presence_close(p);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (has_joined_hosts(plan) && question_door_create(&p->door, base, why)) {
        job_presence_close(p);
        return ML_ERR_MEMORY;
    }
    *out = p;
    return 0;
}

struct question_door *job_presence_door(const struct job_presence *p)
{
    return p->door;
}

void job_presence_close(struct job_presence *p)
{
    if (!p)
        return;
    loop_memory_keep_file(NULL);
    question_door_destroy(p->door);
    job_register_remove(&p->place);
    register_entry_clear(&p->entry);
    if (p->later)
        event_free(p->later);
    free(p);
}

void job_presence_renew(struct job_presence *p)
{
    sizes_fill(p);
    on_later(-1, 0, p);
}

void job_presence_set(struct job_presence *p, enum register_state state, int restart)
{
    static const struct timeval later = {.tv_usec = LATER_MS * 1000};
    struct fault why;

    if (p->is_filled && p->entry.state == REGISTER_ENDING)
        return; /* whatever comes, it ends */
    p->entry.state = state;
    p->entry.restart = restart;
    if (p->is_filled) {
        if (p->entry.door) /* once they have joined, hosts have names */
            json_object_set_new(p->entry.door, "hosts", joined_list(p->plan));
        evtimer_add(p->later, &later);
        return;
    }
    entry_fill(p);
    p->is_filled = true;
    if (job_register_write(&p->place, user_directory_base(), &p->entry, &why))
        log_warn("%s; mlaunch ps and kill here find this job only where its agents are", why.text);
    else
        loop_memory_keep_file(p->place.path);
    if (p->door && p->place.path[0])
        door_open(p);
}
