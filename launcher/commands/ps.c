/* SPDX-License-Identifier: MIT */
/* ps.c: `mlaunch ps` lists the jobs on hosts; of one job also its ranks and where they wait. */
#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "launcher/ask/job_state.h"
#include "launcher/ask/query_command.h"
#include "launcher/ask/started_here.h"
#include "launcher/base/text/amount.h"
#include "launcher/base/text/text_table.h"
#include "launcher/run/stacks/hang_report.h"
#include "launcher/run/stacks/stack_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_NOT_THERE = 1, TIMEOUT_MS = 60000, STACKS_MS = 20000, CELL = AMOUNT };

/* The first column is there only if a job has a name. */
static const char *const job_head[] = {"NAME",  "JOB",  "USER", "AGE",     "HOST", "RANKS",
                                       "STATE", "%CPU", "MEM",  "COMMAND", NULL};

static void add_job(struct text_table *t, const char *host, json_t *job, bool has_names)
{
    char age[CELL], ranks[CELL], cpu[CELL], memory[CELL], state[JOB_STATE_TEXT];
    const char *command = object_field_text(job, "command");

    snprintf(ranks, sizeof(ranks), "%lld/%lld", object_field_whole(job, "ranks_alive"),
             object_field_whole(job, "size"));
    snprintf(cpu, sizeof(cpu), "%.0f", object_field_number(job, "cpu_percent"));
    if (strcmp(object_field_text(job, "state"), "unreadable") == 0)
        command = object_field_text(job, "why");
    const char *const cells[] = {object_field_text(job, "job_name"),
                                 object_field_text(job, "job"),
                                 object_field_text(job, "user"),
                                 amount_age(age, object_field_whole(job, "age_s")),
                                 host,
                                 ranks,
                                 job_state_text(state, job),
                                 cpu,
                                 amount_size(memory, object_field_number(job, "memory_bytes")),
                                 command,
                                 NULL};

    text_table_add(t, cells + !has_names);
}

/* The line of a job of which no host has said anything. */
static void add_entry(struct text_table *t, const struct register_found *f, bool has_names)
{
    char age[CELL], ranks[CELL], state[REGISTER_STATE_TEXT], hosts[64], user[64];

    snprintf(ranks, sizeof(ranks), "-/%d", f->entry.file.size);
    started_here_user(user, sizeof(user));
    register_entry_state(&f->entry, state);
    started_here_hosts(f, hosts, sizeof(hosts));
    const char *const cells[] = {f->entry.file.name,
                                 f->entry.file.job,
                                 user,
                                 amount_age(age, started_here_age_s(f)),
                                 hosts,
                                 ranks,
                                 state,
                                 "-",
                                 "-",
                                 f->entry.file.command,
                                 NULL};

    text_table_add(t, cells + !has_names);
}

/* KEPT is there only if a rank keeps something (ml_keep). */
static struct text_table *ranks_table(bool has_kept)
{
    static const char *const head[] = {"RANK", "HOST",      "PID",  "STATE", "%CPU",
                                       "MEM",  "PROCESSES", "NAME", NULL};
    static const char *const head_kept[] = {"RANK", "HOST", "PID",       "STATE", "%CPU",
                                            "MEM",  "KEPT", "PROCESSES", "NAME",  NULL};

    return has_kept ? text_table_create(head_kept, "rlrlrrrrl")
                    : text_table_create(head, "rlrlrrrl");
}

