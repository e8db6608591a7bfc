/* SPDX-License-Identifier: MIT */
/* hosts.c: `mlaunch hosts`: who they are; with --probe, which RDMA devices lead from one to the
 * other; as a hostfile with -o. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/hosts/hostfile_write.h"
#include "launcher/options/options.h"
#include "launcher/query/query_command.h"
#include "launcher/text/text_table.h"
#include "launcher/wiring/wiring_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, CELL = 256, HOSTS_IN_A_TABLE = 12 };

struct hosts {
    struct query_command c;
    bool probe;
    const char *file; /* -o, or NULL */
    const char **names, **addresses;
    struct wiring_survey *survey; /* or NULL: without --probe */
};

static const char *list_cell(char text[CELL], char *const *list)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; list && list[i] && used < CELL; i++)
        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "", list[i]);
    return text[0] ? text : "-";
}

/* Without --probe nobody is asked. */
static void print_hosts(const struct hosts *h)
{
    static const char *const head[] = {"HOST", "SLOTS", "ADDRESSES", NULL};
    static const char *const ways[] = {[HOST_BY_SSH] = "SSH",
                                       [HOST_IS_HERE] = "this machine",
                                       [HOST_BY_SRUN] = "srun",
                                       [HOST_BY_COMMAND] = "--agent-command"};
    struct text_table *t = text_table_create(head, "lrl");

    for (int i = 0; i < h->c.hosts->count && t; i++) {
        const struct host *host = &h->c.hosts->hosts[i];
        char slots[CELL], addresses[CELL];

        snprintf(slots, sizeof(slots), "%d", host->slots);
        text_table_add(t, (const char *const[]){host->name, host->slots ? slots : "-",
                                                list_cell(addresses, host->ips), NULL});
    }
    if (t)
        text_table_print(t);
    for (int i = 0; i < h->c.hosts->count; i++)
        log_info("host %s: by %s", h->c.hosts->hosts[i].name, ways[h->c.hosts->hosts[i].way]);
    text_table_destroy(t);
}

/* "10.0.0.1/24 fe80::1" */
static const char *gids_cell(char text[CELL], const struct wiring_port *p)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < p->gid_count && used < CELL; i++) {
        const struct wiring_gid *g = &p->gids[i];

        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "",
                                 g->ipv4[0] ? g->ipv4 : g->text);
        if (g->ipv4[0] && g->prefix && used < CELL)
            used += (size_t)snprintf(text + used, CELL - used, "/%d", g->prefix);
    }
    return text;
}

static void add_device(struct text_table *t, const char *host, const struct wiring_device *d)
{
    if (d->error)
        text_table_add(
            t, (const char *const[]){host, d->name, "-", "fails", "-", "-", d->error, NULL});
    for (int i = 0; i < d->port_count; i++) {
        const struct wiring_port *p = &d->ports[i];
        char number[CELL], mtu[CELL], gids[CELL];

        snprintf(number, sizeof(number), "%d", p->number);
        snprintf(mtu, sizeof(mtu), "%d", p->active_mtu);
        text_table_add(t, (const char *const[]){host, d->name, number, p->state, p->link_layer, mtu,
                                                gids_cell(gids, p), NULL});
    }
}

static void print_devices(const struct hosts *h)
{
    static const char *const head[] = {"HOST", "DEVICE", "PORT",      "STATE",
                                       "LINK", "MTU",    "ADDRESSES", NULL};
    struct text_table *t = text_table_create(head, "llrllrl");

    for (int i = 0; i < h->c.hosts->count && t; i++) {
        const struct wiring_host *host = wiring_survey_host(h->survey, i);

        for (int k = 0; k < host->device_count; k++)
            add_device(t, h->names[i], &host->devices[k]);
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
}

static const char *entry_cell(char text[CELL], const json_t *entry)
{
    json_t *device;
    size_t used = 0, i;

    text[0] = '\0';
    json_array_foreach(entry, i, device)
    {
        if (used < CELL)
            used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? "," : "",
                                     json_string_value(device));
    }
    return text[0] ? text : "-";
}

static const json_t *entry(const struct hosts *h, int from, int to)
{
    return json_array_get(json_array_get(wiring_survey_wiring(h->survey), (size_t)from),
                          (size_t)to);
}

