/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/saved_results.h"

#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1 << 20 };

static int malformed(const char *name, const char *what, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%.200s: %s; a file of results is what mlaunch bench --json prints", name,
                     what);
}

/* "2 ranks, a:1 b:1, tcp, memory plain, algorithm auto, 0.1.0, 2026-11-22T12:53:36Z" */
static int setup_describe(struct saved_results *r, const json_t *root, struct fault *why)
{
    const json_t *hosts = json_object_get(root, "hosts"), *host;
    size_t size = 0, i;
    FILE *to = open_memstream(&r->setup, &size);

    if (!to)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    fprintf(to, "%s, %d ranks,", object_field_text(root, "op"),
            (int)object_field_whole(root, "ranks"));
    json_array_foreach(hosts, i, host)
    {
        fprintf(to, " %s:%d", object_field_text(host, "host"),
                (int)object_field_whole(host, "ranks"));
    }
    fprintf(to, ", %s%s%s", object_field_text(root, "backend"),
            strcmp(object_field_text(root, "local"), "net") == 0 ? ", local net" : "",
            json_is_true(json_object_get(root, "secure")) ? ", secure" : "");
    fprintf(to, ", memory %s, algorithm %s, mlaunch %s, %s", object_field_text(root, "memory"),
            object_field_text(root, "algorithm"), object_field_text(root, "version"),
            object_field_text(root, "date"));
    return fclose(to) ? fault_set(why, ML_ERR_MEMORY, "out of memory") : 0;
}

/* Files of an older build have no quartiles: then the least and the 99th percentile stand for them,
 * which only makes noise wider. */
static bool time_read(struct saved_row *row, const json_t *from)
{
    const json_t *low = json_object_get(from, "time_us_p25");
    const json_t *high = json_object_get(from, "time_us_p75");
    const json_t *middle = json_object_get(from, "time_us_med");

    if (!low || !high) {
        low = json_object_get(from, "time_us_min");
        high = json_object_get(from, "time_us_p99");
    }
    row->is_time = true;
    row->middle = json_number_value(middle);
    row->low = json_number_value(low);
    row->high = json_number_value(high);
    return json_is_number(middle) && json_is_number(low) && json_is_number(high);
}

static int row_add(struct saved_results *r, const struct saved_row *row, const char *what,
                   struct fault *why)
{
    r->rows[r->count] = *row;
    if (string_copy(&r->rows[r->count].what, what, why))
        return ML_ERR_MEMORY;
    r->count++;
    return 0;
}

/* The four values of a pair at one size. */
static const struct link_value {
    const char *member, *word;
    bool is_time;
} link_values[] = {
    {"latency_us", "latency", true},
    {"there_GBps", "there", false},
    {"back_GBps", "back", false},
    {"both_GBps", "both", false},
};
enum { LINK_VALUES = sizeof(link_values) / sizeof(*link_values) };

/* "a > b, 8 bytes, latency", with "rail 1" if it is of one only. */
static int link_name(char **out, const json_t *from, const char *word, struct fault *why)
{
    const json_t *rail = json_object_get(from, "rail");
    char number[32] = "";

    if (json_is_integer(rail))
        snprintf(number, sizeof(number), " rail %lld,", (long long)json_integer_value(rail));
    return string_format(out, why, "%s > %s,%s %lld bytes, %s", object_field_text(from, "from"),
                         object_field_text(from, "to"), number, object_field_whole(from, "bytes"),
                         word);
}

static int link_read(struct saved_results *r, const json_t *from, const char *name,
                     struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < LINK_VALUES && !rc; i++) {
        const struct link_value *v = &link_values[i];
        const json_t *value = json_object_get(from, v->member);
        struct saved_row row = {.is_time = v->is_time};
        char *what = NULL;

        if (!json_is_number(json_object_get(value, "typical")))
            return malformed(name, "a link lacks a value", why);
        row.middle = json_number_value(json_object_get(value, "typical"));
        row.low = json_number_value(json_object_get(value, "p25"));
        row.high = json_number_value(json_object_get(value, "p75"));
        rc = link_name(&what, from, v->word, why);
        if (!rc)
            rc = row_add(r, &row, what, why);
        free(what);
    }
    return rc;
}

static int rows_read(struct saved_results *r, const json_t *list, const char *name,
                     struct fault *why)
{
    size_t i;
    json_t *from;
    int rc = 0;

    r->rows = calloc(json_array_size(list) * LINK_VALUES + 1, sizeof(*r->rows));
    if (!r->rows)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    json_array_foreach(list, i, from)
    {
        const json_t *bytes = json_object_get(from, "bytes");
        struct saved_row row = {0};
        char what[32];

        if (strcmp(r->operation, "link") == 0) {
            rc = link_read(r, from, name, why);
            if (rc)
                break;
            continue;
        }
        if (!json_is_integer(bytes) || !time_read(&row, from))
            return malformed(name, "a result lacks its size or its times", why);
        snprintf(what, sizeof(what), "%lld", (long long)json_integer_value(bytes));
        rc = row_add(r, &row, what, why);
        if (rc)
            break;
    }
    return rc;
}

int saved_results_parse(struct saved_results *out, const char *text, size_t size, const char *name,
                        struct fault *why)
{
    json_error_t error;
    json_t *root = parsed_json(text, size, 0, &error);
    const json_t *list = json_object_get(root, "results");
    struct saved_results r = {0};
    int rc;

    if (!root)
        return fault_set(why, ML_ERR_ARGUMENT, "%.200s: line %d: %.100s", name, error.line,
                         error.text);
    if (!json_is_string(json_object_get(root, "op")) || !json_is_array(list))
        rc = malformed(name, "it has no results", why);
    else if (json_array_size(list) > ROWS_MOST)
        rc = malformed(name, "it has too many results", why);
    else
        rc = string_copy(&r.operation, object_field_text(root, "op"), why);
    if (!rc)
        rc = setup_describe(&r, root, why);
    if (!rc)
        rc = rows_read(&r, list, name, why);
    json_decref(root);
    if (rc)
        saved_results_clear(&r);
    else
        *out = r;
    return rc;
}

int saved_results_read(struct saved_results *out, const char *path, struct fault *why)
{
    char *text = NULL;
    size_t size = 0;
    int rc = text_file_read(path, &text, &size, why);

    if (!rc)
        rc = saved_results_parse(out, text, size, path, why);
    free(text);
    return rc;
}

const struct saved_row *saved_results_find(const struct saved_results *r, const char *what, int at)
{
    if (at < r->count && strcmp(r->rows[at].what, what) == 0)
        return &r->rows[at];
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->rows[i].what, what) == 0)
            return &r->rows[i];
    return NULL;
}

void saved_results_clear(struct saved_results *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->rows[i].what);
    free(r->rows);
    free(r->operation);
    free(r->setup);
    *r = (struct saved_results){0};
}