static void add_rank(struct text_table *t, const char *host, json_t *rank, bool has_kept)
{
    char index[CELL], pid[CELL], cpu[CELL], memory[CELL], kept[CELL], processes[CELL];
    const char *cells[10];
    int n = 0;

    snprintf(index, sizeof(index), "%lld", object_field_whole(rank, "rank"));
    snprintf(pid, sizeof(pid), "%lld", object_field_whole(rank, "pid"));
    snprintf(cpu, sizeof(cpu), "%.0f", object_field_number(rank, "cpu_percent"));
    snprintf(processes, sizeof(processes), "%lld", object_field_whole(rank, "processes"));
    cells[n++] = index;
    cells[n++] = host;
    cells[n++] = pid;
    cells[n++] = object_field_text(rank, "state");
    cells[n++] = cpu;
    cells[n++] = amount_size(memory, object_field_number(rank, "memory_bytes"));
    if (has_kept)
        cells[n++] = amount_size(kept, object_field_number(rank, "kept_bytes"));
    cells[n++] = processes;
    cells[n++] = object_field_text(rank, "name");
    cells[n] = NULL;
    text_table_add(t, cells);
}

/* Jobs of other containers and machines are shown only on demand: only their names are known
 * here. */
static bool is_shown(const struct query_command *c, json_t *job)
{
    return *c->job || c->verbose > 0 || strcmp(object_field_text(job, "state"), "elsewhere") != 0;
}

static void waits_print(const char *host, json_t *rank)
{
    json_t *wait;
    size_t i;

    json_array_foreach(json_object_get(rank, "waits"), i, wait)
    {
        printable_print("\nrank %lld on host %s waits in %s\n", object_field_whole(rank, "rank"),
                        host, object_field_text(wait, "text"));
    }
}

/* A rank of a job that is shown. */
struct found_rank {
    const char *host, *job;
    json_int_t number; /* the job's, in the order in which the hosts named them */
    json_t *rank;
};
struct found_ranks {
    struct found_rank *list;
    size_t count, room;
};

/* Job by job, the ranks of each in order. */
static int compare_ranks(const void *a, const void *b)
{
    const struct found_rank *x = a, *y = b;
    long long i = object_field_whole(x->rank, "rank"), k = object_field_whole(y->rank, "rank");

    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : (i > k) - (i < k);
}

static void ranks_add(struct found_ranks *f, const struct found_rank *one)
{
    if (f->count == f->room) {
        size_t room = f->room * 2 + 64;
        struct found_rank *more = realloc(f->list, room * sizeof(*more));

        if (!more)
            return;
        f->list = more;
        f->room = room;
    }
    f->list[f->count++] = *one;
}

/* Finds the ranks of all jobs that are shown, in one pass: a hostile host may name many. The caller
 * frees the list. */
static void ranks_gather(const struct query_command *c, struct found_ranks *f)
{
    json_t *numbers = json_object(), *job, *rank;
    size_t k, r;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            const char *id = object_field_text(job, "job");
            struct found_rank one = {.host = c->answers[i].host->name, .job = id};

            if (!*id || !is_shown(c, job))
                continue;
            if (!json_object_get(numbers, id))
                json_object_set_new(numbers, id,
                                    json_integer((json_int_t)json_object_size(numbers)));
            one.number = json_integer_value(json_object_get(numbers, id));
            json_array_foreach(json_object_get(job, "ranks"), r, rank)
            {
                one.rank = rank;
                ranks_add(f, &one);
            }
        }
    }
    json_decref(numbers);
    if (f->count)
        qsort(f->list, f->count, sizeof(*f->list), compare_ranks);
}

static void process_name(const struct found_rank *r, json_t *process)
{
    printable_print("rank %lld on host %s, pid %lld (%s):\n", object_field_whole(r->rank, "rank"),
                    r->host, object_field_whole(process, "pid"),
                    object_field_text(process, "name"));
}

static void process_print(json_t *process)
{
    static const char *const lists[] = {"python", "stack"};
    json_t *line;
    size_t k;

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        json_array_foreach(json_object_get(process, lists[i]), k, line)
        {
            printable_print("    %s\n", json_string_value(line) ? json_string_value(line) : "");
        }
    }
    if (*object_field_text(process, "why"))
        printable_print("    %s\n", object_field_text(process, "why"));
}

