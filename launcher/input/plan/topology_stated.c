/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/topology_stated.h"

static const char *first_device(const struct host *h)
{
    for (int i = 0; h->rdma && i < h->rdma_count; i++)
        if (h->rdma[i] && h->rdma[i][0])
            return h->rdma[i][0];
    return NULL;
}

/* --rdma-device: one device everywhere. */
static json_t *uniform_row(const struct plan *p, int host)
{
    json_t *row = json_array();

    for (int i = 0; i < p->where->host_count; i++)
        json_array_append_new(row, i == host && !p->job.local_net
                                       ? json_null()
                                       : json_pack("[s]", p->options->rdma_device));
    return row;
}

static json_t *name_list(char *const *names)
{
    json_t *array = json_array();

    for (; *names; names++)
        json_array_append_new(array, json_string(*names));
    return array;
}

static json_t *host_row(const struct plan *p, int host)
{
    const struct host *h = plan_host(p, host);
    json_t *row = json_array();

    for (int i = 0; i < p->where->host_count; i++) {
        int column = p->where->hosts[i];
        bool is_wired = i != host && h->rdma && column < h->rdma_count && h->rdma[column];

        /* --local net: its first device joins ranks of one host. */
        if (i == host && p->job.local_net && first_device(h)) {
            json_array_append_new(row, json_pack("[s]", first_device(h)));
            continue;
        }
        json_array_append_new(row, is_wired ? name_list(h->rdma[column]) : json_null());
    }
    return row;
}

void topology_stated_move(json_t *matrix, const struct plan *p, int host)
{
    json_t *stated = topology_stated(p);

    for (int i = 0; i < p->where->host_count; i++) {
        json_t *there = json_array_get(json_array_get(stated, (size_t)host), (size_t)i);
        json_t *back = json_array_get(json_array_get(stated, (size_t)i), (size_t)host);

        json_array_set_new(json_array_get(matrix, (size_t)host), (size_t)i,
                           there ? json_incref(there) : json_null());
        json_array_set_new(json_array_get(matrix, (size_t)i), (size_t)host,
                           back ? json_incref(back) : json_null());
    }
    json_decref(stated);
}

json_t *topology_stated(const struct plan *p)
{
    json_t *matrix;

    for (int i = 0; i < p->where->host_count && !p->options->rdma_device; i++) {
        if (!plan_host(p, i)->rdma)
            return NULL;
    }
    matrix = json_array();
    for (int i = 0; i < p->where->host_count; i++)
        json_array_append_new(matrix, p->options->rdma_device ? uniform_row(p, i) : host_row(p, i));
    return matrix;
}
