/* SPDX-License-Identifier: MIT */
/*
 * fuzz_job_round.c: any bytes as what the agents of a job's three hosts send, in any order, while
 * the job runs. The first byte of the input chooses the backend, --elastic, or that the hosts
 * are independent, so that each rank has one result; the rest is a script
 * (script_channel.h). Once all channels have ended the run is over, with an exit status.
 */
#include "tests/fuzz/launcher/script_round.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>

enum { RANKS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_rank_end(int rank, int status, void *arg)
{
    if (rank < 0 || rank >= RANKS || status < 0 || status > 255)
        abort();
    ((int *)arg)[rank]++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_base *base = event_base_new();
    int ended[RANKS] = {0};
    const struct rank_results results = {on_rank_end, ended};
    bool are_independent = size && (data[0] & 2);
    enum script_job job = !size || are_independent ? SCRIPT_TCP
                          : data[0] & 4            ? SCRIPT_ELASTIC
                          : data[0] & 1            ? SCRIPT_RDMA
                                                   : SCRIPT_TCP;
    struct job_round *r = script_round_run(base, job, are_independent ? &results : NULL,
                                           data + (size > 0), size - (size > 0));
    struct job_round_result result;

    job_round_report(r);
    job_round_result(r, &result);
    if (result.status < 0 || result.status > 255)
        abort();
    for (int i = 0; i < RANKS; i++) {
        if (ended[i] != are_independent)
            abort();
    }
    job_round_destroy(r);
    event_base_free(base);
    return 0;
}
