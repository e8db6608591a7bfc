/* SPDX-License-Identifier: MIT */
/*
 * probe_main.c: mlaunch-probe: what RDMA devices this host has, as JSON; with --check, whether those that a
 * hostfile names are usable. Each device is looked at by a child of its own with a deadline, so that
 * one whose driver hangs hangs nobody.
 */
#include "rdma/device.h"
#include "rdma/port.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_MS = 5000, TEXT_MOST = 1 << 18, DEVICES_MOST = 256 };

struct probe {
    char name[PORT_DEVICE];
    pid_t pid;
    int fd; /* what the child says; -1: it has said all */
    char *text;
    size_t size;
};

struct choice {
    bool is_check;
    int port, gid_index;
};

static const char *const gid_types[] = {"IB", "RoCE v1", "RoCE v2"};

/* --- in the child ------------------------------------------------------------------------------
 */

static json_t *describe_gids(const struct gid *gids, int count)
{
    json_t *list = json_array();
    char text[GID_TEXT], ip[INET_ADDRSTRLEN];

    for (int i = 0; i < count; i++) {
        json_t *gid = json_pack("{s:i, s:s, s:s}", "index", gids[i].index, "gid",
                                gid_format(&gids[i], text), "type", gid_types[gids[i].type]);

        if (gid_is_ipv4(&gids[i]) && inet_ntop(AF_INET, gids[i].raw + 12, ip, sizeof(ip)))
            json_object_set_new(gid, "ipv4", json_string(ip));
        if (gids[i].prefix)
            json_object_set_new(gid, "prefix", json_integer(gids[i].prefix));
        json_array_append_new(list, gid);
    }
    return list;
}

static json_t *describe_port(struct ibv_context *context, int number)
{
    struct ibv_port_attr attr;
    struct gid gids[GID_MOST];
    int err = ibv_query_port(context, (uint8_t)number, &attr);
    int count = err ? 0 : port_read_gids(context, number, gids, GID_MOST);
    bool is_ethernet = !err && attr.link_layer == IBV_LINK_LAYER_ETHERNET;

    if (err)
        return json_pack("{s:i, s:s}", "port", number, "error", strerror(err));
    return json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:I, s:o}", "port", number, "state",
                     ibv_port_state_str(attr.state), "link_layer",
                     is_ethernet ? "Ethernet" : "InfiniBand", "active_mtu", 128 << attr.active_mtu,
                     "max_mtu", 128 << attr.max_mtu, "lid", attr.lid, "max_message",
                     (json_int_t)attr.max_msg_sz, "gids",
                     describe_gids(gids, count > 0 ? count : 0));
}

static json_t *describe_device(struct ibv_context *context)
{
    struct ibv_device_attr attr;
    int err = ibv_query_device(context, &attr);
    json_t *ports = json_array();

    if (err)
        return json_pack("{s:s}", "error", strerror(err));
    for (int i = 1; i <= attr.phys_port_cnt; i++)
        json_array_append_new(ports, describe_port(context, i));
    return json_pack("{s:s, s:o, s:{s:i, s:i, s:i, s:i, s:I}}", "firmware", attr.fw_ver, "ports",
                     ports, "limits", "queue_pairs", attr.max_qp, "work_requests", attr.max_qp_wr,
                     "completions", attr.max_cqe, "memory_regions", attr.max_mr, "memory_region",
                     (json_int_t)attr.max_mr_size);
}

static json_t *look_at(const char *name)
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

/* As ml_init will open it: the same refusals, in the same words. */
static json_t *check(const char *name, const struct choice *c)
{
    struct port *p;
    struct fault why;
    bool found = c->gid_index < 0;
    json_t *report;

    if (port_open(&p, name, c->port, &why))
        return json_pack("{s:s}", "error", why.text);
    for (int i = 0; i < p->gid_count; i++)
        found |= p->gids[i].index == c->gid_index;
    if (found)
        report = json_pack("{s:i, s:o}", "port", p->number, "gids",
                           describe_gids(p->gids, p->gid_count));
    else
        report =
            json_pack("{s:o}", "error",
                      json_sprintf("%s port %d has no GID of index %d (mlaunch-probe lists them)",
                                   name, p->number, c->gid_index));
    port_close(p);
    return report;
}

static void child_run(const char *name, int fd, const struct choice *c)
{
    json_t *report = c->is_check ? check(name, c) : look_at(name);

    json_dumpfd(report, fd, JSON_COMPACT);
    _exit(0);
}

