/* SPDX-License-Identifier: MIT */
/* hosts.c: `mlaunch hosts`: shows the hosts of a job; with --probe also which RDMA devices lead
 * from one to the other; with -o writes them as a hostfile, with --draw draws their wiring. */
#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/text/text_table.h"
#include "launcher/commands/draw/topology_drawing.h"
#include "launcher/commands/draw/topology_words.h"
#include "launcher/input/hosts/hostfile_write.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/topology_stated.h"
#include "launcher/run/rdma_topology/topology_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, CELL = 256, HOSTS_IN_A_TABLE = 12 };

struct hosts {
    struct query_command c;
    const char **names, **addresses;
    struct topology_survey *survey; /* or NULL: without --probe */
};

static const char *addresses_cell(char text[CELL], char *const *list)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; list && list[i] && used < CELL; i++)
        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "", list[i]);
    return text[0] ? text : "-";
}

/* Without --probe no host is asked. With it, where there are no RDMA devices, the address is the
 * one where SSH reached the host. */
static void hosts_print(const struct hosts *h)
{
    static const char *const head[] = {"HOST", "SLOTS", "ADDRESSES", NULL};
    struct text_table *t = text_table_create(head, "lrl");

    for (int i = 0; i < h->c.hosts->count && t; i++) {
        const struct host *host = &h->c.hosts->hosts[i];
        char slots[CELL], addresses[CELL];

        snprintf(slots, sizeof(slots), "%d", host->slots);
        text_table_add(t, (const char *const[]){host->name, host->slots ? slots : "-",
                                                *h->addresses[i] && !host->ips
                                                    ? h->addresses[i]
                                                    : addresses_cell(addresses, host->ips),
                                                NULL});
    }
    if (t)
        text_table_print(t);
    for (int i = 0; i < h->c.hosts->count; i++)
        log_info("host %s: by %s", h->c.hosts->hosts[i].name,
                 host_list_launch_method(h->c.hosts->hosts[i].launch_method));
    text_table_destroy(t);
}

/* "10.0.0.1/24 fe80::1" */
static const char *gids_cell(char text[CELL], const struct topology_port *p)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < p->gid_count && used < CELL; i++) {
        const struct topology_gid *g = &p->gids[i];

        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "",
                                 g->ipv4[0] ? g->ipv4 : g->text);
        if (g->ipv4[0] && g->prefix && used < CELL)
            used += (size_t)snprintf(text + used, CELL - used, "/%d", g->prefix);
    }
    return text;
}

static void device_add(struct text_table *t, const char *host, const struct topology_device *d)
{
    if (d->error)
        text_table_add(
            t, (const char *const[]){host, d->name, "-", "fails", "-", "-", d->error, NULL});
    for (int i = 0; i < d->port_count; i++) {
        const struct topology_port *p = &d->ports[i];
        char number[CELL], mtu[CELL], gids[CELL];

        snprintf(number, sizeof(number), "%d", p->number);
        snprintf(mtu, sizeof(mtu), "%d", p->active_mtu);
        text_table_add(t, (const char *const[]){host, d->name, number, p->state, p->link_layer, mtu,
                                                gids_cell(gids, p), NULL});
    }
}

static void devices_print(const struct hosts *h)
{
    static const char *const head[] = {"HOST", "DEVICE", "PORT",      "STATE",
                                       "LINK", "MTU",    "ADDRESSES", NULL};
    struct text_table *t = text_table_create(head, "llrllrl");

    for (int i = 0; i < h->c.hosts->count && t; i++) {
        const struct topology_host *host = topology_survey_host(h->survey, i);

        for (int k = 0; k < host->device_count; k++)
            device_add(t, h->names[i], &host->devices[k]);
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

static const json_t *topology_entry(const struct hosts *h, int from, int to)
{
    return json_array_get(json_array_get(topology_survey_wiring(h->survey), (size_t)from),
                          (size_t)to);
}

static void matrix_print(const struct hosts *h)
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
            cells[j + 1] = entry_cell(text[j], topology_entry(h, i, j));
        text_table_add(t, cells);
    }
    if (t)
        text_table_print(t);
    text_table_destroy(t);
}

/* A matrix if it fits, else one line for each pair. */
static void topology_print(const struct hosts *h)
{
    int count = h->c.hosts->count;
    char there[CELL], back[CELL];

    putchar('\n');
    if (count <= HOSTS_IN_A_TABLE) {
        matrix_print(h);
        return;
    }
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            printable_print("%s %s - %s %s\n", h->names[i],
                            entry_cell(there, topology_entry(h, i, j)), h->names[j],
                            entry_cell(back, topology_entry(h, j, i)));
}

static int hosts_survey_open(struct hosts *h, struct fault *why)
{
    const struct topology_config config = {.names = h->names,
                                           .count = h->c.hosts->count,
                                           .source = h->c.hosts->source,
                                           .rdma = h->c.options->job.rdma};

    return topology_survey_create(&h->survey, &config, why);
}

/* --- picture ---------------------------------------------------------------------------------- */

