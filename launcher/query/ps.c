/* SPDX-License-Identifier: MIT */
/* ps.c: `mlaunch ps`: the jobs on hosts; of one job its ranks too, and where they wait. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/query/query_command.h"
#include "launcher/text/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_NOT_THERE = 1, TIMEOUT_MS = 60000, CELL = 32 };

static double number(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static long long whole(json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* "12s", "5:04", "3:05:04", "2d04h" */
static void format_age(char out[CELL], long long s)
{
    if (s < 60)
        snprintf(out, CELL, "%llds", s);
    else if (s < 3600)
        snprintf(out, CELL, "%lld:%02lld", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, CELL, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, CELL, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}

/* "812K", "3.4M", "12G" */
static void format_size(char out[CELL], double bytes)
{
    static const char units[] = "KMGTP";
    size_t unit = 0;

    bytes /= 1024;
    while (bytes >= 1000 && unit < sizeof(units) - 2) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, CELL, bytes < 10 && unit > 0 ? "%.1f%c" : "%.0f%c", bytes, units[unit]);
}

static const char *const job_head[] = {"JOB",   "USER", "AGE", "HOST",    "RANKS",
                                       "STATE", "%CPU", "MEM", "COMMAND", NULL};

static void add_job(struct text_table *t, const char *host, json_t *job)
{
    char age[CELL], ranks[CELL], cpu[CELL], memory[CELL];
    const char *state = query_string(job, "state"), *command = query_string(job, "command");

    format_age(age, whole(job, "age_s"));
    snprintf(ranks, sizeof(ranks), "%lld/%lld", whole(job, "ranks_alive"), whole(job, "size"));
    snprintf(cpu, sizeof(cpu), "%.0f", number(job, "cpu_percent"));
    format_size(memory, number(job, "memory_bytes"));
    if (strcmp(state, "unreadable") == 0)
        command = query_string(job, "why");
    text_table_add(t, (const char *const[]){query_string(job, "job"), query_string(job, "user"),
                                            age, host, ranks, state, cpu, memory, command, NULL});
}

static const char *const rank_head[] = {"RANK", "HOST",      "PID",  "STATE", "%CPU",
                                        "MEM",  "PROCESSES", "NAME", NULL};

static void add_rank(struct text_table *t, const char *host, json_t *rank)
{
    char index[CELL], pid[CELL], cpu[CELL], memory[CELL], processes[CELL];

    snprintf(index, sizeof(index), "%lld", whole(rank, "rank"));
    snprintf(pid, sizeof(pid), "%lld", whole(rank, "pid"));
    snprintf(cpu, sizeof(cpu), "%.0f", number(rank, "cpu_percent"));
    snprintf(processes, sizeof(processes), "%lld", whole(rank, "processes"));
    format_size(memory, number(rank, "memory_bytes"));
    text_table_add(t, (const char *const[]){index, host, pid, query_string(rank, "state"), cpu,
                                            memory, processes, query_string(rank, "name"), NULL});
}

/* Jobs of other containers and machines are shown on demand only: nothing is known of them here. */
static bool is_shown(const struct query_command *c, json_t *job)
{
    return *c->job || c->verbose > 0 || strcmp(query_string(job, "state"), "elsewhere") != 0;
}

static void print_stacks(const char *host, json_t *rank)
{
    json_t *process, *line;
    size_t i, k;

    json_array_foreach(json_object_get(rank, "waits"), i, line)
    {
        printf("\nrank %lld on host %s waits in %s\n", whole(rank, "rank"), host,
               json_string_value(line) ? json_string_value(line) : "");
    }
    json_array_foreach(json_object_get(rank, "stacks"), i, process)
    {
        printf("\nrank %lld on host %s, pid %lld (%s):\n", whole(rank, "rank"), host,
               whole(process, "pid"), query_string(process, "name"));
        json_array_foreach(json_object_get(process, "stack"), k, line)
        {
            printf("    %s\n", json_string_value(line) ? json_string_value(line) : "");
        }
        if (*query_string(process, "why"))
            printf("    %s\n", query_string(process, "why"));
    }
}

typedef void rank_fn(void *arg, const char *host, json_t *rank);

struct found_rank {
    const char *host;
    json_t *rank;
};

static int compare_ranks(const void *a, const void *b)
{
    long long x = whole(((const struct found_rank *)a)->rank, "rank");
    long long y = whole(((const struct found_rank *)b)->rank, "rank");

    return (x > y) - (x < y);
}

