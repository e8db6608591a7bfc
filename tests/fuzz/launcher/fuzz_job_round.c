/* SPDX-License-Identifier: MIT */
/*
 * fuzz_job_round.c: any bytes as what the agents of a job's three hosts send, in any order, while
 * the job runs. The first byte of the input chooses the backend, the rest is a script
 * (script_channel.h). Once all channels have ended the run is over, with an exit status.
 */
#include "tests/fuzz/launcher/script_round.h"

#include <event2/event.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_base *base = event_base_new();
    struct job_round *r =
        script_round_run(base, size && (data[0] & 1), data + (size > 0), size - (size > 0));
    struct job_round_result result;

    job_round_report(r);
    job_round_result(r, &result);
    if (result.status < 0 || result.status > 255)
        abort();
    job_round_destroy(r);
    event_base_free(base);
    return 0;
}
