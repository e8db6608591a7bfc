/* SPDX-License-Identifier: MIT */
#include "launcher/run/change/job_changes.h"

#include "launcher/run/change/change_requests.h"
#include "launcher/run/change/grow_hosts.h"
#include "launcher/run/round/round_change.h"

#include <stdlib.h>
#include <unistd.h>

struct job_changes {
    struct job_changes_config config;
    struct change_requests *requests;
};

static int run_check(const struct job_changes *c, struct fault *why)
{
    return *c->config.round ? 0 : fault_set(why, ML_ERR_STATE, "its ranks do not run now");
}

static int on_shrink(const struct rank_set *ranks, const char *by, void *arg, struct fault *why)
{
    struct job_changes *c = arg;
    int rc = run_check(c, why);

    return rc ? rc : round_change_shrink(*c->config.round, ranks, by, why);
}

static bool has_shrunk(const struct rank_set *ranks, void *arg)
{
    const struct job_changes *c = arg;

    return !*c->config.round || round_change_has_shrunk(*c->config.round, ranks);
}

static int on_grow(const char *hosts, const char *by, int *first, int *count, void *arg,
                   struct fault *why)
{
    struct job_changes *c = arg;
    struct plan_growth wanted = {0};
    int rc = run_check(c, why);

    if (!rc)
        rc = grow_hosts_read(&wanted, c->config.plan, hosts, environ, why);
    *count = wanted.rank_count;
    if (!rc)
        rc = round_change_grow(*c->config.round, c->config.plan, &wanted, by, first, why);
    plan_growth_clear(&wanted);
    if (!rc && *first >= 0)
        c->config.on_grown(c->config.arg);
    return rc;
}

static bool has_grown(int first, int count, bool *have_ended, void *arg)
{
    const struct job_changes *c = arg;

    *have_ended = !*c->config.round;
    return !*c->config.round || round_change_has_grown(*c->config.round, first, count, have_ended);
}

int job_changes_open(struct job_changes **out, const struct job_changes_config *config,
                     struct fault *why)
{
    struct job_changes *c = calloc(1, sizeof(*c));
    const struct change_handlers handlers = {on_shrink, has_shrunk, on_grow, has_grown, c};
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->config = *config;
    rc = change_requests_open(&c->requests, config->base, config->job, &handlers, why);
    if (rc)
        job_changes_close(c);
    else
        *out = c;
    return rc;
}

void job_changes_close(struct job_changes *c)
{
    if (!c)
        return;
    change_requests_close(c->requests);
    free(c);
}

void job_changes_on_rank(struct job_changes *c)
{
    if (c)
        change_requests_look(c->requests);
}

void job_changes_on_hosts(struct job_changes *c, int first, const char *why)
{
    if (!c)
        return;
    change_requests_came(c->requests, first, why);
    if (first >= 0)
        c->config.on_grown(c->config.arg);
}
