/* SPDX-License-Identifier: MIT */
#include "launcher/run/stacks/foreign_report.h"

#include "common/text/object_field.h"
#include "common/text/text_json.h"
#include "common/text/text_stream.h"
#include "launcher/run/stacks/report_line.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY = 600,
    GROUPS_MOST = 1024, /* process groups that are kept, of all ranks */
    GROUPS_SHOWN = 16,  /* in the text */
    STATES_SHOWN = 8,   /* for each */
    MEMBERS_MOST = 1024,
    LINES_SHOWN = 40, /* from NCCL */
};

/* --- made ------------------------------------------------------------------------------------- */

/* The member `key` of the object, an array, which is made if there is none. */
static json_t *array_of(json_t *object, const char *key)
{
    json_t *array = json_object_get(object, key);

    if (!array) {
        array = json_array();
        json_object_set_new(object, key, array);
    }
    return array;
}

/* Each rank once; they come in order. */
static void rank_add(json_t *list, long long rank)
{
    const json_t *last = json_array_get(list, json_array_size(list) - 1);

    if (!last || json_integer_value(last) != rank)
        json_array_append_new(list, json_integer(rank));
}

/* Whoever has a higher number is ahead, and who has ended a call is ahead of who waits in it. */
static bool is_ahead(const json_t *a, const json_t *b)
{
    long long x = object_field_whole(a, "number"), y = object_field_whole(b, "number");

    return x != y ? x > y
                  : json_is_false(json_object_get(a, "waits")) &&
                        json_is_true(json_object_get(b, "waits"));
}

/* Those who are furthest come first. */
static json_t *state_make(json_t *states, const json_t *call)
{
    static const char *const copied[] = {"call", "number", "at"};
    json_t *state = json_pack("{s:[], s:b}", "ranks", "waits",
                              (int)json_is_true(json_object_get(call, "waits")));
    size_t at = 0;

    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
        json_object_set(state, copied[i], json_object_get(call, copied[i]));
    while (at < json_array_size(states) && !is_ahead(state, json_array_get(states, at)))
        at++;
    json_array_insert_new(states, at, state);
    return state;
}

static bool is_alike(const json_t *state, const json_t *call)
{
    static const char *const same[] = {"call", "number", "at", "waits"};

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        json_t *a = json_object_get(state, same[i]), *b = json_object_get(call, same[i]);

        if (a != b && !json_equal(a, b))
            return false;
    }
    return true;
}

/* The group of that call, by name and members: sub-groups of several ranks may have one name. NULL:
 * there are too many. */
static json_t *group_find(json_t *by_key, json_t *groups, const json_t *call)
{
    json_t *members = json_object_get(call, "members"), *group;
    char key[KEY];

    snprintf(key, sizeof(key), "%.200s %.200s %lld", object_field_text(call, "name"),
             object_field_text(call, "group"),
             (long long)json_integer_value(json_array_get(members, 0)));
    group = json_object_get(by_key, key);
    if (group || json_array_size(groups) >= GROUPS_MOST)
        return group;
    group = json_pack("{s:[]}", "states");
    json_object_set_new(group, "group", text_json(object_field_text(call, "group")));
    json_object_set(group, "members", members);
    json_object_set(by_key, key, group);
    json_array_append_new(groups, group);
    return group;
}

static void call_add(json_t *by_key, json_t *groups, const json_t *call, long long rank)
{
    json_t *group = json_is_object(call) ? group_find(by_key, groups, call) : NULL;
    json_t *states = json_object_get(group, "states"), *state, *found = NULL;
    size_t i;

    if (!group)
        return;
    json_array_foreach(states, i, state)
    {
        if (!found && is_alike(state, call))
            found = state;
    }
    if (!found)
        found = state_make(states, call);
    rank_add(json_object_get(found, "ranks"), rank);
}

/* "unknown": the members of whom nothing was said. */
static void group_settle(json_t *group)
{
    json_t *members = json_object_get(group, "members"), *states = json_object_get(group, "states");
    bool *is_known = calloc(MEMBERS_MOST, sizeof(*is_known));
    json_t *unknown = json_array(), *state, *one;
    size_t i, k;

    json_array_foreach(states, i, state)
    {
        json_array_foreach(json_object_get(state, "ranks"), k, one)
        {
            json_int_t rank = json_integer_value(one);

            if (is_known && rank >= 0 && rank < MEMBERS_MOST)
                is_known[rank] = true;
        }
    }
    json_array_foreach(members, i, one)
    {
        json_int_t rank = json_integer_value(one);

        if (is_known && rank >= 0 && rank < MEMBERS_MOST && !is_known[rank])
            json_array_append_new(unknown, json_integer(rank));
    }
    json_object_set_new(group, "unknown", unknown);
    json_object_del(group, "members");
    free(is_known);
}

/* The first answer that names something, or else the first: each is about the whole job. */
static void nccl_add(json_t *report, const struct hang_rank *r, json_t *lines)
{
    const json_t *known = json_object_get(report, "nccl");
    size_t count = json_array_size(json_object_get(known, "lines"));

    if (known && (count > 0 || json_array_size(lines) == 0))
        return;
    json_object_set_new(report, "nccl",
                        json_pack("{s:I, s:o, s:O}", "rank", (json_int_t)r->rank, "host",
                                  text_json(r->host), "lines", lines));
}