/* The ranks of all shown jobs with this id, from all hosts, in order. *out: freed by the caller. */
static size_t ranks_gather(const struct query_command *c, const char *id, struct found_rank **out)
{
    struct found_rank *list = NULL;
    size_t count = 0, k, r;
    json_t *job, *rank;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (strcmp(query_string(job, "job"), id) != 0 || !is_shown(c, job))
                continue;
            json_array_foreach(json_object_get(job, "ranks"), r, rank)
            {
                struct found_rank *more = realloc(list, (count + 1) * sizeof(*more));

                if (!more)
                    continue;
                list = more;
                list[count++] = (struct found_rank){c->answers[i].host->name, rank};
            }
        }
    }
    if (count)
        qsort(list, count, sizeof(*list), compare_ranks);
    *out = list;
    return count;
}

static void print_ranks(const struct query_command *c, const char *id, const char *title)
{
    struct found_rank *list;
    size_t count = ranks_gather(c, id, &list);
    struct text_table *t = text_table_create(rank_head, "rlrlrrrl");

    for (size_t i = 0; i < count && t; i++)
        add_rank(t, list[i].host, list[i].rank);
    if (count && t) {
        printf("\n%s%s%s", title, *title ? id : "", *title ? ":\n" : "");
        text_table_print(t);
    }
    for (size_t i = 0; i < count; i++)
        print_stacks(list[i].host, list[i].rank);
    text_table_destroy(t);
    free(list);
}

/* All jobs, a line for each host of each. How many lines. */
static int print_jobs(const struct query_command *c)
{
    struct text_table *t = text_table_create(job_head, "llrlrlrrl");
    int shown = 0;
    json_t *job;
    size_t k;

    for (int i = 0; i < c->hosts->count && t; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (!is_shown(c, job))
                continue;
            add_job(t, c->answers[i].host->name, job);
            shown++;
        }
    }
    if (shown)
        text_table_print(t);
    text_table_destroy(t);
    return shown;
}

/* With -v the ranks of all jobs: of each id once. */
static void print_all_ranks(const struct query_command *c)
{
    json_t *seen = json_object(), *job;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            const char *id = query_string(job, "job");

            if (!*id || json_object_get(seen, id))
                continue;
            json_object_set_new(seen, id, json_true());
            print_ranks(c, id, *c->job ? "" : "job ");
        }
    }
    json_decref(seen);
}

static int print_orphans(const struct query_command *c)
{
    int shown = 0;
    json_t *one;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "orphans"), k, one)
        {
            printf("host %s: process %lld (%s) is left of a job that is gone (%s); mlaunch clean "
                   "ends it\n",
                   c->answers[i].host->name, whole(one, "pid"), query_string(one, "name"),
                   query_string(one, "directory"));
            shown++;
        }
    }
    return shown;
}

static int conclude(const struct query_command *c)
{
    int unreached = query_command_report_failed(c), shown = 0;

    if (c->json) {
        query_command_print_json(c);
        for (int i = 0; i < c->hosts->count; i++)
            shown += (int)json_array_size(json_object_get(c->answers[i].said, "jobs"));
    } else {
        shown = print_jobs(c);
        if (*c->job || c->verbose > 0)
            print_all_ranks(c);
        shown += print_orphans(c);
    }
    if (unreached)
        return STATUS_OURS;
    if (*c->job && !shown) {
        log_error("there is no job %s here; mlaunch ps lists all", c->job);
        return STATUS_NOT_THERE;
    }
    if (!shown && !c->json && c->verbose >= 0)
        puts("no jobs");
    return 0;
}

int ps_run(int argc, char **argv)
{
    bool stacks = false;
    struct query_flag flags[3] = {{.name = NULL}};
    struct query_command c = {
        .name = "ps",
        .usage = "usage: mlaunch ps [OPTIONS] [JOB]\n\n"
                 "Lists the jobs on the given hosts, a line for each host of each job: yours, and "
                 "for root\neverybody's. With JOB, or -v, its ranks too.",
        .job_word = JOB_WORD_OPTIONAL,
        .flags = flags,
        .timeout_ms = TIMEOUT_MS};
    int status = STATUS_OURS;
    struct fault why;

    flags[0] = (struct query_flag){
        .name = "stacks",
        .help = "with JOB: which call each rank waits in, and where, by gdb or as the kernel tells",
        .value = &stacks};
    flags[1] = (struct query_flag){.name = "json", .help = "the answer as JSON", .value = &c.json};
    if (query_command_open(&c, argc, argv, &why))
        log_error("%s", why.text);
    else if (c.is_done)
        status = 0;
    else if (stacks && !*c.job)
        log_error("--stacks needs a job's id: mlaunch ps JOB --stacks");
    else if (query_command_ask(
                 &c, json_pack("{ss ss sb}", "what", "list", "job", c.job, "stacks", (int)stacks),
                 &why))
        log_error("%s", why.text);
    else
        status = conclude(&c);
    query_command_close(&c);
    return status;
}
