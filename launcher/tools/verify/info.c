/* SPDX-License-Identifier: MIT */
/* info.c: `mlaunch info` shows what the hosts are, side by side, and where they differ. */
#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/base/text/name_ranges.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_table.h"
#include "launcher/tools/verify/fact_survey.h"
#include "launcher/tools/verify/verify_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000, CELL = 512, HOSTS_IN_A_TABLE = 4 };

static const char addresses[] = "addresses";

static void row_put(json_t *rows, const char *title, const char *value)
{
    if (*value)
        json_object_set_new(rows, title, text_json(value));
}

static void device_rows_put(json_t *rows, const struct host_device *d)
{
    char title[CELL], value[CELL], width[32] = "";

    snprintf(title, sizeof(title), "%s firmware", d->name);
    row_put(rows, title, d->firmware);
    snprintf(title, sizeof(title), "%s PCIe", d->name);
    if (d->width > 0)
        snprintf(width, sizeof(width), " x%d", d->width);
    snprintf(value, sizeof(value), "%s%s", d->speed, width);
    row_put(rows, title, value);
    for (int i = 0; i < d->port_count; i++) {
        const struct host_port *p = &d->ports[i];

        snprintf(title, sizeof(title), "%s port %d", d->name, p->number);
        snprintf(value, sizeof(value), "%s %s%s", p->state, p->rate,
                 p->is_ethernet ? " Ethernet" : "");
        row_put(rows, title, value);
        if (p->mtu > 0) {
            snprintf(title, sizeof(title), "%s port %d MTU", d->name, p->number);
            snprintf(value, sizeof(value), "%d", p->mtu);
            row_put(rows, title, value);
        }
    }
}

/* What is shown of a host: {title: value} in order. */
static json_t *rows_make(const struct host_facts *h)
{
    json_t *rows = json_object();

    for (int i = 0; i < HOST_FACTS; i++)
        row_put(rows, host_fact_titles[i], h->text[i]);
    for (int i = 0; i < h->device_count; i++)
        device_rows_put(rows, &h->devices[i]);
    row_put(rows, addresses, h->addresses);
    return rows;
}

/* All titles of all hosts that have answered. */
static json_t *titles_merge(json_t *const *rows, int count)
{
    json_t *titles = json_object(), *value;
    const char *title;

    for (int i = 0; i < count; i++) {
        json_object_foreach(rows[i], title, value)
        {
            if (!json_object_get(titles, title) && strcmp(title, addresses) != 0)
                json_object_set_new(titles, title, json_true());
        }
    }
    json_object_set_new(titles, addresses, json_false()); /* the last one; never equal */
    return titles;
}

static const char *cell_of(const json_t *rows, const char *title)
{
    const char *value = json_string_value(json_object_get(rows, title));

    return value ? value : "-";
}

static bool row_differs(json_t *const *rows, int count, const char *title)
{
    for (int i = 1; i < count; i++)
        if (strcmp(cell_of(rows[i], title), cell_of(rows[0], title)) != 0)
            return true;
    return false;
}

/* The title with a mark, if the hosts differ where they should be equal. */
static bool title_mark(char out[CELL], json_t *const *rows, int count, const char *title)
{
    bool is_marked = strcmp(title, addresses) != 0 && row_differs(rows, count, title);

    snprintf(out, CELL, "%s %s", is_marked ? "*" : " ", title);
    return is_marked;
}

