/* SPDX-License-Identifier: MIT */
#include "launcher/ask/job_state.h"

#include "common/text/object_field.h"

#include <stdio.h>

char *job_state_text(char out[JOB_STATE_TEXT], const json_t *job)
{
    const char *state = object_field_text(job, "state");
    long long members = object_field_whole(job, "members"),
              membership = object_field_whole(job, "membership");

    if (membership > 0)
        snprintf(out, JOB_STATE_TEXT, "%.20s, %lld member%s (membership %lld)", state, members,
                 members == 1 ? "" : "s", membership);
    else
        snprintf(out, JOB_STATE_TEXT, "%.20s", state);
    return out;
}