/* --- in the parent -----------------------------------------------------------------------------
 */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void probe_start(struct probe *p, const struct choice *c)
{
    int fds[2];

    p->fd = -1;
    if (pipe(fds))
        return;
    p->pid = fork();
    if (p->pid == 0) {
        close(fds[0]);
        child_run(p->name, fds[1], c);
    }
    close(fds[1]);
    if (p->pid > 0)
        p->fd = fds[0];
    else
        close(fds[0]);
}

static void probe_read(struct probe *p)
{
    ssize_t n = 0;

    if (!p->text)
        p->text = malloc(TEXT_MOST);
    if (p->text && p->size < TEXT_MOST)
        n = read(p->fd, p->text + p->size, TEXT_MOST - p->size);
    if (n > 0) {
        p->size += (size_t)n;
        return;
    }
    close(p->fd);
    p->fd = -1;
}

/* Until all have said all, or the deadline. */
static void probes_gather(struct probe *probes, int count)
{
    struct pollfd polls[DEVICES_MOST];
    int64_t deadline = now_ms() + DEADLINE_MS;

    for (;;) {
        int64_t left = deadline - now_ms();
        int waiting = 0;

        for (int i = 0; i < count; i++) {
            polls[i] = (struct pollfd){.fd = probes[i].fd, .events = POLLIN};
            waiting += probes[i].fd >= 0;
        }
        if (waiting == 0 || left <= 0)
            return;
        if (poll(polls, (nfds_t)count, (int)left) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < count; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                probe_read(&probes[i]);
    }
}

static json_t *probe_report(struct probe *p)
{
    json_t *report = p->text ? json_loadb(p->text, p->size, 0, NULL) : NULL;

    if (!report && p->fd >= 0)
        report = json_pack("{s:o}", "error",
                           json_sprintf("%s does not answer within %d s: its driver hangs; see the "
                                        "kernel's log",
                                        p->name, DEADLINE_MS / 1000));
    else if (!report)
        report =
            json_pack("{s:o}", "error",
                      json_sprintf("looking at %s failed: its driver's library crashed", p->name));
    json_object_set_new(report, "name", json_string(p->name));
    /* Not waited for where it hangs: one in the kernel can't even be killed. */
    if (p->pid > 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, p->fd >= 0 ? WNOHANG : 0);
    }
    if (p->fd >= 0)
        close(p->fd);
    free(p->text);
    return report;
}

static int all_devices(struct probe *probes)
{
    DIR *dir = opendir("/sys/class/infiniband");
    struct dirent *entry;
    int count = 0;

    while (dir && (entry = readdir(dir)) && count < DEVICES_MOST) {
        if (entry->d_name[0] != '.')
            snprintf(probes[count++].name, sizeof(probes[0].name), "%.*s", PORT_DEVICE - 1,
                     entry->d_name);
    }
    if (dir)
        closedir(dir);
    return count;
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (!*text || *end || value < 0 || value > 65535) {
        fprintf(stderr, "mlaunch-probe: '%s' is not a number\n", text);
        exit(2);
    }
    return (int)value;
}

static void usage(FILE *to)
{
    fputs("usage: mlaunch-probe [--check [--port N] [--gid-index N]] [DEVICE ...]\n"
          "Prints as JSON what the RDMA devices of this host are (all, or those named); with "
          "--check,\n"
          "whether each of those named can be used. Status 1 if one of them can't.\n",
          to);
}

static bool options_read(struct choice *c, int argc, char **argv)
{
    static const struct option options[] = {{"check", no_argument, NULL, 'c'},
                                            {"port", required_argument, NULL, 'p'},
                                            {"gid-index", required_argument, NULL, 'g'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (letter) {
        case 'c':
            c->is_check = true;
            break;
        case 'p':
            c->port = number(optarg);
            break;
        case 'g':
            c->gid_index = number(optarg);
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

int main(int argc, char **argv)
{
    static struct probe probes[DEVICES_MOST];
    struct choice c = {.gid_index = -1};
    json_t *list = json_array(), *root;
    int count = 0;
    bool failed = false;

    if (!options_read(&c, argc, argv)) {
        usage(stderr);
        return 2;
    }
    for (; optind < argc && count < DEVICES_MOST; optind++)
        snprintf(probes[count++].name, sizeof(probes[0].name), "%s", argv[optind]);
    if (count == 0 && !c.is_check)
        count = all_devices(probes);
    for (int i = 0; i < count; i++)
        probe_start(&probes[i], &c);
    probes_gather(probes, count);
    for (int i = 0; i < count; i++) {
        json_t *report = probe_report(&probes[i]);

        failed |= json_object_get(report, "error") != NULL;
        json_array_append_new(list, report);
    }
    root = json_pack("{s:o}", "devices", list);
    json_dumpf(root, stdout, c.is_check ? JSON_COMPACT : JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return failed || fflush(stdout) ? 1 : 0;
}
