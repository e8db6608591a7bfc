/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/topology_end.h"

#include <stdio.h>

const struct topology_device *topology_end_device(const struct topology_facts *f,
                                                  struct topology_end e)
{
    return &f->hosts[e.host].devices[e.device];
}

const struct topology_port *topology_end_port(const struct topology_facts *f, struct topology_end e)
{
    static const struct topology_port none = {.link_layer = ""};
    const struct topology_port *port = topology_answers_port(topology_end_device(f, e), e.port);

    return port ? port : &none;
}

int topology_end_stated(const struct topology_facts *f, int from, int to,
                        struct topology_end out[RDMA_RAILS])
{
    json_t *entry = json_array_get(json_array_get(f->config.stated, (size_t)from), (size_t)to);
    json_t *name;
    int count = 0;
    size_t i;

    json_array_foreach(entry, i, name)
    {
        const char *text = json_string_value(name);
        char device[PORT_NAME_DEVICE];
        struct topology_end e = {.host = from};

        if (count == RDMA_RAILS || !text || !port_name_split(text, device, &e.port))
            continue;
        e.device = topology_answers_device(&f->hosts[from], device);
        if (e.device >= 0)
            out[count++] = e;
    }
    return count;
}

/* only: that port alone; 0: all. */
static int ports_active(const struct topology_facts *f, struct topology_end e, int only,
                        struct topology_end out[TOPOLOGY_PORTS])
{
    const struct topology_device *d = topology_end_device(f, e);
    int count = 0;

    if (d->error)
        return 0;
    for (int i = 0; i < d->port_count && count < TOPOLOGY_PORTS; i++)
        if (d->ports[i].is_active && (!only || d->ports[i].number == only))
            out[count++] = (struct topology_end){e.host, e.device, d->ports[i].number};
    return count;
}

int topology_end_ports(const struct topology_facts *f, struct topology_end e,
                       struct topology_end out[TOPOLOGY_PORTS])
{
    return ports_active(f, e, e.port ? e.port : f->config.rdma.port, out);
}

int topology_end_active(const struct topology_facts *f, struct topology_end e)
{
    struct topology_end ports[TOPOLOGY_PORTS];

    return ports_active(f, e, 0, ports);
}

const struct topology_try *topology_end_try(const struct topology_facts *f, struct topology_end a,
                                            struct topology_end b)
{
    const struct topology_device *d = topology_end_device(f, a);

    for (int i = 0; i < d->try_count; i++) {
        const struct topology_try *t = &d->tries[i];

        if (t->host == b.host && t->device == b.device && t->port == a.port &&
            t->peer_port == b.port)
            return t;
    }
    return NULL;
}

static enum topology_meeting ports_meet(const struct topology_facts *f, struct topology_end a,
                                        struct topology_end b)
{
    const struct topology_try *there = topology_end_try(f, a, b), *back = topology_end_try(f, b, a);

    if (there && back && there->carries && back->carries)
        return TOPOLOGY_CARRIES;
    if (topology_end_port(f, a)->is_untried || topology_end_port(f, b)->is_untried)
        return TOPOLOGY_UNKNOWN;
    if (!there)
        return TOPOLOGY_NOTHING;
    return there->is_shared ? TOPOLOGY_SHARED : TOPOLOGY_TRIED;
}

enum topology_meeting topology_end_meet(const struct topology_facts *f, struct topology_end *a,
                                        struct topology_end *b)
{
    struct topology_end mine[TOPOLOGY_PORTS], theirs[TOPOLOGY_PORTS];
    int mine_count = topology_end_ports(f, *a, mine),
        theirs_count = topology_end_ports(f, *b, theirs);
    enum topology_meeting best = TOPOLOGY_NOTHING;

    if (mine_count)
        *a = mine[0];
    if (theirs_count)
        *b = theirs[0];
    for (int i = 0; i < mine_count; i++)
        for (int k = 0; k < theirs_count; k++) {
            enum topology_meeting found = ports_meet(f, mine[i], theirs[k]);

            if (found > best) {
                best = found;
                *a = mine[i];
                *b = theirs[k];
            }
        }
    return best;
}

const char *topology_end_name(const struct topology_facts *f, struct topology_end e,
                              char text[PORT_NAME_TEXT])
{
    int wanted = f->config.rdma.port;
    bool is_plain = topology_end_active(f, e) <= 1 && (!wanted || wanted == e.port);

    return port_name_format(text, topology_end_device(f, e)->name, is_plain ? 0 : e.port);
}

const char *topology_end_words(const struct topology_facts *f, struct topology_end e,
                               char text[TOPOLOGY_PORT_TEXT])
{
    const struct topology_device *d = topology_end_device(f, e);

    if (e.port && d->port_count > 1)
        snprintf(text, TOPOLOGY_PORT_TEXT, "%s port %d", d->name, e.port);
    else
        snprintf(text, TOPOLOGY_PORT_TEXT, "%s", d->name);
    return text;
}

const char *topology_end_full(const struct topology_facts *f, struct topology_end e,
                              const struct topology_gid *gid, char text[TOPOLOGY_END_TEXT])
{
    const char *device = topology_end_device(f, e)->name;
    const struct topology_port *p = topology_end_port(f, e);

    if (gid && gid->text[0])
        snprintf(text, TOPOLOGY_END_TEXT, "%s port %d (GID %d, %s)", device, e.port, gid->index,
                 gid->text);
    else if (p->is_infiniband)
        snprintf(text, TOPOLOGY_END_TEXT, "%s port %d (LID %d)", device, e.port, p->lid);
    else
        snprintf(text, TOPOLOGY_END_TEXT, "%s port %d", device, e.port);
    return text;
}
