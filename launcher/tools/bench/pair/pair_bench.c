/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_bench.h"

#include "common/net/frame.h"
#include "common/net/job_file.h"
#include "common/rdma_choice.h"
#include "common/text/printable.h"
#include "launcher/base/text/result_file.h"
#include "launcher/tools/bench/measure/bench_case.h"
#include "launcher/tools/bench/measure/measure.h"
#include "launcher/tools/bench/pair/pair_report.h"
#include "launcher/tools/bench/pair/pair_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the leader of a pair tells rank 0 after each round; all zeros: nothing was measured. */
struct round_report {
    double errors;
    double medians[PAIR_WAYS]; /* this round's */
    struct time_summary all[PAIR_WAYS];
};

struct pair_bench {
    struct pair_result result;
    ml_group *world;
    int mine; /* this rank's index among the ends; -1: it only waits */
    int rail;
    json_t *wiring; /* NULL: the job has no RDMA */
    struct pair_buffers buffers;
    struct pair_times *times;
    struct round_report *reports; /* rank 0: one from each rank */
    bool has_rows;
};

/* --- rails ------------------------------------------------------------------------------------ */

/* The wiring, [host][host], that this job's ranks have; the caller's reference. NULL: the job has
 * none. */
static json_t *wiring_read(void)
{
    const char *directory = getenv("MLAUNCH_JOB_DIR");
    json_t *root, *wiring;
    struct fault why;

    if (!directory || job_file_json(&root, directory, "rdma.json", FRAME_LIMIT, &why))
        return NULL;
    wiring = json_incref(json_object_get(root, "wiring"));
    json_decref(root);
    return wiring;
}

/* The RDMA port, "device" or "device:port", at `from` of a rail to `to`, from 0; "": not known. */
static const char *rail_port(const json_t *wiring, int from, int to, int rail)
{
    const json_t *rails = json_array_get(json_array_get(wiring, (size_t)from), (size_t)to);
    const char *port = json_string_value(json_array_get(rails, (size_t)rail));

    return port ? port : "";
}

/* How many rails lead from one host to the other one; 0: none, or it is not known. */
static int rails_count(const json_t *wiring, int from, int to)
{
    size_t there =
        json_array_size(json_array_get(json_array_get(wiring, (size_t)from), (size_t)to));
    size_t back = json_array_size(json_array_get(json_array_get(wiring, (size_t)to), (size_t)from));
    size_t count = there < back ? there : back;

    return count < RDMA_RAILS ? (int)count : RDMA_RAILS;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* True if an earlier rank is on that rank's host. */
static bool host_is_known(const ml_group *world, int rank)
{
    for (int i = 0; i < rank; i++)
        if (strcmp(ml_host(world, i), ml_host(world, rank)) == 0)
            return true;
    return false;
}

static int end_add(struct pair_bench *b, int rank, bool by_host, struct fault *why)
{
    const char *host = ml_host(b->world, rank), *node = b->result.setup.node;
    struct pair_end *e = &b->result.ends[b->result.end_count];
    char name[32];

    if (node[0] && strcmp(host, "localhost") == 0)
        host = node;
    snprintf(name, sizeof(name), "rank %d", rank);
    *e = (struct pair_end){rank, strdup(by_host ? host : name)};
    if (!e->name)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    printable_mend(e->name, "");
    if (rank == ml_rank(b->world))
        b->mine = b->result.end_count;
    b->result.end_count++;
    return 0;
}

/* The first rank of each host, or all of one host. */
static int ends_find(struct pair_bench *b, struct fault *why)
{
    int ranks = ml_size(b->world), rc = 0;
    bool by_host = b->result.setup.host_count > 1;

    if (b->result.ends)
        return 0;
    b->mine = -1;
    b->result.ends = calloc((size_t)ranks, sizeof(*b->result.ends));
    if (!b->result.ends)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < ranks && !rc; i++)
        if (!by_host || !host_is_known(b->world, i))
            rc = end_add(b, i, by_host, why);
    b->result.turns = pair_schedule_turns(b->result.end_count);
    return rc;
}

