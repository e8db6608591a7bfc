/* SPDX-License-Identifier: MIT */
/*
 * probe_main.c: mlaunch-probe: prints as JSON which RDMA devices this host has; with --check,
 * whether those that a hostfile names can be used; with --wires, which ports of other hosts they
 * reach.
 */
#include "common/text/number.h"
#include "rdma/probe/describe.h"
#include "rdma/probe/probe_check.h"
#include "rdma/probe/probe_trial.h"
#include "rdma/verbs/device.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MS = 5000, DEVICES_MOST = 256, NUMBER_MOST = 65535 };

static json_t *device_look(const char *name)
{
    struct ibv_context *context;
    struct fault why;
    json_t *found;

    if (device_open(&context, name, &why))
        return json_pack("{s:s}", "error", why.text);
    found = describe_device(context);
    device_close(context);
    return found;
}

static void child_run(const char *name, int fd, const void *arg)
{
    const struct probe_choice *c = arg;

    probe_child_send(fd, c->is_check ? probe_check(name, c) : device_look(name));
}

/* Adds the device unless it is there; returns the new count. */
static int device_add(struct probe_child *children, int count, const char *device)
{
    for (int i = 0; i < count; i++)
        if (strcmp(children[i].name, device) == 0)
            return count;
    snprintf(children[count].name, sizeof(children[count].name), "%.*s", PORT_DEVICE - 1, device);
    return count + 1;
}

/* has_ports: the name may be a port's ("mlx5_0:2"), which the device's child examines. */
static int name_add(struct probe_child *children, int count, const char *name, bool has_ports)
{
    char device[PORT_NAME_DEVICE];
    int port;

    return device_add(children, count,
                      has_ports && port_name_split(name, device, &port) ? device : name);
}

static int devices_find(struct probe_child *children, int count)
{
    DIR *dir = opendir("/sys/class/infiniband");
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) && count < DEVICES_MOST)
        if (entry->d_name[0] != '.')
            count = device_add(children, count, entry->d_name);
    if (dir)
        closedir(dir);
    return count;
}

static int number_read(const char *text)
{
    int64_t value;

    if (!number_parse(text, 0, NUMBER_MOST, &value)) {
        fprintf(stderr, "mlaunch-probe: '%s' is not a number\n", text);
        exit(2);
    }
    return (int)value;
}

static void usage(FILE *to)
{
    fputs("usage: mlaunch-probe [--check|--wires [--port N] [--gid-index N]] [DEVICE[:PORT] ...]\n"
          "Prints as JSON what the RDMA devices of this host are (all, or those named); with "
          "--check,\n"
          "whether each of those named, or its port, can be used. Status 1 if one of them can't. "
          "--wires is for\n"
          "mlaunch-agent: it tries which devices of other hosts are reached.\n",
          to);
}

static bool options_read(struct probe_choice *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"check", no_argument, NULL, 'c'},      {"wires", no_argument, NULL, 'w'},
        {"port", required_argument, NULL, 'p'}, {"gid-index", required_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (letter) {
        case 'c':
            c->is_check = true;
            break;
        case 'w':
            c->is_trial = true;
            break;
        case 'p':
            c->port = number_read(optarg);
            break;
        case 'g':
            c->gid_index = number_read(optarg);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return false;
        }
    }
    return true;
}

/* The program's status: 1 if a device is not as it should be. */
static int devices_look(struct probe_child *children, int count, const struct probe_choice *c)
{
    bool failed;

    for (int i = 0; i < count; i++)
        probe_child_start(&children[i], child_run, c);
    failed = probe_children_print(children, count, DEADLINE_MS,
                                  c->is_check ? JSON_COMPACT : JSON_INDENT(2));
    for (int i = 0; i < count; i++)
        probe_child_end(&children[i]);
    return failed || fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct probe_child children[DEVICES_MOST];
    struct probe_choice c = {.gid_index = -1};
    int count = 0;
    char **named;

    if (!options_read(&c, argc, argv)) {
        usage(stderr);
        return 2;
    }
    named = argv + optind;
    for (; optind < argc && count < DEVICES_MOST; optind++)
        count = name_add(children, count, argv[optind], c.is_trial);
    if (c.is_trial || (count == 0 && !c.is_check))
        count = devices_find(children, count);
    return c.is_trial ? probe_trial(children, count, named, &c) : devices_look(children, count, &c);
}
