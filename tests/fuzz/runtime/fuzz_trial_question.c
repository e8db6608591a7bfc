/* SPDX-License-Identifier: MIT */
/*
 * fuzz_trial_question.c: any bytes as the question for mlaunch-probe, which holds what all other
 * hosts have said of their ports.
 */
#include "rdma/probe/trial_candidates.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_device(const struct trial_question *q, const char *device)
{
    static struct trial_candidates c;

    trial_candidates_find(&c, q, device);
    if (c.count < 0 || c.count > TRIAL_CANDIDATES || json_array_size(c.tries) != (size_t)c.count)
        abort();
    json_decref(c.tries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trial_question q;

    trial_question_read(&q, json_loadb((const char *)data, size, 0, NULL));
    if (q.host >= q.host_count || q.host < -1)
        abort();
    for (int i = 0; i < q.host_count; i++)
        for (int k = 0; k < q.hosts[i].count; k++)
            if (!q.hosts[i].ports[k].device || q.hosts[i].ports[k].gid_count > GID_MOST)
                abort();
    check_device(&q, "m");
    trial_question_clear(&q);
    return 0;
}