/* Whether a pair takes part while one rail is measured: if it has that one and another one. */
static bool pair_has_rail(const struct pair_bench *b, int from, int to)
{
    int count = b->rail == PAIR_ALL_RAILS ? 0 : rails_count(b->wiring, from, to);

    return b->rail == PAIR_ALL_RAILS || (count > 1 && b->rail < count);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Runs this rank's pair and brings the leaders' reports to rank 0. */
static int round_run(struct pair_bench *b, int turn, size_t bytes, struct fault *why)
{
    const struct pair_result *r = &b->result;
    int other = b->mine < 0 ? -1 : pair_schedule_partner(r->end_count, turn, b->mine);
    struct round_report mine = {0};
    int rc = 0;

    if (other >= 0 && pair_has_rail(b, b->mine, other))
        rc = pair_traffic_run(r->options, b->world, r->ends[other].rank, bytes, &b->buffers,
                              b->times);
    if (!rc && other > b->mine && pair_has_rail(b, b->mine, other)) {
        mine.errors = (double)b->times->errors;
        for (int way = 0; way < PAIR_WAYS; way++) {
            mine.medians[way] = time_spread_summarize(&b->times->round[way]).typical;
            mine.all[way] = time_spread_summarize(&b->times->all[way]);
        }
    }
    if (!rc)
        rc = ml_gather(b->world, &mine, b->reports, sizeof(mine), 0);
    return bench_case_call(why, rc);
}

/* Valid as long as the wiring. */
static void ports_set(const struct pair_bench *b, struct pair_row *row)
{
    bool is_known = row->rail != PAIR_ALL_RAILS || rails_count(b->wiring, row->from, row->to) == 1;
    int rail = row->rail == PAIR_ALL_RAILS ? 0 : row->rail;

    row->ports[0] = is_known ? rail_port(b->wiring, row->from, row->to, rail) : "";
    row->ports[1] = is_known ? rail_port(b->wiring, row->to, row->from, rail) : "";
}

/* Rank 0: keeps what the round's leaders have said. `rows` is the index of the turn's first row, in
 * the order of their leaders. */
static int reports_keep(struct pair_bench *b, int turn, size_t bytes, int round, int rows,
                        struct fault *why)
{
    struct pair_result *r = &b->result;

    for (int from = 0; from < r->end_count; from++) {
        int to = pair_schedule_partner(r->end_count, turn, from);
        const struct round_report *said = &b->reports[r->ends[from].rank];
        struct pair_row *row;

        if (to < from || !pair_has_rail(b, from, to))
            continue;
        row = round ? &r->rows[rows] : pair_result_add(r, from, to, b->rail, bytes);
        rows++;
        if (!row)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        ports_set(b, row);
        memcpy(row->rounds[round], said->medians, sizeof(said->medians));
        memcpy(row->ways, said->all, sizeof(said->all));
        row->errors = (uint64_t)said->errors;
    }
    return 0;
}

/* All rounds of the pairs of one turn, at one size. */
static int turn_run(struct pair_bench *b, int turn, size_t bytes, struct fault *why)
{
    struct pair_result *r = &b->result;
    int rows = r->count, rc = 0;

    memset(b->times, 0, sizeof(*b->times));
    for (int round = 0; round < r->options->rounds && !rc; round++) {
        rc = round_run(b, turn, bytes, why);
        if (!rc && b->reports)
            rc = reports_keep(b, turn, bytes, round, rows, why);
        for (int i = rows; i < r->count && !rc; i++)
            pair_report_round(r, &r->rows[i], round);
    }
    for (int i = rows; i < r->count && !rc; i++) {
        pair_report_add(r, &r->rows[i], !b->has_rows);
        b->has_rows = true;
    }
    return rc;
}

static int turns_run(struct pair_bench *b, struct fault *why)
{
    const struct bench_options *o = b->result.options;
    int rc = 0;

    for (int turn = 0; turn < b->result.turns && !rc; turn++)
        for (int i = 0; i < o->size_count && !rc; i++)
            rc = turn_run(b, turn, (size_t)o->sizes[i], why);
    return rc;
}

/* --- the job ---------------------------------------------------------------------------------- */

static int world_begin(struct pair_bench *b, struct fault *why)
{
    const struct bench_options *o = b->result.options;
    bool prints = ml_rank(b->world) == 0;
    int64_t most = 0;
    int rc = bench_setup_add_hosts(&b->result.setup, b->world, why);

    if (!rc)
        rc = ends_find(b, why);
    if (!rc && b->result.end_count < 2)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "link measures between hosts, or between the ranks of one host: use -H a,b "
                       "or -n 2");
    for (int i = 0; i < o->size_count; i++)
        most = o->sizes[i] > most ? o->sizes[i] : most;
    if (!rc && b->mine >= 0)
        rc = pair_buffers_open(&b->buffers, (size_t)most, o->memory == BENCH_ALLOC, why);
    if (!rc && prints && !b->reports)
        b->reports = calloc((size_t)ml_size(b->world), sizeof(*b->reports));
    if (!rc && prints && !b->reports)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    return rc;
}

