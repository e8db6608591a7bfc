/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/job_spec_change.h"

#include "common/net/host_table.h"

#include <stdlib.h>
#include <string.h>

/* The list with `text` at `index`, which may be its end. It holds its texts: it is made anew. */
static int text_put(const char ***list, int count, int index, const char *text, struct fault *why)
{
    int more = index == count ? count + 1 : count, rc = ML_ERR_MEMORY;
    const char **all = calloc((size_t)more, sizeof(*all)), **made;
    json_t *texts = NULL;

    if (all) {
        memcpy(all, *list, (size_t)count * sizeof(*all));
        all[index] = text;
        texts = host_table_write_texts(all, more);
    }
    if (texts)
        rc = host_table_read_texts(&made, texts, more);
    json_decref(texts);
    free(all);
    if (rc)
        return fault_set(why, rc, "out of memory");
    free(*list);
    *list = made;
    return 0;
}

int job_spec_change_place(struct job_spec *m, int host, const char *name, const char *address,
                          struct fault *why)
{
    int rc;

    if (host < 0 || host > m->hosts || host >= m->hosts_most)
        return fault_set(why, ML_ERR_REFUSED, "the launcher's PLACED is invalid");
    rc = m->addresses ? text_put(&m->addresses, m->hosts, host, address, why) : 0;
    if (!rc)
        rc = text_put(&m->host_names, m->hosts, host, name, why);
    if (!rc)
        m->hosts += host == m->hosts;
    return rc;
}

int job_spec_change_grow(struct job_spec *m, uint32_t rank, uint32_t host, uint32_t app,
                         struct fault *why)
{
    int *more;

    if (rank != (uint32_t)m->size || m->size >= m->most || host >= (uint32_t)m->hosts ||
        app >= (uint32_t)m->app_count)
        return fault_set(why, ML_ERR_REFUSED, "the launcher's GROW is invalid");
    more = realloc(m->host_of, ((size_t)m->size + 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->host_of = more;
    m->host_of[m->size++] = (int)host;
    if (host == (uint32_t)m->host) {
        m->ranks[m->rank_count] = (struct job_rank){
            .rank = (int)rank, .local_rank = m->rank_count, .app = (int)app, .wrap = -1};
        m->rank_count++;
    }
    return 0;
}