void foreign_report_add(json_t *report, const struct hang_rank *ranks, size_t count)
{
    json_t *groups = json_array(), *by_key = json_object(), *silent = json_object();
    json_t *quote, *call, *group;
    size_t k, n;

    for (size_t i = 0; i < count; i++) {
        json_array_foreach(json_object_get(ranks[i].said, "evidence"), k, quote)
        {
            bool is_nccl = strcmp(object_field_text(quote, "from"), "nccl") == 0;
            json_t *lines = json_object_get(quote, "lines");

            if (json_is_true(json_object_get(quote, "silent")))
                rank_add(array_of(silent, is_nccl ? "nccl" : "torch"), ranks[i].rank);
            else if (is_nccl && json_is_array(lines))
                nccl_add(report, &ranks[i], lines);
            json_array_foreach(json_object_get(quote, "calls"), n, call)
            {
                call_add(by_key, groups, call, ranks[i].rank);
            }
        }
    }
    json_array_foreach(groups, k, group)
    {
        group_settle(group);
    }
    if (json_array_size(groups) > 0)
        json_object_set(report, "torch", groups);
    if (json_object_size(silent) > 0)
        json_object_set(report, "silent", silent);
    json_decref(groups);
    json_decref(by_key);
    json_decref(silent);
}

/* --- in words --------------------------------------------------------------------------------- */

static bool is_waited_in(const json_t *group)
{
    json_t *state;
    size_t i;

    json_array_foreach(json_object_get(group, "states"), i, state)
    {
        if (json_is_true(json_object_get(state, "waits")))
            return true;
    }
    return false;
}

/* "0-2 wait in all_reduce #41 of torch's group default_pg at train.py:17 step", "3 has ended
 * all_reduce #40": the group with the first one. */
static void state_write(FILE *to, const json_t *state, const char *group)
{
    const json_t *list = json_object_get(state, "ranks");
    const char *at = object_field_text(state, "at"), *call = object_field_text(state, "call");
    bool is_one = json_array_size(list) == 1, waits = json_is_true(json_object_get(state, "waits"));
    const char *verb = is_one ? "has ended" : "have ended";
    char ranks[RANK_LIST_TEXT];

    if (waits)
        verb = is_one ? "waits in" : "wait in";
    report_line_ranks(ranks, list);
    fprintf(to, "%s %s %.60s #%lld", ranks, verb, *call ? call : "call",
            object_field_whole(state, "number"));
    if (group)
        fprintf(to, " of torch's group %.60s", group);
    if (waits && *at)
        fprintf(to, " at %.120s", at);
}

static void group_write(const struct report_writer *w, const json_t *group)
{
    json_t *states = json_object_get(group, "states"), *state;
    const json_t *unknown = json_object_get(group, "unknown");
    struct text_stream stream;
    FILE *to = text_stream_open(&stream);
    char ranks[RANK_LIST_TEXT], *text;
    size_t i;

    if (!to)
        return;
    json_array_foreach(states, i, state)
    {
        if (i >= STATES_SHOWN)
            continue;
        fputs(i > 0 ? ", " : "", to);
        state_write(to, state, i == 0 ? object_field_text(group, "group") : NULL);
    }
    if (i > STATES_SHOWN)
        fprintf(to, ", … (%zu more)", i - STATES_SHOWN);
    report_line_ranks(ranks, unknown);
    if (*ranks)
        fprintf(to, "; nothing is known of %s", ranks);
    text = text_stream_close(to, &stream);
    if (text)
        report_line_write(w, "%s", text);
    free(text);
}

static void torch_write(const struct report_writer *w, json_t *groups)
{
    size_t i, waiting = 0, shown = 0, count;
    json_t *group;

    json_array_foreach(groups, i, group)
    {
        waiting += is_waited_in(group);
    }
    count = waiting ? waiting : json_array_size(groups);
    json_array_foreach(groups, i, group)
    {
        if ((is_waited_in(group) || !waiting) && shown++ < GROUPS_SHOWN)
            group_write(w, group);
    }
    if (count > GROUPS_SHOWN)
        report_line_write(w, "… (%zu more of torch's groups)", count - GROUPS_SHOWN);
}

static void nccl_write(const struct report_writer *w, const json_t *nccl)
{
    json_t *lines = json_object_get(nccl, "lines"), *line;
    size_t count = json_array_size(lines), i;

    if (!nccl)
        return;
    report_line_write(w, "NCCL's RAS, asked at rank %lld on host %s, %s",
                      object_field_whole(nccl, "rank"), object_field_text(nccl, "host"),
                      count > 0 ? "says:" : "reports no error");
    json_array_foreach(lines, i, line)
    {
        if (i < LINES_SHOWN && json_is_string(line))
            report_line_write(w, "    %s", json_string_value(line));
    }
}

void foreign_report_write(const struct report_writer *w, const json_t *report)
{
    const json_t *silent = json_object_get(report, "silent");
    char ranks[RANK_LIST_TEXT];

    torch_write(w, json_object_get(report, "torch"));
    nccl_write(w, json_object_get(report, "nccl"));
    report_line_ranks(ranks, json_object_get(silent, "torch"));
    if (*ranks)
        report_line_write(w, "torch's flight recorder of %s does not answer", ranks);
    report_line_ranks(ranks, json_object_get(silent, "nccl"));
    if (*ranks)
        report_line_write(w, "NCCL's RAS of %s does not answer", ranks);
}