static int rails_most(const struct pair_bench *b)
{
    int most = 0;

    for (int i = 0; i < b->result.end_count; i++)
        for (int j = 0; j < i; j++) {
            int count = rails_count(b->wiring, j, i);

            most = count > most ? count : most;
        }
    return most;
}

/* One time through all pairs, in a world of its own. */
static int world_run(struct pair_bench *b, struct fault *why)
{
    int rc = bench_case_call(why, ml_init(&b->world));

    if (rc)
        return rc;
    rc = world_begin(b, why);
    if (!rc && b->reports && b->rail == PAIR_ALL_RAILS) {
        b->result.has_rails = !getenv("MLAUNCH_RAIL") && rails_most(b) > 1;
        pair_report_begin(&b->result);
    }
    if (!rc)
        rc = turns_run(b, why);
    pair_buffers_close(&b->buffers);
    if (!rc) {
        rc = bench_case_call(why, ml_finalize());
        b->world = NULL;
    }
    return rc;
}

/* Where pairs have several rails, each by itself. */
static int rails_run(struct pair_bench *b, struct fault *why)
{
    int most = rails_most(b), rc = 0;

    for (b->rail = 0; most > 1 && b->rail < most && !rc; b->rail++) {
        char number[16];

        snprintf(number, sizeof(number), "%d", b->rail);
        setenv("MLAUNCH_RAIL", number, 1);
        rc = world_run(b, why);
    }
    return rc;
}

/* Sums the errors at rank 0; the others return 0, and rank 0's status is the job's. */
static int result_conclude(const struct pair_bench *b, uint64_t *errors, struct fault *why)
{
    const struct pair_result *r = &b->result;

    for (int i = 0; i < r->count; i++)
        *errors += r->rows[i].errors;
    if (!b->reports)
        return 0;
    pair_report_end(r);
    return r->options->plot ? pair_picture_write(r->options->plot, r, why) : 0;
}

int pair_bench_run(const struct bench_options *o, ml_group **world, uint64_t *errors,
                   struct fault *why)
{
    struct pair_bench b = {.result.options = o, .rail = PAIR_ALL_RAILS, .mine = -1};
    const char *rank = getenv("MLAUNCH_RANK");
    int rc = 0;

    if (o->plot && (!rank || strcmp(rank, "0") == 0))
        rc = result_file_check("--svg", o->plot, why);
    if (!rc)
        rc = bench_setup_open(&b.result.setup, o, why);
    if (rc)
        return rc;
    b.times = calloc(1, sizeof(*b.times));
    if (strcmp(b.result.setup.backend, "rdma") == 0)
        b.wiring = wiring_read();
    rc = b.times ? world_run(&b, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc && !getenv("MLAUNCH_RAIL"))
        rc = rails_run(&b, why);
    if (!rc)
        rc = result_conclude(&b, errors, why);
    *world = b.world;
    pair_result_clear(&b.result);
    json_decref(b.wiring);
    free(b.times);
    free(b.reports);
    return rc;
}
