/* SPDX-License-Identifier: MIT */
/* verify_counters.c: whether the ports' error counters have grown while there was traffic. */
#include "launcher/tools/verify/verify_groups.h"

#include "launcher/ask/port_counter.h"

#include <string.h>

/* Emulated devices' counters: these repeat what busy processors have dropped or answered late. */
static const char *const emulated_errors[] = {"retry_exceeded_err", "send_err", NULL};

/* Notifications of congestion: sent and received. */
static const char *const congestion[] = {"np_cnp_sent", "rp_cnp_handled", NULL};

static long long counter_growth(const struct host_port *before, const struct host_port *after,
                                const char *name)
{
    const json_t *old = json_object_get(before->counters, name);
    const json_t *new = json_object_get(after->counters, name);

    return old && new ? json_integer_value(new) - json_integer_value(old) : 0;
}

static void port_compare(struct verify *v, int host, const struct host_device *d,
                         const struct host_port *before, const struct host_port *after)
{
    for (const char *const *name = d->driver[0] ? port_counter_errors : emulated_errors; *name;
         name++) {
        long long grown = counter_growth(before, after, *name);

        if (grown > 0)
            verify_add(v, FINDING_COUNTER, host,
                       "%s port %d's counter %s has grown by %lld during the traffic (at most 0)",
                       d->name, after->number, *name, grown);
    }
    for (const char *const *name = congestion; *name; name++) {
        long long grown = counter_growth(before, after, *name);

        if (grown > 0)
            verify_add(v, FINDING_CONGESTION, host,
                       "%s port %d's counter %s has grown by %lld during the traffic", d->name,
                       after->number, *name, grown);
    }
}

void verify_counters(struct verify *v, const struct host_facts *later)
{
    for (int i = 0; i < v->c.hosts->count; i++) {
        for (int k = 0; k < later[i].device_count; k++) {
            const struct host_device *after = &later[i].devices[k];
            const struct host_device *before = host_facts_device(&v->survey.hosts[i], after->name);

            for (int n = 0; before && n < after->port_count; n++) {
                const struct host_port *port = host_facts_port(before, after->ports[n].number);

                if (port)
                    port_compare(v, i, after, port, &after->ports[n]);
            }
        }
    }
}
