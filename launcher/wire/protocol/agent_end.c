/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/agent_end.h"

#include "common/status.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>

void agent_end_describe(char *text, size_t size, int status, const char *signal, const char *words)
{
    char how[64];

    if (signal)
        snprintf(how, sizeof(how), "was killed by SIG%s", signal);
    else if (status == AGENT_EXIT_NOT_OURS)
        snprintf(how, sizeof(how), "is another build than this mlaunch");
    else if (status > STATUS_SIGNAL && status < STATUS_SIGNAL + 65) /* reported by a shell */
        snprintf(how, sizeof(how), "was killed by signal %d", status - STATUS_SIGNAL);
    else
        snprintf(how, sizeof(how), "ended with status %d", status);
    snprintf(text, size, "the agent %s%s%s", how, *words ? "; end of its standard error: " : "",
             words);
}