/* What processes in the same place have in common, for the caller to free. */
static char *process_key(const json_t *process)
{
    struct stack_view v;
    char *key = NULL;

    stack_view_make(&v, process);
    if (json_array_size(v.frames) > 0)
        key = json_dumps(v.frames, JSON_COMPACT);
    stack_view_clear(&v);
    return key;
}

/* Prints the stacks of all processes; those of equal stacks share one, that of the first. */
static void stacks_print(const struct found_rank *list, size_t count)
{
    json_t *by_key = json_object(), *same, *process, *one;
    const char *key;
    size_t i, k;

    for (i = 0; i < count; i++) {
        json_array_foreach(json_object_get(list[i].rank, "stacks"), k, process)
        {
            char *mine = process_key(process), alone[48];

            snprintf(alone, sizeof(alone), "%zu %zu", i, k);
            same = json_object_get(by_key, mine ? mine : alone);
            if (!same) {
                same = json_array();
                json_object_set_new(by_key, mine ? mine : alone, same);
            }
            json_array_append_new(same,
                                  json_pack("{s:I, s:O}", "at", (json_int_t)i, "process", process));
            free(mine);
        }
    }
    json_object_foreach(by_key, key, same)
    {
        putchar('\n');
        json_array_foreach(same, k, one)
        {
            process_name(&list[object_field_whole(one, "at")], json_object_get(one, "process"));
        }
        process_print(json_object_get(json_array_get(same, 0), "process"));
    }
    json_decref(by_key);
}

/* With --stacks all ranks in few lines: who waits where for whom. */
static void report_print(const struct found_rank *list, size_t count)
{
    struct hang_rank *ranks = calloc(count + 1, sizeof(*ranks));
    bool has_stacks = false;
    json_t *report;
    char *text;

    for (size_t i = 0; i < count && ranks; i++) {
        has_stacks |= json_object_get(list[i].rank, "stacks") != NULL;
        ranks[i] = (struct hang_rank){object_field_whole(list[i].rank, "rank"), list[i].host,
                                      list[i].rank};
    }
    report = has_stacks ? hang_report_make(ranks, count) : NULL;
    text = report ? hang_report_text(report, "", 0) : NULL;
    if (text)
        printable_print("\nwhere the ranks are:%s\n", text);
    free(text);
    json_decref(report);
    free(ranks);
}

/* The copies of --keep 2 are wanting. */
static void alone_print(const char *host, const json_t *rank)
{
    const char *why = object_field_text(rank, "kept_alone");

    if (*why)
        printable_print("rank %lld on host %s: kept in memory on one host only: %s\n",
                        object_field_whole(rank, "rank"), host, why);
}

/* The ranks of one job. */
static void ranks_print(const struct found_rank *list, size_t count, const char *title)
{
    bool has_kept = false;
    struct text_table *t;

    for (size_t i = 0; i < count; i++)
        has_kept |= object_field_number(list[i].rank, "kept_bytes") > 0;
    t = ranks_table(has_kept);
    for (size_t i = 0; i < count && t; i++)
        add_rank(t, list[i].host, list[i].rank, has_kept);
    if (t) {
        printable_print("\n%s%s%s", title, *title ? list->job : "", *title ? ":\n" : "");
        text_table_print(t);
    }
    for (size_t i = 0; i < count; i++)
        alone_print(list[i].host, list[i].rank);
    report_print(list, count);
    for (size_t i = 0; i < count; i++)
        waits_print(list[i].host, list[i].rank);
    stacks_print(list, count);
    text_table_destroy(t);
}

/* Whether a job that is shown has a name. */
static bool names_are_there(const struct query_command *c)
{
    json_t *job;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (is_shown(c, job) && *object_field_text(job, "job_name"))
                return true;
        }
    }
    for (size_t i = 0; i < c->here.count; i++) {
        if (started_here_is_asked(c, &c->here.found[i]) && *c->here.found[i].entry.file.name)
            return true;
    }
    return false;
}