/* A column for each host. */
static void columns_print(json_t *const *rows, const char *const *names, int count)
{
    static const char sides[] = "lllll";
    const char *cells[HOSTS_IN_A_TABLE + 2] = {"  HOST"};
    json_t *titles = titles_merge(rows, count), *unused;
    struct text_table *t;
    const char *title;
    char marked[CELL];

    for (int i = 0; i < count; i++)
        cells[i + 1] = names[i];
    t = text_table_create(cells, sides + HOSTS_IN_A_TABLE - count);
    json_object_foreach(titles, title, unused)
    {
        bool is_marked = title_mark(marked, rows, count, title);

        cells[0] = marked;
        for (int i = 0; i < count; i++)
            cells[i + 1] = cell_of(rows[i], title);
        if (t)
            text_table_add(t, cells);
        if (t && is_marked)
            text_table_stress(t);
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
    json_decref(titles);
}

/* The hosts from `first` on with the same value: "all 8", or "n[1-3,5]"; to be freed. NULL: out of
 * memory. Marks them as done. */
static char *equal_hosts_name(json_t *const *rows, const char *const *names, int count,
                              const char *title, int first, bool *is_done)
{
    const char **equal = calloc((size_t)count, sizeof(*equal));
    size_t found = 0;
    char *text = NULL;
    struct fault why;

    for (int i = first; i < count && equal; i++) {
        if (is_done[i] || strcmp(cell_of(rows[i], title), cell_of(rows[first], title)) != 0)
            continue;
        is_done[i] = true;
        equal[found++] = names[i];
    }
    if (found == (size_t)count)
        string_format(&text, &why, "all %d", count);
    else if (equal)
        name_ranges_format(&text, equal, found, &why);
    free(equal);
    return text;
}

/* A line for each group of hosts with an equal value. */
static void title_add(struct text_table *t, json_t *const *rows, const char *const *names,
                      int count, const char *title, bool *is_done)
{
    char marked[CELL], *hosts;
    bool is_marked = title_mark(marked, rows, count, title), is_first = true;

    memset(is_done, 0, (size_t)count * sizeof(*is_done));
    for (int i = 0; i < count; i++) {
        if (is_done[i])
            continue;
        hosts = equal_hosts_name(rows, names, count, title, i, is_done);
        text_table_add(t, (const char *const[]){is_first ? marked : "", cell_of(rows[i], title),
                                                hosts ? hosts : names[i], NULL});
        free(hosts);
        if (is_marked)
            text_table_stress(t);
        is_first = false;
    }
}

static void lines_print(json_t *const *rows, const char *const *names, int count)
{
    static const char *const head[] = {"  FACT", "VALUE", "HOSTS", NULL};
    struct text_table *t = text_table_create(head, "lll");
    json_t *titles = titles_merge(rows, count), *unused;
    bool *is_done = calloc((size_t)count, sizeof(*is_done));
    const char *title;

    json_object_foreach(titles, title, unused)
    {
        if (t && is_done)
            title_add(t, rows, names, count, title, is_done);
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
    json_decref(titles);
    free(is_done);
}

static void rows_print(const struct fact_survey *s, json_t **rows, const char **names)
{
    int count = 0;

    for (int i = 0; i < s->c->hosts->count; i++) {
        if (!s->hosts[i].is_known)
            continue;
        names[count] = s->c->hosts->hosts[i].name;
        rows[count++] = rows_make(&s->hosts[i]);
    }
    if (count > HOSTS_IN_A_TABLE)
        lines_print(rows, names, count);
    else if (count > 0)
        columns_print(rows, names, count);
    for (int i = 0; i < count; i++)
        json_decref(rows[i]);
}

static int info_print(const struct fact_survey *s, struct fault *why)
{
    size_t count = (size_t)s->c->hosts->count;
    json_t **rows = calloc(count, sizeof(json_t *));
    const char **names = calloc(count, sizeof(*names));
    bool is_short = !rows || !names;

    if (!is_short)
        rows_print(s, rows, names);
    free(rows);
    free(names);
    return is_short ? fault_set(why, ML_ERR_MEMORY, "out of memory") : 0;
}

static int info_look(void *arg, int *status, struct fault *why)
{
    struct query_command *c = arg;
    struct fact_survey s = {.c = c, .sysfs = query_command_flag(c, "sysfs")};
    int rc = fact_survey_open(&s, why);

    if (!rc)
        rc = fact_survey_ask(&s, why);
    if (!rc)
        *status = query_command_report_failed(c) ? STATUS_OURS : 0;
    if (!rc && c->json)
        query_command_print_json(c);
    else if (!rc)
        rc = info_print(&s, why);
    fact_survey_close(&s);
    return rc;
}

int info_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "sysfs",
         .argument = "DIR",
         .help = "show recorded machines: DIR/HOST/sys and DIR/HOST/proc on each host"},
        {.name = "json", .help = "the answers as JSON"},
        {0}};
    struct query_command c = {
        .syntax =
            {.name = "info",
             .usage =
                 "usage: mlaunch info [OPTIONS]\n\n"
                 "Shows what the given hosts are, side by side: system, processors, memory,\n"
                 "GPUs, RDMA devices with their ports, and versions. A line that begins with *\n"
                 "differs from host to host.",
             .own = flags},
        .timeout_ms = TIMEOUT_MS};

    return query_command_run(&c, argc, argv, info_look, &c);
}
