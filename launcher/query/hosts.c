/* SPDX-License-Identifier: MIT */
/* hosts.c: `mlaunch hosts` lists the hosts of a job; with --probe it finds which RDMA devices
 * connect them; with -o it writes a hostfile. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/hosts/hostfile_write.h"
#include "launcher/options/options.h"
#include "launcher/query/query_command.h"
#include "launcher/query/query_field.h"
#include "launcher/text/text_table.h"
#include "launcher/wiring/wiring_survey.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, CELL = 256, HOSTS_IN_A_TABLE = 12 };

struct hosts {
    struct query_command c;
    const char **names, **addresses;
    struct wiring_survey *survey;
    json_t *devices; /* of each host */
};

static const char *list_cell(char text[CELL], char *const *list)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; list && list[i] && used < CELL; i++)
        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "", list[i]);
    return text[0] ? text : "-";
}

/* Without --probe, no host is asked. */
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
static const char *gids_cell(char text[CELL], json_t *gids)
{
    size_t used = 0, i;
    json_t *gid;

    text[0] = '\0';
    json_array_foreach(gids, i, gid)
    {
        const char *ipv4 = query_field_text(gid, "ipv4");
        int prefix = (int)query_field_whole(gid, "prefix");

        if (used >= CELL)
            break;
        used += (size_t)snprintf(text + used, CELL - used, "%s%s", i ? " " : "",
                                 *ipv4 ? ipv4 : query_field_text(gid, "gid"));
        if (*ipv4 && prefix && used < CELL)
            used += (size_t)snprintf(text + used, CELL - used, "/%d", prefix);
    }
    return text;
}

static void add_device(struct text_table *t, const char *host, json_t *device)
{
    const char *error = query_field_text(device, "error"), *name = query_field_text(device, "name");
    json_t *port;
    size_t i;

    if (*error)
        text_table_add(t, (const char *const[]){host, name, "-", "fails", "-", "-", error, NULL});
    json_array_foreach(json_object_get(device, "ports"), i, port)
    {
        char number[CELL], mtu[CELL], gids[CELL];

        snprintf(number, sizeof(number), "%d", (int)query_field_whole(port, "port"));
        snprintf(mtu, sizeof(mtu), "%d", (int)query_field_whole(port, "active_mtu"));
        text_table_add(t,
                       (const char *const[]){host, name, number, query_field_text(port, "state"),
                                             query_field_text(port, "link_layer"), mtu,
                                             gids_cell(gids, json_object_get(port, "gids")), NULL});
    }
}

static void print_devices(const struct hosts *h)
{
    static const char *const head[] = {"HOST", "DEVICE", "PORT",      "STATE",
                                       "LINK", "MTU",    "ADDRESSES", NULL};
    struct text_table *t = text_table_create(head, "llrllrl");
    json_t *device;
    size_t k;

    for (int i = 0; i < h->c.hosts->count && t; i++) {
        json_array_foreach(json_array_get(h->devices, (size_t)i), k, device)
        {
            add_device(t, h->names[i], device);
        }
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

/* Prints a matrix if it fits, else a line for each pair. */
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

static void tell_link(const char *text, void *arg)
{
    (void)arg;
    log_info("RDMA: %s", text);
}

static json_t *question(void *arg, int host, int round)
{
    const struct hosts *h = arg;

    return wiring_survey_question(h->survey, host, (enum wiring_round)round);
}

static int take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    struct hosts *h = arg;

    if (round == WIRING_LOOK)
        json_array_set(h->devices, (size_t)host, json_object_get(said, "devices"));
    return wiring_survey_answer(h->survey, host, (enum wiring_round)round, said, why);
}

static int survey_open(struct hosts *h, struct fault *why)
{
    const struct options *o = h->c.options;
    struct wiring_survey_config config = {.names = h->names,
                                          .count = h->c.hosts->count,
                                          .source = h->c.hosts->source,
                                          .port = o->rdma_port,
                                          .gid_index = o->gid_index,
                                          .mtu = o->mtu,
                                          .qp = o->qp};

    randombytes_buf(&config.tag, sizeof(config.tag));
    config.tag &= INT64_MAX; /* it travels as JSON */
    h->devices = json_array();
    for (int i = 0; i < h->c.hosts->count; i++)
        json_array_append_new(h->devices, json_array());
    return wiring_survey_create(&h->survey, &config, why);
}

/* What the hostfile says of the wiring is not looked at: this finds what is. */
static int probe(struct hosts *h, struct fault *why)
{
    const struct query_rounds rounds = {WIRING_ROUNDS, question, take, h};
    char warning[WIRING_WARNING_TEXT];
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
    rc = wiring_survey_settle(h->survey, &culprit, why);
    if (rc)
        return fault_wrap(why, "host %s", h->names[culprit]);
    wiring_survey_tell(h->survey, tell_link, NULL);
    if (wiring_survey_warn(h->survey, warning))
        log_warn("%s", warning);
    return 0;
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

static int hosts_conclude(struct hosts *h, struct fault *why)
{
    const char *output = query_command_flag(&h->c, "output");
    json_t *file = hostfile_to_json(h->c.hosts, h->survey ? wiring_survey_wiring(h->survey) : NULL,
                                    h->addresses);
    int rc = 0;

    if (h->c.json)
        hostfile_print(stdout, file);
    else if (h->survey)
        print_wiring(h);
    else
        print_hosts(h);
    if (output)
        rc = hostfile_write(output, file, why);
    json_decref(file);
    return rc;
}

int hosts_run(int argc, char **argv)
{
    struct query_flag flags[] = {
        {.name = "probe", .help = "find the RDMA wiring: ask all hosts, try all links"},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = "write them as a hostfile, with the wiring found"},
        {.name = "json", .help = "print the hostfile, nothing else"},
        {.name = NULL}};
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

    rc = query_command_open(&h.c, argc, argv, &why);
    if (!rc && !h.c.is_done) {
        rc = names_take(&h, &why);
        if (!rc && query_command_flag(&h.c, "probe"))
            rc = probe(&h, &why);
        if (!rc)
            rc = hosts_conclude(&h, &why);
    }
    if (rc)
        log_error("%s", why.text);
    wiring_survey_destroy(h.survey);
    json_decref(h.devices);
    free(h.names);
    free(h.addresses);
    query_command_close(&h.c);
    return rc ? STATUS_OURS : 0;
}