static void print_matrix(const struct hosts *h)
{
    static const char sides[HOSTS_IN_A_TABLE + 2] = "lllllllllllll";
    int count = h->c.hosts->count;
    const char *cells[HOSTS_IN_A_TABLE + 2] = {"FROM/TO"};
    char text[HOSTS_IN_A_TABLE][CELL];
    struct text_table *t;

    for (int i = 0; i < count; i++)
        cells[i + 1] = h->names[i];
    t = text_table_create(cells, sides + HOSTS_IN_A_TABLE - count);
    for (int i = 0; i < count && t; i++) {
        cells[0] = h->names[i];
        for (int j = 0; j < count; j++)
            cells[j + 1] = entry_cell(text[j], entry(h, i, j));
        text_table_add(t, cells);
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
}

/* As a matrix while it fits, else a line for each pair. */
static void print_wiring(const struct hosts *h)
{
    int count = h->c.hosts->count;
    char there[CELL], back[CELL];

    putchar('\n');
    if (count <= HOSTS_IN_A_TABLE) {
        print_matrix(h);
        return;
    }
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            printf("%s %s - %s %s\n", h->names[i], entry_cell(there, entry(h, i, j)), h->names[j],
                   entry_cell(back, entry(h, j, i)));
}

static json_t *question(void *arg, int host, int round)
{
    const struct hosts *h = arg;

    return wiring_survey_question(h->survey, host, (enum wiring_round)round);
}

static int take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    const struct hosts *h = arg;

    return wiring_survey_answer(h->survey, host, (enum wiring_round)round, said, why);
}

static int survey_open(struct hosts *h, struct fault *why)
{
    const struct wiring_config config = {.names = h->names,
                                         .count = h->c.hosts->count,
                                         .source = h->c.hosts->source,
                                         .rdma = h->c.options->rdma};

    return wiring_survey_create(&h->survey, &config, why);
}

/* What the hostfile says of the wiring is not looked at: this finds what is. */
static int probe(struct hosts *h, struct fault *why)
{
    const struct query_rounds rounds = {WIRING_ROUNDS, question, take, h};
    int rc = survey_open(h, why), culprit = 0;

    if (!rc)
        rc = query_command_ask_rounds(&h->c, &rounds, why);
    if (rc)
        return rc;
    if (!h->c.json)
        print_devices(h);
    if (query_command_report_failed(&h->c))
        return fault_set(why, ML_ERR_LINK, "without all hosts the wiring can't be found");
    for (int i = 0; i < h->c.hosts->count; i++)
        h->addresses[i] = h->c.answers[i].address;
    rc = wiring_survey_conclude(h->survey, &culprit, why);
    return rc ? fault_wrap(why, "host %s", h->names[culprit]) : 0;
}

static int names_take(struct hosts *h, struct fault *why)
{
    size_t count = (size_t)h->c.hosts->count;

    h->names = calloc(count, sizeof(*h->names));
    h->addresses = calloc(count, sizeof(*h->addresses));
    if (!h->names || !h->addresses)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        h->names[i] = h->c.hosts->hosts[i].name;
        h->addresses[i] = "";
    }
    return 0;
}

static int conclude(struct hosts *h, struct fault *why)
{
    json_t *file = hostfile_to_json(h->c.hosts, h->survey ? wiring_survey_wiring(h->survey) : NULL,
                                    h->addresses);
    int rc = 0;

    if (h->c.json)
        hostfile_print(stdout, file);
    else if (h->survey)
        print_wiring(h);
    else
        print_hosts(h);
    if (h->file)
        rc = hostfile_write(h->file, file, why);
    json_decref(file);
    return rc;
}

int hosts_run(int argc, char **argv)
{
    struct query_flag flags[4] = {{.name = NULL}};
    struct hosts h = {.c = {.name = "hosts",
                            .usage =
                                "usage: mlaunch hosts [OPTIONS]\n\nShows the hosts that a job with "
                                "these options would use. With --probe finds how their RDMA\n"
                                "devices are wired, by traffic, and shows it.",
                            .job_word = JOB_WORD_NONE,
                            .flags = flags,
                            .timeout_ms = TIMEOUT_MS}};
    struct fault why;
    int rc;

    flags[0] = (struct query_flag){.name = "probe",
                                   .help = "find the RDMA wiring: ask all hosts, try all wires",
                                   .value = &h.probe};
    flags[1] = (struct query_flag){.name = "output",
                                   .letter = 'o',
                                   .argument = "FILE",
                                   .help = "write them as a hostfile, with the wiring found",
                                   .text = &h.file};
    flags[2] = (struct query_flag){
        .name = "json", .help = "print the hostfile, nothing else", .value = &h.c.json};
    rc = query_command_open(&h.c, argc, argv, &why);
    if (!rc && !h.c.is_done) {
        rc = names_take(&h, &why);
        if (!rc && h.probe)
            rc = probe(&h, &why);
        if (!rc)
            rc = conclude(&h, &why);
    }
    if (rc)
        log_error("%s", why.text);
    wiring_survey_destroy(h.survey);
    free(h.names);
    free(h.addresses);
    query_command_close(&h.c);
    return rc ? STATUS_OURS : 0;
}
