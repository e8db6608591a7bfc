/* SPDX-License-Identifier: MIT */
#include "step_worker.h"

#include "step.h"

int step_worker_run(struct lead *l)
{
    struct step s = {0};
    int rc;

    for (;;) {
        rc = step_share(l, &s);
        if (rc || s.kind == STEP_END)
            return rc;
        if (s.kind == STEP_READ)
            rc = step_read(l, NULL);
        else if (s.kind == STEP_CALLS)
            rc = step_calls(l);
        else if (s.kind == STEP_ROWS && step_is_valid(l, &s))
            rc = step_compute(l, &s, NULL);
        else if (s.kind != STEP_NOTHING)
            rc = ML_ERR_ARGUMENT; /* rank 0 checks its rows before it sends them */
        if (rc)
            return rc;
    }
}
