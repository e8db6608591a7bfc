/* SPDX-License-Identifier: MIT */
/* status_view.c: `mlaunch status` shows in one view how the hosts are and what runs on them. */
#include "common/clock.h"
#include "common/text/number.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "launcher/ask/job_state.h"
#include "launcher/ask/started_here.h"
#include "launcher/base/text/amount.h"
#include "launcher/base/text/text_table.h"
#include "launcher/tools/verify/fact_survey.h"
#include "launcher/tools/verify/verify_command.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000, CELL = 256, WATCH_MOST_S = 86400 };

/* Cursor to the first column of the first line, then clear to the end. */
static const char screen_clear[] = "\033[H\033[J";

/* "3/4": ports that are active, of all. */
static void ports_cell(char out[CELL], const struct host_facts *h)
{
    int active = 0, all = 0;

    for (int i = 0; i < h->device_count; i++) {
        all += h->devices[i].port_count;
        for (int k = 0; k < h->devices[i].port_count; k++)
            active += h->devices[i].ports[k].is_active;
    }
    if (all > 0)
        snprintf(out, CELL, "%d/%d", active, all);
    else
        snprintf(out, CELL, "-");
}

/* "2 live, 1 stale" */
static void jobs_cell(char out[CELL], const struct host_facts *h)
{
    int live = 0, stale = (int)json_array_size(json_object_get(h->said, "orphans")), unreadable = 0;
    json_t *job;
    size_t i, used;

    json_array_foreach(json_object_get(h->said, "jobs"), i, job)
    {
        const char *state = object_field_text(job, "state");

        live += strcmp(state, "live") == 0 || strcmp(state, "stopped") == 0;
        stale += strcmp(state, "stale") == 0;
        unreadable += strcmp(state, "unreadable") == 0;
    }
    used = (size_t)snprintf(out, CELL, "%d live", live);
    if (stale > 0)
        used += (size_t)snprintf(out + used, CELL - used, ", %d stale", stale);
    if (unreadable > 0)
        snprintf(out + used, CELL - used, ", %d unreadable", unreadable);
}

static void host_add(struct text_table *t, const char *name, const struct host_facts *h)
{
    char up[AMOUNT], load[CELL], used[AMOUNT], memory[CELL], ports[CELL], jobs[CELL];

    snprintf(load, sizeof(load), "%.2f of %lld", h->load, h->cores);
    snprintf(memory, sizeof(memory), "%s of %.64s",
             amount_size(used, h->memory - h->memory_available), h->text[HOST_MEMORY]);
    ports_cell(ports, h);
    jobs_cell(jobs, h);
    text_table_add(t, (const char *const[]){name, "online",
                                            h->uptime_s ? amount_age(up, h->uptime_s) : "-",
                                            h->load < 0 ? "-" : load, h->memory > 0 ? memory : "-",
                                            ports, jobs, NULL});
}

