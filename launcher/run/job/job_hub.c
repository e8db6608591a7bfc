/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job_hub.h"

#include "common/build_id.h"
#include "common/log.h"
#include "launcher/base/process/install_path.h"
#include "launcher/run/job/joined_names.h"
#include "launcher/wire/channel/hub_starter.h"
#include "launcher/wire/uplink/uplink_address.h"
#include "launcher/wire/uplink/uplink_key.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job_hub {
    const struct plan *plan;
    struct uplink_hub *uplinks;
    struct hub_starter *starter; /* NULL: hosts call by themselves */
    struct joined_names names;
    char agent[PATH_MAX];
    char ip[UPLINK_HOST];
};

static void on_joined(int index, const char *name, const char *from, void *arg)
{
    struct job_hub *h = arg;

    (void)from;
    if (h->starter)
        hub_starter_came(h->starter, index);
    else
        joined_names_take(&h->names, h->plan->list, index, name);
}

static void on_refused(const char *text, void *arg)
{
    (void)arg;
    log_warn("%s", text);
}

static void on_wanted(int index, void *arg)
{
    const struct job_hub *h = arg;

    if (h->starter)
        hub_starter_want(h->starter, index);
}

/* All addresses, if none is named. */
static int hub_listen(struct job_hub *h, struct event_base *base, struct uplink_hub_config *config,
                      struct fault *why)
{
    const struct uplink_hub_events events = {on_joined, on_refused, on_wanted, h};
    const char *listen = h->plan->options->listen ? h->plan->options->listen : "0";
    int rc;

    if (!uplink_address_split(listen, h->ip, &config->port) ||
        (*h->ip && !address_is_literal(h->ip)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--listen needs PORT, ADDRESS:PORT or [IPv6]:PORT, and not '%.80s'",
                         listen);
    config->ip = *h->ip ? h->ip : "::";
    rc = uplink_hub_open(&h->uplinks, base, config, &events, why);
    if (rc && !*h->ip) { /* this machine has no IPv6 */
        config->ip = "0.0.0.0";
        rc = uplink_hub_open(&h->uplinks, base, config, &events, why);
    }
    return rc ? fault_wrap(why, "--listen %.80s", listen) : 0;
}

/* The hosts of srun and --agent-command get a key that is made for this job alone. */
static int starter_open(struct job_hub *h, struct event_base *base, const uint8_t *key,
                        struct fault *why)
{
    const struct plan *p = h->plan;
    const char *where = uplink_hub_where(h->uplinks);
    struct hub_starter_config config = {.hosts = p->list->hosts,
                                        .count = p->where->host_count,
                                        .ip = *h->ip ? h->ip : "0.0.0.0",
                                        .port = atoi(strrchr(where, ':') + 1),
                                        .key = key,
                                        .limit_ms = p->job.init_timeout_ms,
                                        .channel = {.agent = p->options->agent,
                                                    .local_agent = h->agent,
                                                    .build = build_id,
                                                    .command = p->agent_command}};
    int rc = install_path_find(h->agent, INSTALL_AGENT, why);

    if (!rc)
        rc = hub_starter_open(&h->starter, base, &config, why);
    if (!rc)
        hub_starter_report_to(h->starter, h->uplinks);
    return rc;
}

static int key_take(uint8_t key[AUTH_SECRET], const struct options *o, struct fault *why)
{
    char *warning = NULL;
    int rc;

    if (!o->await) {
        randombytes_buf(key, AUTH_SECRET);
        return 0;
    }
    rc = uplink_key_read(key, o->key_file, &warning, why);
    if (warning)
        log_warn("%s", warning);
    free(warning);
    return rc;
}

int job_hub_open(struct job_hub **out, struct event_base *base, const struct plan *p,
                 struct fault *why)
{
    uint8_t key[AUTH_SECRET];
    const struct options *o = p->options;
    struct uplink_hub_config config = {.hosts = o->await ? o->await : p->where->host_count,
                                       .first = o->is_await_here,
                                       .fanout = o->fanout,
                                       .limit_ms = p->job.init_timeout_ms,
                                       .key = key,
                                       .is_started = !o->await};
    struct job_hub *h;
    int rc;

    *out = NULL;
    if (!o->await && !o->fanout)
        return 0;
    h = calloc(1, sizeof(*h));
    if (!h)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    h->plan = p;
    rc = key_take(key, o, why);
    if (!rc)
        rc = hub_listen(h, base, &config, why);
    if (!rc && !o->await)
        rc = starter_open(h, base, key, why);
    sodium_memzero(key, sizeof(key));
    if (rc) {
        job_hub_close(h, 0);
        return rc;
    }
    log_info("waiting for %d host%s at %s", config.hosts - config.first,
             config.hosts - config.first == 1 ? "" : "s", uplink_hub_where(h->uplinks));
    *out = h;
    return 0;
}

struct uplink_hub *job_hub_uplinks(const struct job_hub *h)
{
    return h ? h->uplinks : NULL;
}

void job_hub_close(struct job_hub *h, int status)
{
    if (!h)
        return;
    if (h->starter)
        hub_starter_report_to(h->starter, NULL);
    uplink_hub_close(h->uplinks, status);
    hub_starter_close(h->starter);
    joined_names_clear(&h->names);
    free(h);
}
