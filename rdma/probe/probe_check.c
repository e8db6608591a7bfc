/* SPDX-License-Identifier: MIT */
#include "rdma/probe/probe_check.h"

#include "rdma/probe/describe.h"
#include "rdma/verbs/port.h"

json_t *probe_check(const char *name, const struct probe_choice *c)
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
                                   p->device, p->number, c->gid_index));
    port_close(p);
    return report;
}
