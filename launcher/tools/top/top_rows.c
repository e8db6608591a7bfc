/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_rows.h"

#include "launcher/run/stacks/hang_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const top_column_names[TOP_COLUMNS] = {"rank", "cpu", "mem", "calls", "bytes", "wait"};

void top_choice_clear(struct top_choice *c)
{
    string_list_clear(&c->folded_jobs);
    string_list_clear(&c->folded_hosts);
}

/* --- jobs ------------------------------------------------------------------------------------- */

struct job_there {
    const struct top_job *job;
    const struct top_host *host;
    size_t number; /* in the order of the hosts */
};

static int there_compare(const void *a, const void *b)
{
    const struct job_there *x = a, *y = b;
    int order = strcmp(x->job->id, y->job->id);

    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void part_sum(struct top_row *row, const struct top_job *part)
{
    for (size_t i = 0; i < part->rank_count; i++) {
        top_use_add(&row->use, &part->ranks[i].use);
        row->alive += part->ranks[i].is_alive;
        row->waiting += part->ranks[i].waits_s > 0;
    }
}

static void whole_add(struct top_rows *r, struct top_whole *w, const struct job_there *one)
{
    w->parts[w->part_count] = one->job;
    w->hosts[w->part_count++] = one->host;
    w->is_stale = w->is_stale || strcmp(one->job->state, "stale") == 0;
    part_sum(&w->row, one->job);
    for (size_t i = 0; i < one->job->rank_count; i++) {
        const struct top_rank *rank = &one->job->ranks[i];

        for (int k = 0; k < TOP_LINK_KINDS; k++)
            r->links[k] = r->links[k] || rank->counts[TOP_LINKS + 2 * k] > 0 ||
                          rank->counts[TOP_LINKS + 2 * k + 1] > 0;
    }
}

static double order_of(const struct top_use *use, const struct top_choice *choice, double otherwise)
{
    double value = 0;

    switch (choice->column) {
    case TOP_BY_CPU:
        value = use->rates[TOP_CPU];
        break;
    case TOP_BY_MEMORY:
        value = use->memory;
        break;
    case TOP_BY_CALLS:
        value = use->rates[TOP_CALLS];
        break;
    case TOP_BY_BYTES:
        for (int i = TOP_LINKS; i < TOP_COUNTS; i++)
            value += isnan(use->rates[i]) ? 0 : use->rates[i];
        break;
    case TOP_BY_WAIT:
        value = use->rates[TOP_WAIT];
        break;
    default:
        value = otherwise;
    }
    if (isnan(value))
        value = -1;
    return choice->is_reversed ? -value : value;
}

static int whole_compare(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;

    if (x->order < y->order || x->order > y->order)
        return x->order < y->order ? 1 : -1;
    return strcmp(x->whole->first->id, y->whole->first->id);
}

/* Finds each job once, with all its parts. */
static int wholes_find(struct top_rows *r, const struct top_host *hosts, int count,
                       struct fault *why)
{
    struct job_there *all;
    size_t jobs = 0, at = 0;

    for (int i = 0; i < count; i++)
        jobs += hosts[i].job_count;
    all = calloc(jobs + 1, sizeof(*all));
    r->wholes = calloc(jobs + 1, sizeof(*r->wholes));
    if (!all || !r->wholes)
        goto fail;
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < hosts[i].job_count; k++, at++)
            all[at] = (struct job_there){&hosts[i].jobs[k], &hosts[i], at};
    }
    qsort(all, jobs, sizeof(*all), there_compare);
    for (size_t i = 0; i < jobs; i++) {
        struct top_whole *w = &r->wholes[r->whole_count];

        if (i == 0 || strcmp(all[i].job->id, all[i - 1].job->id) != 0) {
            size_t parts = 1;

            while (i + parts < jobs && strcmp(all[i + parts].job->id, all[i].job->id) == 0)
                parts++;
            *w = (struct top_whole){.first = all[i].job,
                                    .row = {.kind = TOP_ROW_JOB, .whole = w, .use = top_use_none}};
            r->whole_count++;
            w->parts = calloc(parts, sizeof(struct top_job *));
            w->hosts = calloc(parts, sizeof(struct top_host *));
            if (!w->parts || !w->hosts)
                goto fail;
        } else {
            w--;
        }
        whole_add(r, w, &all[i]);
    }
    free(all);
    return 0;
fail:
    free(all);
    return fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* --- rows ------------------------------------------------------------------------------------- */

static int row_add(struct top_rows *r, const struct top_row *row, struct fault *why)
{
    if (r->count == r->room) {
        size_t room = r->room * 2 + 64;
        struct top_row *more = realloc(r->rows, room * sizeof(*more));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        r->rows = more;
        r->room = room;
    }
    r->rows[r->count++] = *row;
    return 0;
}

static int row_compare(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;

    if (x->order < y->order || x->order > y->order)
        return x->order < y->order ? 1 : -1;
    return (x->rank->rank > y->rank->rank) - (x->rank->rank < y->rank->rank);
}

static int ranks_add(struct top_rows *r, const struct top_whole *w, const struct top_choice *choice,
                     struct fault *why)
{
    size_t begin = r->count;
    int rc = 0;