/* Prints all jobs, a line for each host of each; jobs without one there, by what is known of them
 * here. Returns the number of lines. */
static int jobs_print(const struct query_command *c)
{
    bool has_names = names_are_there(c);
    const char *align = "lllrlrlrrl";
    struct text_table *t = text_table_create(&job_head[!has_names], &align[!has_names]);
    int shown = 0;
    json_t *job;
    size_t k;

    for (int i = 0; i < c->hosts->count && t; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (!is_shown(c, job))
                continue;
            add_job(t, c->answers[i].host->name, job, has_names);
            shown++;
        }
    }
    for (size_t i = 0; i < c->here.count && t; i++) {
        if (started_here_is_silent(c, &c->here.found[i])) {
            add_entry(t, &c->here.found[i], has_names);
            shown++;
        }
    }
    if (shown)
        text_table_print(t);
    text_table_destroy(t);
    return shown;
}

/* Prints the ranks of all jobs that were asked for, each job once. */
static void all_ranks_print(const struct query_command *c)
{
    struct found_ranks f = {0};
    size_t next;

    ranks_gather(c, &f);
    for (size_t i = 0; i < f.count; i = next) {
        next = i;
        while (next < f.count && f.list[next].number == f.list[i].number)
            next++;
        ranks_print(&f.list[i], next - i, *c->job ? "" : "job ");
    }
    free(f.list);
}

/* Names hosts that have failed although the user has named none. */
static void failed_print(const struct query_command *c)
{
    for (int i = c->hosts->count - c->guests; i < c->hosts->count; i++)
        if (c->answers[i].error[0])
            printable_print("\nhost %s has not answered: %s\n", c->answers[i].host->name,
                            c->answers[i].error);
}

/* Where the rest of the one job is, if it has more hosts than were asked: on a host of a job
 * nothing knows the others. */
static void others_print(const struct query_command *c)
{
    long long count = 0, there = 0;
    const char *id = NULL;
    json_t *job;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (!started_here_is_live(job))
                continue;
            if (id && strcmp(id, object_field_text(job, "job")) != 0)
                return;
            id = object_field_text(job, "job");
            count = object_field_whole(job, "host_count");
            there++;
        }
    }
    if (there && there < count && c->hosts->count < count && !c->options->hosts &&
        !c->options->hostfile)
        printf(
            "\n%lld of the job's %lld hosts %s not asked: mlaunch ps asks all where the job's "
            "mlaunch runs, which for mlaunch join is the host of index 0, and over SSH with -H\n",
            count - there, count, count - there == 1 ? "was" : "were");
    if (there < count && *c->job)
        failed_print(c);
}

/* Prints the processes of dead jobs, and returns how many there are. */
static int orphans_print(const struct query_command *c)
{
    int shown = 0;
    json_t *one;
    size_t k;

    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "orphans"), k, one)
        {
            printable_print(
                "host %s: process %lld (%s) is left of a job that is gone (%s); mlaunch clean "
                "ends it\n",
                c->answers[i].host->name, object_field_whole(one, "pid"),
                object_field_text(one, "name"), object_field_text(one, "directory"));
            shown++;
        }
    }
    return shown;
}

/* The mlaunch processes of this machine whose jobs are asked about. */
static json_t *launchers_list(const struct query_command *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->here.count; i++) {
        const struct register_found *f = &c->here.found[i];
        const struct register_entry *e = &f->entry;
        json_t *one;

        if (!started_here_is_asked(c, f))
            continue;
        one = json_pack("{ss ss sI ss si si si sI sI}", "job", e->file.job, "job_name",
                        e->file.name, "pid", (json_int_t)e->file.agent_pid, "state",
                        register_entry_state_word(e->state), "restart", e->restart, "restarts",
                        e->restarts, "size", e->file.size, "started_at",
                        (json_int_t)e->file.started_at, "age_s", (json_int_t)started_here_age_s(f));
        json_object_set_new(one, "command", text_json(e->file.command));
        json_object_set(one, "hosts", e->hosts);
        json_array_append_new(list, one);
    }
    return list;
}

