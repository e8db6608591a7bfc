/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/env_copy.h"

#include "common/log.h"
#include "common/text/number.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/run/spread/sync_chains.h"
#include "launcher/run/spread/sync_source.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct copy_target {
    bool has_answered; /* or is lost */
    bool is_kept;      /* it needs no copy */
    int slot;          /* among `hosts`; -1: it is not there */
    char ip[64];
    char *directory;
    const struct host *host;
    struct agent_channel *channel;
};

enum {
    PATH_HASH = 8, /* bytes; a mistake needs two directories on one host */
    TREE_VERSION = 16,
};

struct env_copy {
    struct env_copy_config config;
    struct sync_source source; /* empty if it is another one's */
    const struct sync_source *listed;
    struct sync_settings settings;
    struct copy_target *targets;
    int unanswered;
    struct sync_host *hosts; /* in the order of the targets */
    int count;
    struct sync_chains *chains; /* while the copies are made */
    struct event *end;          /* the chains are not closed from within */
    bool is_lost, has_begun, has_ended;
    char version[2 * (PATH_HASH + TREE_VERSION) + 2];
};

static void on_over(void *arg)
{
    struct env_copy *c = arg;

    event_active(c->end, 0, 0);
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
    struct env_copy *c = arg;
    uint64_t lost = c->chains ? sync_chains_lost(c->chains) : 0;
    bool is_first = c->has_begun && !c->has_ended;

    (void)fd, (void)what;
    c->has_ended = true;
    sync_chains_close(c->chains);
    c->chains = NULL;
    if (is_first && !c->is_lost)
        c->config.on_copied(lost, c->config.arg);
}

static int host_open(struct env_copy *c, struct copy_target *m, int place, struct fault *why)
{
    struct sync_host *h = &c->hosts[c->count];
    int rc = sync_host_open(h, m->host, c->listed->list.count, why);

    m->slot = c->count++;
    h->place = place;
    h->channel = m->channel;
    h->target = m->directory;
    return rc;
}

/* All hosts have answered. */
static int copy_begin(struct env_copy *c, struct fault *why)
{
    struct sync_chains_config chains = {
        .source = c->listed, .settings = &c->settings, .on_over = on_over, .arg = c};
    int rc = 0;

    c->has_begun = true;
    c->hosts = calloc((size_t)c->config.hosts, sizeof(*c->hosts));
    if (!c->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c->config.hosts && !rc; i++)
        rc = c->targets[i].is_kept ? 0 : host_open(c, &c->targets[i], i, why);
    if (!rc && c->count == 0) {
        event_active(c->end, 0, 0);
        return 0;
    }
    chains.hosts = c->hosts;
    chains.count = c->count;
    if (!rc)
        rc = sync_chains_open(&c->chains, c->config.base, &chains, why);
    for (int i = 0; i < c->config.hosts && !rc; i++)
        if (!c->targets[i].is_kept)
            sync_chains_begin(c->chains, c->targets[i].slot, c->targets[i].ip);
    return rc;
}

static void answer_note(struct env_copy *c, struct copy_target *m)
{
    c->unanswered -= !m->has_answered;
    m->has_answered = true;
}

int env_copy_place(struct env_copy *c, int host, const struct env_copy_place *place,
                   struct fault *why)
{
    struct copy_target *m = &c->targets[host];
    int rc;

    if (m->has_answered)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected PLACE");
    rc = string_copy(&m->directory, place->directory, why);
    if (rc)
        return rc;
    m->host = place->host;
    m->channel = place->channel;
    m->is_kept = place->is_kept;
    snprintf(m->ip, sizeof(m->ip), "%s", place->ip);
    answer_note(c, m);
    return c->unanswered == 0 && !c->is_lost ? copy_begin(c, why) : 0;
}

/* The run cannot start without the file, so that the chains need not know. */
static int failed_take(struct sync_host *h, const struct frame *f, struct fault *why)
{
    const struct frame inner = {
        .type = SYNC_FAILED, .size = f->size - 1, .payload = f->payload + 1};
    int rc = sync_host_take_failed(h, &inner, why);
    const json_t *last = json_array_get(h->failures, json_array_size(h->failures) - 1);

    return rc ? rc : fault_set(why, ML_ERR_REFUSED, "%s", last ? json_string_value(last) : "");
}

int env_copy_take(struct env_copy *c, int host, const struct frame *f, struct fault *why)
{
    struct copy_target *m = &c->targets[host];

    if (!c->has_begun || m->slot < 0)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected SYNC");
    if (!c->chains || c->is_lost)
        return 0;
    if (f->size && f->payload[0] == SYNC_FAILED)
        return failed_take(&c->hosts[m->slot], f, why);
    return sync_chains_take(c->chains, m->slot, f, why);
}

void env_copy_lose(struct env_copy *c, int host)
{
    if (!c)
        return;
    c->is_lost = true;
    answer_note(c, &c->targets[host]);
    if (c->chains)
        event_active(c->end, 0, 0);
}