    for (size_t i = 0; i < w->part_count && !rc; i++) {
        const struct top_job *part = w->parts[i];
        bool is_folded = strings_has(choice->folded_hosts.items, w->hosts[i]->name);

        for (size_t k = 0; k < part->rank_count && !rc; k++) {
            struct top_row row = {.kind = is_folded ? TOP_ROW_PART : TOP_ROW_RANK,
                                  .host = w->hosts[i],
                                  .whole = w,
                                  .rank = &part->ranks[k],
                                  .use = is_folded ? top_use_none : part->ranks[k].use};

            if (is_folded)
                part_sum(&row, part);
            row.order = order_of(&row.use, choice, -(double)row.rank->rank);
            rc = row_add(r, &row, why);
            if (is_folded)
                break;
        }
    }
    if (!rc && r->count > begin)
        qsort(&r->rows[begin], r->count - begin, sizeof(*r->rows), row_compare);
    return rc;
}

/* Who waits for whom, in lines, for the caller to free; NULL: out of memory. */
static char *report_write(const struct top_whole *w, const struct top_rows *r)
{
    struct hang_rank *ranks = calloc((size_t)r->ranks + 1, sizeof(*ranks));
    json_t *report, *groups;
    size_t count = 0;
    char *text;

    if (!ranks)
        return NULL;
    for (size_t i = 0; i < w->part_count; i++) {
        for (size_t k = 0; k < w->parts[i]->rank_count; k++)
            ranks[count++] = (struct hang_rank){w->parts[i]->ranks[k].rank, w->hosts[i]->name,
                                                w->parts[i]->ranks[k].said};
    }
    hang_report_sort(ranks, count);
    report = hang_report_make(ranks, count);
    groups = json_object_get(report, "groups");
    for (size_t i = json_array_size(groups); i > 0; i--) {
        if (!json_object_get(json_array_get(groups, i - 1), "waits_for"))
            json_array_remove(groups, i - 1);
    }
    text = hang_report_text(report, "", 0);
    json_decref(report);
    free(ranks);
    return text;
}

static int report_add(struct top_rows *r, const struct top_whole *w, struct fault *why)
{
    char *text = w->row.waiting ? report_write(w, r) : NULL, *next = text, *line;
    int rc = 0;

    while (!rc && (line = strsep(&next, "\n"))) {
        struct top_row row = {.kind = TOP_ROW_TEXT, .whole = w};

        if (!*line)
            continue;
        rc = string_copy(&row.text, line, why);
        if (!rc)
            rc = row_add(r, &row, why);
        if (rc)
            free(row.text);
    }
    free(text);
    return rc;
}

static int jobs_add(struct top_rows *r, const struct top_choice *choice, struct fault *why)
{
    struct top_row *jobs = calloc(r->whole_count + 1, sizeof(*jobs));
    int rc = jobs ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    for (size_t i = 0; i < r->whole_count && !rc; i++) {
        const struct top_whole *w = &r->wholes[i];

        jobs[i] = w->row;
        jobs[i].order = order_of(&w->row.use, choice, (double)w->first->age_s);
    }
    if (!rc)
        qsort(jobs, r->whole_count, sizeof(*jobs), whole_compare);
    for (size_t i = 0; i < r->whole_count && !rc; i++) {
        rc = row_add(r, &jobs[i], why);
        if (rc || strings_has(choice->folded_jobs.items, jobs[i].whole->first->id))
            continue;
        rc = report_add(r, jobs[i].whole, why);
        if (!rc)
            rc = ranks_add(r, jobs[i].whole, choice, why);
    }
    free(jobs);
    return rc;
}

static int hosts_add(struct top_rows *r, const struct top_host *hosts, int count,
                     const struct top_choice *choice, struct fault *why)
{
    int rc = row_add(r, &(struct top_row){.kind = TOP_ROW_HOSTS}, why);

    r->host_count = count;
    for (int i = 0; i < count && !rc; i++) {
        r->hosts_known += hosts[i].said != NULL;
        /* One that has failed is shown in any case. */
        if (!choice->hides_hosts || (!hosts[i].said && hosts[i].error[0]))
            rc = row_add(r, &(struct top_row){.kind = TOP_ROW_HOST, .host = &hosts[i]}, why);
    }
    return rc;
}

int top_rows_make(struct top_rows *out, const struct top_host *hosts, int count,
                  const struct top_choice *choice, struct fault *why)
{
    struct top_rows r = {0};
    int rc = wholes_find(&r, hosts, count, why);

    for (size_t i = 0; i < r.whole_count; i++) {
        r.waiting += r.wholes[i].row.waiting;
        for (size_t k = 0; k < r.wholes[i].part_count; k++)
            r.ranks += (int)r.wholes[i].parts[k]->rank_count;
    }
    if (!rc)
        rc = hosts_add(&r, hosts, count, choice, why);
    if (!rc && r.whole_count)
        rc = row_add(&r, &(struct top_row){.kind = TOP_ROW_BLANK}, why);
    if (!rc && r.whole_count)
        rc = row_add(&r, &(struct top_row){.kind = TOP_ROW_RANKS}, why);
    if (!rc)
        rc = jobs_add(&r, choice, why);
    if (rc)
        top_rows_clear(&r);
    else
        *out = r;
    return rc;
}

void top_rows_clear(struct top_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->rows[i].text);
    for (size_t i = 0; i < r->whole_count; i++) {
        free(r->wholes[i].parts);
        free(r->wholes[i].hosts);
    }
    free(r->wholes);
    free(r->rows);
    *r = (struct top_rows){0};
}