static void hosts_print(const struct fact_survey *s)
{
    static const char *const head[] = {"HOST",   "STATE", "UP",   "LOAD",
                                       "MEMORY", "RDMA",  "JOBS", NULL};
    struct text_table *t = text_table_create(head, "llrrrrl");

    for (int i = 0; i < s->c->hosts->count && t; i++) {
        const char *name = s->c->hosts->hosts[i].name;

        if (s->hosts[i].is_known) {
            host_add(t, name, &s->hosts[i]);
        } else {
            text_table_add(t,
                           (const char *const[]){name, "offline", "-", "-", "-", "-", "-", NULL});
            text_table_stress(t);
        }
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
    for (int i = 0; i < s->c->hosts->count; i++)
        if (!s->hosts[i].is_known)
            printable_print("host %s is offline: %s\n", s->c->hosts->hosts[i].name,
                            s->c->answers[i].error);
}

/* What is shown of one job on all its hosts. */
struct status_job {
    const char *id;
    json_t *first; /* as the first host describes it that has its newest membership */
    long long alive;
    int hosts;
    char names[CELL];
    bool is_stale;
};

static struct status_job *job_find(struct status_job *jobs, size_t *count, json_t *job)
{
    const char *id = object_field_text(job, "job");

    for (size_t i = 0; i < *count; i++)
        if (strcmp(jobs[i].id, id) == 0)
            return &jobs[i];
    jobs[*count] = (struct status_job){.id = id, .first = job};
    return &jobs[(*count)++];
}

static void job_merge(struct status_job *j, json_t *job, const char *host)
{
    size_t used = strlen(j->names);

    snprintf(j->names + used, CELL - used, "%s%s", j->hosts++ ? "," : "", host);
    if (object_field_whole(job, "membership") > object_field_whole(j->first, "membership"))
        j->first = job;
    j->alive += object_field_whole(job, "ranks_alive");
    j->is_stale = j->is_stale || strcmp(object_field_text(job, "state"), "stale") == 0;
}

/* Hardly anything is known of the jobs of other containers and other builds, so they are shown on
 * demand only. */
static bool is_shown(const struct query_command *c, const char *state)
{
    return c->verbose > 0 || (strcmp(state, "elsewhere") != 0 && strcmp(state, "unreadable") != 0);
}

/* The caller frees the list, in which a job of several hosts is once. NULL: out of memory. */
static struct status_job *jobs_gather(const struct fact_survey *s, size_t *count)
{
    enum { JOBS_MOST = 4096 }; /* each is compared with all */
    struct status_job *jobs = calloc(JOBS_MOST + 1, sizeof(*jobs));
    json_t *job;
    size_t k;

    *count = 0;
    for (int i = 0; i < s->c->hosts->count && jobs; i++) {
        started_here_drop_idle(&s->c->here, s->hosts[i].said);
        json_array_foreach(json_object_get(s->hosts[i].said, "jobs"), k, job)
        {
            if (*count < JOBS_MOST && is_shown(s->c, object_field_text(job, "state")))
                job_merge(job_find(jobs, count, job), job, s->c->hosts->hosts[i].name);
        }
    }
    return jobs;
}

static void job_cell(char *out, size_t size, const char *id, const char *name)
{
    if (*name)
        snprintf(out, size, "%s (%s)", id, name);
    else
        snprintf(out, size, "%s", id);
}

/* A job of which no host has said anything: it is between two runs, or its hosts are silent. */
static void silent_add(struct text_table *t, const struct register_found *f)
{
    const struct job_file *file = &f->entry.file;
    char age[AMOUNT], ranks[AMOUNT], job[128], hosts[64], user[64], state[REGISTER_STATE_TEXT];

    snprintf(ranks, sizeof(ranks), "-/%d", file->size);
    job_cell(job, sizeof(job), file->job, file->name);
    started_here_user(user, sizeof(user));
    started_here_hosts(f, hosts, sizeof(hosts));
    register_entry_state(&f->entry, state);
    text_table_add(t, (const char *const[]){job, user, amount_age(age, started_here_age_s(f)),
                                            hosts, ranks, state, file->command, NULL});
}

static size_t silent_count(const struct query_command *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->here.count; i++)
        count += started_here_is_silent(c, &c->here.found[i]);
    return count;
}

static void jobs_print(const struct fact_survey *s)
{
    const struct query_command *c = s->c;
    static const char *const head[] = {"JOB",   "USER",  "AGE",     "HOSTS",
                                       "RANKS", "STATE", "COMMAND", NULL};
    size_t count;
    struct status_job *jobs = jobs_gather(s, &count);
    struct text_table *t =
        count > 0 || silent_count(c) > 0 ? text_table_create(head, "llrlrll") : NULL;

    for (size_t i = 0; i < count && t; i++) {
        json_t *j = jobs[i].first;
        char age[AMOUNT], ranks[AMOUNT * 2], job[128], state[JOB_STATE_TEXT];

        snprintf(ranks, sizeof(ranks), "%lld/%lld", jobs[i].alive, object_field_whole(j, "size"));
        job_cell(job, sizeof(job), jobs[i].id, object_field_text(j, "job_name"));
        text_table_add(
            t, (const char *const[]){job, object_field_text(j, "user"),
                                     amount_age(age, object_field_whole(j, "age_s")), jobs[i].names,
                                     ranks, jobs[i].is_stale ? "stale" : job_state_text(state, j),
                                     object_field_text(j, "command"), NULL});
        if (jobs[i].is_stale)
            text_table_stress(t);
    }
    for (size_t i = 0; i < c->here.count && t; i++)
        if (started_here_is_silent(c, &c->here.found[i]))
            silent_add(t, &c->here.found[i]);
    if (t) {
        putchar('\n');
        text_table_print(t);
    }
    text_table_destroy(t);
    free(jobs);
}

