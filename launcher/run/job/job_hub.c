/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job_hub.h"

#include "common/log.h"
#include "launcher/wire/uplink/uplink_address.h"
#include "launcher/wire/uplink/uplink_key.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_taken(const struct host_list *list, const char *name, int index)
{
    for (int i = 0; i < list->count; i++)
        if (i != index && strcmp(list->hosts[i].name, name) == 0)
            return true;
    return false;
}

/* Two hosts may have one name, as containers of one image have. */
static void on_joined(int index, const char *name, const char *from, void *arg)
{
    const struct plan *p = arg;
    struct host *h = &p->list->hosts[index];
    char *own = NULL;

    (void)from;
    if (!*name || strcmp(h->name, name) == 0)
        return;
    if (asprintf(&own, is_taken(p->list, name, index) ? "%s#%d" : "%s", name, index) < 0)
        return;
    free(h->name);
    h->name = own;
}

static void on_refused(const char *text, void *arg)
{
    (void)arg;
    log_warn("%s", text);
}

/* All addresses, if none is named. */
static int hub_listen(struct uplink_hub **out, struct event_base *base,
                      struct uplink_hub_config *config, const struct plan *p, struct fault *why)
{
    const struct uplink_hub_events events = {on_joined, on_refused, (void *)p};
    const char *listen = p->options->listen ? p->options->listen : "0";
    char host[UPLINK_HOST];
    int rc;

    if (!uplink_address_split(listen, host, &config->port) || (*host && !address_is_literal(host)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--listen needs PORT, ADDRESS:PORT or [IPv6]:PORT, and not '%.80s'",
                         listen);
    config->ip = *host ? host : "::";
    rc = uplink_hub_open(out, base, config, &events, why);
    if (rc && !*host) { /* this machine has no IPv6 */
        config->ip = "0.0.0.0";
        rc = uplink_hub_open(out, base, config, &events, why);
    }
    return rc ? fault_wrap(why, "--listen %.80s", listen) : 0;
}

int job_hub_open(struct uplink_hub **out, struct event_base *base, const struct plan *p,
                 struct fault *why)
{
    uint8_t key[AUTH_SECRET];
    const struct options *o = p->options;
    struct uplink_hub_config config = {.hosts = o->await,
                                       .first = o->is_await_here,
                                       .fanout = o->fanout,
                                       .limit_ms = p->job.init_timeout_ms,
                                       .key = key};
    char *warning = NULL;
    int rc;

    *out = NULL;
    if (!o->await)
        return 0;
    rc = uplink_key_read(key, o->key_file, &warning, why);
    if (warning)
        log_warn("%s", warning);
    free(warning);
    if (!rc)
        rc = hub_listen(out, base, &config, p, why);
    sodium_memzero(key, sizeof(key));
    if (!rc)
        log_info("waiting for %d host%s at %s", o->await - config.first,
                 o->await - config.first == 1 ? "" : "s", uplink_hub_where(*out));
    return rc;
}
