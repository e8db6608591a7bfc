/* SPDX-License-Identifier: MIT */
#include "launcher/run/rdma_topology/wiring_end.h"

#include <stdio.h>

const struct wiring_device *wiring_end_device(const struct wiring_facts *f, struct wiring_end e)
{
    return &f->hosts[e.host].devices[e.device];
}

const struct wiring_port *wiring_end_port(const struct wiring_facts *f, struct wiring_end e)
{
    static const struct wiring_port none = {.link_layer = ""};
    const struct wiring_port *port = wiring_answers_port(wiring_end_device(f, e), e.port);

    return port ? port : &none;
}

int wiring_end_stated(const struct wiring_facts *f, int from, int to,
                      struct wiring_end out[RDMA_RAILS])
{
    json_t *entry = json_array_get(json_array_get(f->config.stated, (size_t)from), (size_t)to);
    json_t *name;
    int count = 0;
    size_t i;

    json_array_foreach(entry, i, name)
    {
        const char *text = json_string_value(name);
        char device[PORT_NAME_DEVICE];
        struct wiring_end e = {.host = from};

        if (count == RDMA_RAILS || !text || !port_name_split(text, device, &e.port))
            continue;
        e.device = wiring_answers_device(&f->hosts[from], device);
        if (e.device >= 0)
            out[count++] = e;
    }
    return count;
}

/* only: that port alone; 0: all. */
static int ports_active(const struct wiring_facts *f, struct wiring_end e, int only,
                        struct wiring_end out[WIRING_PORTS])
{
    const struct wiring_device *d = wiring_end_device(f, e);
    int count = 0;

    if (d->error)
        return 0;
    for (int i = 0; i < d->port_count && count < WIRING_PORTS; i++)
        if (d->ports[i].is_active && (!only || d->ports[i].number == only))
            out[count++] = (struct wiring_end){e.host, e.device, d->ports[i].number};
    return count;
}

int wiring_end_ports(const struct wiring_facts *f, struct wiring_end e,
                     struct wiring_end out[WIRING_PORTS])
{
    return ports_active(f, e, e.port ? e.port : f->config.rdma.port, out);
}

int wiring_end_active(const struct wiring_facts *f, struct wiring_end e)
{
    struct wiring_end ports[WIRING_PORTS];

    return ports_active(f, e, 0, ports);
}

const struct wiring_try *wiring_end_try(const struct wiring_facts *f, struct wiring_end a,
                                        struct wiring_end b)
{
    const struct wiring_device *d = wiring_end_device(f, a);

    for (int i = 0; i < d->try_count; i++) {
        const struct wiring_try *t = &d->tries[i];

        if (t->host == b.host && t->device == b.device && t->port == a.port &&
            t->peer_port == b.port)
            return t;
    }
    return NULL;
}

static enum wiring_meeting ports_meet(const struct wiring_facts *f, struct wiring_end a,
                                      struct wiring_end b)
{
    const struct wiring_try *there = wiring_end_try(f, a, b), *back = wiring_end_try(f, b, a);

    if (there && back && there->carries && back->carries)
        return WIRING_CARRIES;
    if (wiring_end_port(f, a)->is_untried || wiring_end_port(f, b)->is_untried)
        return WIRING_UNKNOWN;
    if (!there)
        return WIRING_NOTHING;
    return there->is_shared ? WIRING_SHARED : WIRING_TRIED;
}

enum wiring_meeting wiring_end_meet(const struct wiring_facts *f, struct wiring_end *a,
                                    struct wiring_end *b)
{
    struct wiring_end mine[WIRING_PORTS], theirs[WIRING_PORTS];
    int mine_count = wiring_end_ports(f, *a, mine), theirs_count = wiring_end_ports(f, *b, theirs);
    enum wiring_meeting best = WIRING_NOTHING;

    if (mine_count)
        *a = mine[0];
    if (theirs_count)
        *b = theirs[0];
    for (int i = 0; i < mine_count; i++)
        for (int k = 0; k < theirs_count; k++) {
            enum wiring_meeting found = ports_meet(f, mine[i], theirs[k]);

            if (found > best) {
                best = found;
                *a = mine[i];
                *b = theirs[k];
            }
        }
    return best;
}

const char *wiring_end_name(const struct wiring_facts *f, struct wiring_end e,
                            char text[PORT_NAME_TEXT])
{
    int wanted = f->config.rdma.port;
    bool is_plain = wiring_end_active(f, e) <= 1 && (!wanted || wanted == e.port);

    return port_name_format(text, wiring_end_device(f, e)->name, is_plain ? 0 : e.port);
}

const char *wiring_end_words(const struct wiring_facts *f, struct wiring_end e,
                             char text[WIRING_PORT_TEXT])
{
    const struct wiring_device *d = wiring_end_device(f, e);

    if (e.port && d->port_count > 1)
        snprintf(text, WIRING_PORT_TEXT, "%s port %d", d->name, e.port);
    else
        snprintf(text, WIRING_PORT_TEXT, "%s", d->name);
    return text;
}

const char *wiring_end_full(const struct wiring_facts *f, struct wiring_end e,
                            const struct wiring_gid *gid, char text[WIRING_END_TEXT])
{
    const char *device = wiring_end_device(f, e)->name;
    const struct wiring_port *p = wiring_end_port(f, e);

    if (gid && gid->text[0])
        snprintf(text, WIRING_END_TEXT, "%s port %d (GID %d, %s)", device, e.port, gid->index,
                 gid->text);
    else if (p->is_infiniband)
        snprintf(text, WIRING_END_TEXT, "%s port %d (LID %d)", device, e.port, p->lid);
    else
        snprintf(text, WIRING_END_TEXT, "%s port %d", device, e.port);
    return text;
}