/* Hosts that are asked only because a job is on them do not matter for the status. */
static int offline_count(const struct fact_survey *s, int hosts)
{
    int count = 0;

    for (int i = 0; i < hosts; i++)
        count += !s->hosts[i].is_known;
    return count;
}

static void view_print(const struct fact_survey *s, int watch_s)
{
    char when[64];
    time_t now = time(NULL);
    struct tm local;

    if (watch_s && isatty(STDOUT_FILENO))
        fputs(screen_clear, stdout);
    if (watch_s && localtime_r(&now, &local) && strftime(when, sizeof(when), "%F %T", &local))
        printf("%s, every %d s: %d of %d hosts online\n\n", when, watch_s,
               s->c->hosts->count - offline_count(s, s->c->hosts->count), s->c->hosts->count);
    hosts_print(s);
    jobs_print(s);
    if (watch_s && !isatty(STDOUT_FILENO))
        putchar('\n');
}

/* Until the time of the next view, or until the reader of stdout has gone. True: he has. */
static bool reader_wait(int64_t until_ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    while (clock_left_ms(until_ms) > 0)
        if (poll(&out, 1, clock_left_ms(until_ms)) > 0 && out.revents & (POLLERR | POLLNVAL))
            return true;
    return false;
}

/* Shows all once, or again every `watch_s`. */
static int views_show(struct fact_survey *s, int watch_s, struct fault *why)
{
    int rc;
    int64_t next;

    do {
        next = clock_ms() + (int64_t)watch_s * 1000;
        rc = fact_survey_ask(s, why);
        if (rc)
            return rc;
        if (s->c->json)
            query_command_print_json(s->c);
        else
            view_print(s, watch_s);
        if (fflush(stdout) || !watch_s || reader_wait(next)) /* main() reports what failed */
            return 0;
        rc = query_command_look_here(s->c, why);
    } while (!rc);
    return rc;
}

/* Stores the seconds of --watch; 0: not given. */
static int watch_read(const struct query_command *c, int *out, struct fault *why)
{
    const char *text = query_command_flag(c, "watch");
    int64_t value = 0;

    if (text && !number_parse(text, 1, WATCH_MOST_S, &value))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--watch: '%.80s' is not a number of seconds, from 1 to %d", text,
                         WATCH_MOST_S);
    if (text && c->json)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--watch refreshes a view for people; with --json it has no meaning");
    *out = (int)value;
    return 0;
}

static int status_look(void *arg, int *status, struct fault *why)
{
    struct fact_survey s = {.c = arg, .with_jobs = true};
    int watch_s = 0, rc = watch_read(arg, &watch_s, why);

    if (!rc)
        rc = fact_survey_open(&s, why);
    if (!rc)
        rc = views_show(&s, watch_s, why);
    if (!rc && offline_count(&s, s.c->hosts->count - s.c->guests) == 0)
        *status = 0;
    fact_survey_close(&s);
    return rc;
}

int status_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "watch",
         .argument = "[SECONDS]",
         .otherwise = "5",
         .help = "look again every SECONDS (default: 5) until Ctrl-C"},
        {.name = "json", .help = "the answers as JSON"},
        {0}};
    static const struct command_hint hints[] = {
        {"-w", "--watch 5 looks again every 5 s; -H names the hosts"}, {NULL, NULL}};
    struct query_command c = {
        .syntax =
            {.name = "status",
             .usage =
                 "usage: mlaunch status [OPTIONS]\n\n"
                 "Shows in one view which of the given hosts are online, their load, memory and\n"
                 "RDMA ports, and the jobs on them, stale ones included. Without -H or\n"
                 "--hostfile it shows this host and those of the jobs that were started here.",
             .own = flags,
             .hints = hints},
        .timeout_ms = TIMEOUT_MS,
        .asks_guests = true};

    return query_command_run(&c, argc, argv, status_look, &c);
}
