/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_result.h"

#include <stdlib.h>

struct pair_row *pair_result_add(struct pair_result *r, int from, int to, int rail, size_t bytes)
{
    struct pair_row *row;

    if (r->count == r->room) {
        int room = r->room ? r->room * 2 : 64;
        struct pair_row *more = realloc(r->rows, (size_t)room * sizeof(*more));

        if (!more)
            return NULL;
        r->rows = more;
        r->room = room;
    }
    row = &r->rows[r->count];
    *row = (struct pair_row){.from = from, .to = to, .rail = rail, .bytes = bytes};
    row->rounds = calloc((size_t)r->options->rounds, sizeof(*row->rounds));
    if (!row->rounds)
        return NULL;
    r->count++;
    return row;
}

static const struct pair_row *pair_result_find(const struct pair_result *r, int from, int to,
                                               int rail, size_t bytes)
{
    for (int i = 0; i < r->count; i++) {
        const struct pair_row *row = &r->rows[i];

        if (row->from == from && row->to == to && row->rail == rail && row->bytes == bytes)
            return row;
    }
    return NULL;
}

void pair_result_clear(struct pair_result *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->rows[i].rounds);
    for (int i = 0; i < r->end_count; i++)
        free(r->ends[i].name);
    free(r->rows);
    free(r->ends);
    bench_setup_close(&r->setup);
    *r = (struct pair_result){0};
}

double pair_result_gbps(const struct pair_row *row, enum pair_way way, double us)
{
    double bytes = (double)row->bytes * (way == PAIR_BOTH ? 2 : 1);

    return us > 0 ? bytes / us / 1000 : 0;
}

size_t pair_result_cell_bytes(const struct pair_result *r, bool is_latency)
{
    const struct bench_options *o = r->options;
    int64_t bytes = o->sizes[0];

    for (int i = 1; i < o->size_count; i++)
        if (is_latency ? o->sizes[i] < bytes : o->sizes[i] > bytes)
            bytes = o->sizes[i];
    return (size_t)bytes;
}

bool pair_result_cell(const struct pair_result *r, int from, int to, bool is_latency, double *value)
{
    bool is_back = from > to;
    const struct pair_row *row =
        pair_result_find(r, is_back ? to : from, is_back ? from : to, PAIR_ALL_RAILS,
                         pair_result_cell_bytes(r, is_latency));
    enum pair_way way = is_latency ? PAIR_LATENCY : is_back ? PAIR_BACK : PAIR_THERE;

    if (from == to || !row || !row->ways[way].count)
        return false;
    *value =
        is_latency ? row->ways[way].typical : pair_result_gbps(row, way, row->ways[way].typical);
    return true;
}

static const double grade_most[PAIR_GRADES - 1] = {1.1, 1.5, 2.1, 4};

int pair_result_grade(double value, double best, bool is_latency)
{
    double ratio = is_latency ? value / best : best / value;
    int grade = 0;

    while (grade < PAIR_GRADES - 1 && !(ratio <= grade_most[grade]))
        grade++;
    return grade;
}

bool pair_result_best(const struct pair_result *r, bool is_latency, double *best)
{
    bool has_any = false;
    double value;

    for (int i = 0; i < r->end_count; i++)
        for (int j = 0; j < r->end_count; j++) {
            if (!pair_result_cell(r, i, j, is_latency, &value) || value <= 0)
                continue;
            if (!has_any || (is_latency ? value < *best : value > *best))
                *best = value;
            has_any = true;
        }
    return has_any;
}

const char *pair_result_grade_words(int grade)
{
    static const char *const words[PAIR_GRADES] = {"within 1.1 of the best", "to 1.5 times worse",
                                                   "to 2.1 times", "to 4 times", "more"};

    return words[grade];
}
