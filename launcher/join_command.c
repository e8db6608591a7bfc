/* SPDX-License-Identifier: MIT */
#include "launcher/join_command.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "launcher/base/text/string_list.h"
#include "launcher/commands/join/join_key.h"
#include "launcher/commands/join/join_options.h"
#include "launcher/run_command.h"
#include "launcher/wire/join/join_node.h"

#include <sodium.h>
#include <string.h>

/* The address at which others reach this machine. */
static int own_address(char ip[ADDRESS_TEXT], const struct join_options *j, struct fault *why)
{
    static const char outside[] = "192.0.2.1"; /* belongs to no host (RFC 5737); nothing is sent */

    bool is_typed = strcmp(j->place.head_by, "--head") == 0;
    int rc = 0;

    if (j->place.head[0])
        rc = uplink_address_own(ip, j->place.head, j->run->job.init_timeout_ms, why);
    /* Some systems call the head localhost at the head itself; who types it means it. */
    if (!rc && (!j->place.head[0] || (j->place.system[0] && !is_typed && address_is_loopback(ip))))
        rc = address_towards(outside, ip, why);
    return rc;
}

/* Index 0 runs the job. It listens at its own address alone, unless --listen says something
 * else. */
static int head_run(struct join_options *j)
{
    char ip[ADDRESS_TEXT];
    struct fault why;
    int rc = 0;

    if (!j->run->listen && !j->run->dry_run) {
        rc = own_address(ip, j, &why);
        if (!rc)
            rc = string_format(&j->run->listen, &why, strchr(ip, ':') ? "[%s]:%d" : "%s:%d", ip,
                               j->place.port);
    }
    if (!rc)
        return run_command_run_options(j->run);
    log_error("%s", why.text);
    return STATUS_OURS;
}

static int node_run(const struct join_options *j)
{
    uint8_t key[AUTH_SECRET];
    const struct uplink_call call = {.host = j->place.head,
                                     .port = j->place.port,
                                     .index = j->place.index,
                                     .hosts = j->place.hosts,
                                     .key = key,
                                     .limit_ms = j->run->job.init_timeout_ms};
    int status = STATUS_OURS;

    if (join_key_read(key, j->run->key_file))
        status = join_node_run(&call, j->run->agent);
    sodium_memzero(key, sizeof(key));
    return status;
}

/* What was understood, for --dry-run. */
static void place_print(const struct join_place *p, bool is_head)
{
    if (p->system[0])
        printable_print("started by %s\n", p->system);
    printable_print("index %d (%s) of %d hosts (%s)\n", p->index, p->index_by, p->hosts,
                    p->hosts_by);
    printable_print("head %s%s%s, port %d%s\n", p->head[0] ? p->head : "this machine",
                    p->head[0] ? " by " : "", p->head[0] ? p->head_by : "", p->port,
                    is_head ? "; it is this host" : "");
}

static int options_run(struct join_options *j)
{
    if (j->action == OPTIONS_HELP) {
        join_options_print_help();
        return 0;
    }
    if (j->key_new)
        return join_key_write(j->key_new) ? 0 : STATUS_OURS;
    log_open("mlaunch", (enum log_level)(LOG_WARN + j->run->verbose));
    if (j->run->dry_run)
        place_print(&j->place, j->is_head);
    if (j->is_head)
        return head_run(j);
    return j->run->dry_run ? 0 : node_run(j);
}

int join_command_run(int argc, char **argv)
{
    struct join_options j;
    struct fault why;
    int status = STATUS_OURS;

    if (join_options_read(&j, argc, argv, &why))
        log_error("%s", why.text);
    else
        status = options_run(&j);
    join_options_clear(&j);
    return status;
}