/* The wiring that was found, or that the hostfile states. */
static int picture_make(const struct hosts *h, struct topology_picture *out, struct fault *why)
{
    json_t *stated;
    int rc;

    if (h->survey) {
        *out = (struct topology_picture){.names = h->names, .count = h->c.hosts->count};
        return topology_cables_find(topology_survey_facts(h->survey), &out->cables,
                                    &out->cable_count, why);
    }
    stated = topology_stated(h->c.plan);
    if (!stated)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--draw: the hosts' wiring is not stated, as a hostfile does; --probe "
                         "finds it");
    rc = topology_picture_state(out, stated, h->names, h->c.hosts->count, why);
    json_decref(stated);
    return rc;
}

/* Draws, and says the same in words. */
static int hosts_draw(const struct hosts *h, struct fault *why)
{
    const char *path = query_command_flag(&h->c, "draw");
    struct topology_picture p = {0};
    int rc = path ? picture_make(h, &p, why) : 0;

    if (path && !rc)
        rc = topology_drawing_write(&p, path, why);
    if (path && !rc && !h->c.json) {
        putchar('\n');
        topology_words_print(&p);
    }
    topology_picture_clear(&p);
    return rc;
}

static bool has_devices(const struct hosts *h)
{
    for (int i = 0; i < h->c.hosts->count; i++)
        if (topology_survey_host(h->survey, i)->device_count)
            return true;
    return false;
}

/* Hosts that have no device form jobs over TCP: no failure, unless a picture was asked for. */
static int bare_conclude(struct hosts *h, struct fault *why)
{
    topology_survey_destroy(h->survey);
    h->survey = NULL;
    if (query_command_flag(&h->c, "draw"))
        return fault_set(why, ML_ERR_DEVICE,
                         "--draw: no host has an RDMA device, so there is no cable to draw");
    log_warn("no host has an RDMA device, so jobs use TCP (are drivers loaded, and is "
             "/dev/infiniband in the container?); mlaunch verify --quick tells who reaches whom");
    return 0;
}

/* Finds the wiring that there is; a wiring that the hostfile states is ignored. */
static int hosts_probe(struct hosts *h, struct fault *why)
{
    int rc = hosts_survey_open(h, why), culprit = 0;
    const struct query_rounds rounds = {.count = TOPOLOGY_ROUNDS,
                                        .question = topology_survey_question,
                                        .take = topology_survey_answer,
                                        .arg = h->survey};

    if (!rc)
        rc = query_command_ask_rounds(&h->c, &rounds, why);
    if (rc)
        return rc;
    for (int i = 0; i < h->c.hosts->count; i++)
        h->addresses[i] = h->c.answers[i].address;
    if (!h->c.json && has_devices(h))
        devices_print(h);
    if (query_command_report_failed(&h->c))
        return fault_set(why, ML_ERR_LINK, "without all hosts the wiring can't be found");
    if (!has_devices(h))
        return bare_conclude(h, why);
    rc = hosts_draw(h, why); /* also where a cable is missing, which is an error below */
    if (rc)
        return rc;
    rc = topology_survey_conclude(h->survey, &culprit, why);
    return rc ? fault_wrap(why, "host %s", h->names[culprit]) : 0;
}

static int names_collect(struct hosts *h, struct fault *why)
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

static int hosts_conclude(struct hosts *h, struct fault *why)
{
    const char *output = query_command_flag(&h->c, "output");
    json_t *file = hostfile_write_json(
        h->c.hosts, h->survey ? topology_survey_wiring(h->survey) : NULL, h->addresses);
    int rc = 0;

    if (h->c.json)
        hostfile_write_print(stdout, file);
    else if (h->survey)
        topology_print(h);
    else
        hosts_print(h);
    if (!h->survey)
        rc = hosts_draw(h, why);
    if (!rc && output)
        rc = hostfile_write(output, file, why);
    json_decref(file);
    return rc;
}

static int hosts_show(void *arg, int *status, struct fault *why)
{
    struct hosts *h = arg;
    const char *draw = query_command_flag(&h->c, "draw");
    int rc = names_collect(h, why);

    if (!rc && draw)
        rc = topology_drawing_check(draw, why);
    if (!rc && query_command_flag(&h->c, "probe"))
        rc = hosts_probe(h, why);
    if (!rc)
        rc = hosts_conclude(h, why);
    topology_survey_destroy(h->survey);
    free(h->names);
    free(h->addresses);
    *status = 0;
    return rc;
}

int hosts_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "probe", .help = "find the RDMA wiring: ask all hosts, try all links"},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = "write them as a hostfile, with the wiring found"},
        {.name = "draw",
         .argument = "FILE",
         .help = "draw the wiring found or stated, FILE.svg or FILE.dot"},
        {.name = "json", .help = "print the hostfile, nothing else"},
        {0}};
    struct hosts h = {
        .c = {.syntax = {.name = "hosts",
                         .usage =
                             "usage: mlaunch hosts [OPTIONS]\n\n"
                             "Shows the hosts that a job with these options would use. With\n"
                             "--probe finds how their RDMA devices are wired, by traffic, and\n"
                             "shows it.",
                         .own = flags},
              .timeout_ms = TIMEOUT_MS}};

    return query_command_run(&h.c, argc, argv, hosts_show, &h);
}
