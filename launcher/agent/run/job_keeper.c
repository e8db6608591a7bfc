/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/job_keeper.h"

#include "common/text/signal_text.h"
#include "common/text/text_json.h"
#include "launcher/agent/keeper/keeper_child.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>
#include <sys/wait.h>

enum { ENDED_MOST = 10 }; /* then no other one is started */

int job_keeper_open(struct agent *a, struct fault *why)
{
    return a->run.job->options.keep > 1
               ? keeper_child_start(&a->run.keeper.pid, a->run.keeper.address, a->run.job,
                                    a->directory.path, a->run.place.bind_ip, why)
               : 0;
}

void job_keeper_again(struct agent *a, int status)
{
    char killed[SIGNAL_TEXT], how[SIGNAL_TEXT + 40],
        text[sizeof(((struct fault *)NULL)->text) + 300];
    struct fault why;
    int rc;

    a->run.keeper.pid = 0;
    if (a->run.stop.is_active || a->run.state == AGENT_IS_DONE)
        return;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "%s", signal_text_killed(killed, WTERMSIG(status)));
    else
        snprintf(how, sizeof(how), "exited with status %d", WEXITSTATUS(status));
    rc = ++a->run.keeper.ended < ENDED_MOST
             ? job_keeper_open(a, &why)
             : fault_set(&why, ML_ERR_SYSTEM, "%d have ended so", ENDED_MOST);
    if (rc)
        a->run.keeper.address[0] = '\0';
    snprintf(text, sizeof(text), "the process that holds copies for another host (--keep 2) %s%s%s",
             how, rc ? ", and cannot be replaced: " : "; another one takes its place",
             rc ? why.text : "");
    if (a->run.state < AGENT_IS_READY) { /* READY will say where it listens */
        job_report_note(a, "warn", text);
        return;
    }
    frame_stream_send_json(
        a->launcher.channel, AGENT_KEEPS,
        json_pack("{ss so}", "keeper", a->run.keeper.address, "text", text_json(text)));
}

void job_keeper_close(struct agent *a)
{
    keeper_child_end(a->run.keeper.pid);
    a->run.keeper.pid = 0;
}