/* Prints the answers as JSON, without the jobs that are not shown. Returns how many jobs are. */
static int json_print(const struct query_command *c)
{
    json_t *launchers = launchers_list(c);
    struct query_command more = *c;
    int shown = (int)json_array_size(launchers);

    for (int i = 0; i < c->hosts->count; i++) {
        json_t *jobs = json_object_get(c->answers[i].said, "jobs");

        for (size_t k = json_array_size(jobs); k > 0; k--) {
            if (!is_shown(c, json_array_get(jobs, k - 1)))
                json_array_remove(jobs, k - 1);
        }
        shown += (int)json_array_size(jobs);
    }
    more.more = json_pack("{so}", "launchers", launchers);
    query_command_print_json(&more);
    json_decref(more.more);
    return shown;
}

static int ps_conclude(const struct query_command *c)
{
    int unreached = query_command_report_failed(c), shown = 0;

    for (int i = 0; i < c->hosts->count; i++)
        started_here_drop_idle(&c->here, c->answers[i].said);
    if (c->json) {
        shown = json_print(c);
    } else {
        shown = jobs_print(c);
        if (*c->job || c->verbose > 0)
            all_ranks_print(c);
        if (*c->job)
            others_print(c);
        shown += orphans_print(c);
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

/* Makes the only live job on the hosts the one that is asked about. */
static int job_choose(struct query_command *c, struct fault *why)
{
    json_t *ids = json_object(), *job;
    int rc =
        query_command_ask(c, json_pack("{ss ss sb}", "what", "list", "job", "", "stacks", 0), why);
    size_t k, count;

    for (int i = 0; !rc && i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (started_here_is_live(job))
                json_object_set_new(ids, object_field_text(job, "job"), json_true());
        }
    }
    count = json_object_size(ids);
    if (!rc && count == 1)
        rc = query_command_choose(c, json_object_iter_key(json_object_iter(ids)), why);
    else if (!rc)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "--stacks needs a job's id, because %zu jobs are live: mlaunch ps JOB "
                       "--stacks",
                       count);
    json_decref(ids);
    return rc;
}

static json_t *ps_question(struct query_command *c, struct fault *why)
{
    bool stacks = query_command_flag(c, "stacks");

    if (stacks && !*c->job && job_choose(c, why))
        return NULL;
    if (stacks)
        c->guests_ms = STACKS_MS;
    return json_pack("{ss ss sb}", "what", "list", "job", c->job, "stacks", (int)stacks);
}

int ps_run(int argc, char **argv)
{
    static const char all[] = "it lists all your jobs, and for root everybody's; -v adds the ranks";
    static const struct command_hint hints[] = {{"-a", all},     {"-A", all},    {"-e", all},
                                                {"-l", all},     {"--all", all}, {"-u", all},
                                                {"--user", all}, {NULL, NULL}};
    static const struct option flags[] = {
        {.name = "stacks",
         .help = "which call each rank of JOB, or of the only live job, waits in, and where, from "
                 "gdb or the kernel"},
        {.name = "json", .help = "the answer as JSON"},
        {0}};
    struct query_command c = {
        .syntax =
            {.name = "ps",
             .usage =
                 "usage: mlaunch ps [OPTIONS] [JOB]\n\n"
                 "Lists the jobs on the given hosts, a line for each host of each job: yours,\n"
                 "and for root everybody's. With JOB, an id or a name, or -v, its ranks too.",
             .own = flags,
             .hints = hints,
             .words_most = 1},
        .timeout_ms = TIMEOUT_MS,
        .asks_guests = true,
        .lists = {"jobs", "orphans"}};

    return query_command_main(&c, argc, argv, ps_question, ps_conclude);
}