bool env_copy_is_off(const struct env_copy *c)
{
    return c && c->is_lost && c->unanswered == 0;
}

void env_copy_pulse(struct env_copy *c)
{
    if (c && c->chains)
        sync_chains_pulse(c->chains);
}

void env_copy_report(const struct env_copy *c, int host)
{
    const struct copy_target *m = &c->targets[host];
    const struct sync_host *h;

    if (m->is_kept) {
        log_info("host %s: has kept its copy of %s from before, so that 0 bytes were sent",
                 m->host->name, c->config.directory);
        return;
    }
    h = &c->hosts[m->slot];
    log_info("host %s: has a copy of %s, for which %llu files of %llu bytes were sent",
             h->host->name, c->config.directory, (unsigned long long)h->files,
             (unsigned long long)h->bytes);
}

const char *env_copy_name(const struct env_copy *c)
{
    return c->source.paths[0].name;
}

uint64_t env_copy_size(const struct env_copy *c)
{
    return c->source.bytes;
}

const char *env_copy_version(const struct env_copy *c)
{
    return c->version;
}

/* Names, kinds, permissions, sizes, times and targets of links: what tells one state of the
 * directory from another without opening a file. */
static void version_make(struct env_copy *c)
{
    const struct tree_list *l = &c->source.list;
    const char *path = c->config.directory;
    uint8_t packed[TREE_PACKED_MOST], hash[PATH_HASH], tree[TREE_VERSION];
    crypto_generichash_state state;

    crypto_generichash(hash, sizeof(hash), (const uint8_t *)path, strlen(path), NULL, 0);
    crypto_generichash_init(&state, NULL, 0, sizeof(tree));
    for (uint32_t i = 0; i < l->count; i++) {
        struct tree_entry e = l->entries[i];

        e.is_sparse = false; /* file systems find room for a file some time after it was written */
        crypto_generichash_update(&state, packed, tree_list_pack(&e, packed));
    }
    crypto_generichash_final(&state, tree, sizeof(tree));
    hex_write(c->version, hash, sizeof(hash));
    c->version[2 * PATH_HASH] = '.';
    hex_write(c->version + 2 * PATH_HASH + 1, tree, sizeof(tree));
}

static int source_open(struct env_copy *c, struct fault *why)
{
    char real[PATH_MAX];
    int rc;

    if (!realpath(c->config.directory, real))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s", c->config.directory);
    rc = sync_source_add(&c->source, real, NULL, why);
    return rc ? rc : sync_source_scan(&c->source, NULL, false, why);
}

static int copy_create(struct env_copy **out, const struct env_copy_config *config,
                       struct fault *why)
{
    struct env_copy *c = calloc(1, sizeof(*c));

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->config = *config;
    c->listed = &c->source;
    c->settings.stall_ms = config->stall_ms > 0 ? config->stall_ms : INT_MAX;
    c->settings.rdma.gid_index = -1;
    c->unanswered = config->hosts;
    c->targets = calloc((size_t)config->hosts, sizeof(*c->targets));
    c->end = event_new(config->base, -1, 0, on_end, c);
    if (!c->targets || !c->end) {
        env_copy_close(c);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < config->hosts; i++)
        c->targets[i].slot = -1;
    *out = c;
    return 0;
}

int env_copy_open(struct env_copy **out, const struct env_copy_config *config, struct fault *why)
{
    struct env_copy *c;
    int rc = copy_create(&c, config, why);

    if (rc)
        return rc;
    rc = source_open(c, why);
    if (rc) {
        env_copy_close(c);
        return rc;
    }
    version_make(c);
    *out = c;
    return 0;
}

int env_copy_open_later(struct env_copy **out, const struct env_copy *listed, int host,
                        void (*on_copied)(uint64_t lost, void *arg), void *arg, struct fault *why)
{
    struct env_copy_config config = listed->config;
    struct env_copy *c;
    int rc;

    config.on_copied = on_copied;
    config.arg = arg;
    if (host >= config.hosts)
        config.hosts = host + 1; /* one of those that mlaunch grow adds */
    rc = copy_create(&c, &config, why);
    if (rc)
        return rc;
    c->listed = listed->listed;
    for (int i = 0; i < config.hosts; i++)
        if (i != host) {
            c->targets[i].is_kept = true;
            answer_note(c, &c->targets[i]);
        }
    *out = c;
    return 0;
}

void env_copy_close(struct env_copy *c)
{
    if (!c)
        return;
    sync_chains_close(c->chains);
    for (int i = 0; i < c->count; i++)
        sync_host_close(&c->hosts[i]);
    for (int i = 0; c->targets && i < c->config.hosts; i++)
        free(c->targets[i].directory);
    if (c->end)
        event_free(c->end);
    sync_source_clear(&c->source);
    free(c->hosts);
    free(c->targets);
    free(c);
}
