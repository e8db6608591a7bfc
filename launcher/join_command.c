/* SPDX-License-Identifier: MIT */
#include "launcher/join_command.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/text/string_list.h"
#include "launcher/commands/join/join_key.h"
#include "launcher/commands/join/join_node.h"
#include "launcher/commands/join/join_options.h"
#include "launcher/run_command.h"

#include <sodium.h>
#include <string.h>

/* Index 0 runs the job. It listens at its own address that --head names, unless --listen says
 * something else. */
static int head_run(struct join_options *j)
{
    char ip[ADDRESS_TEXT];
    struct fault why;
    int rc = 0;

    if (!j->run->listen) {
        rc = uplink_address_own(ip, j->head, j->run->job.init_timeout_ms, &why);
        if (!rc)
            rc = string_format(&j->run->listen, &why, strchr(ip, ':') ? "[%s]:%d" : "%s:%d", ip,
                               j->port);
    }
    if (!rc)
        return run_command_run_options(j->run);
    log_error("%s", why.text);
    return STATUS_OURS;
}

static int node_run(const struct join_options *j)
{
    uint8_t key[AUTH_SECRET];
    const struct uplink_call call = {.host = j->head,
                                     .port = j->port,
                                     .index = j->index,
                                     .hosts = j->hosts,
                                     .key = key,
                                     .limit_ms = j->run->job.init_timeout_ms};
    int status = STATUS_OURS;

    if (join_key_read(key, j->run->key_file))
        status = join_node_run(&call, j->run->agent);
    sodium_memzero(key, sizeof(key));
    return status;
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
    return j->is_head ? head_run(j) : node_run(j);
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
