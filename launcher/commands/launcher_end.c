/* SPDX-License-Identifier: MIT */
#include "launcher/commands/launcher_end.h"

#include "common/failure_times.h"
#include "launcher/base/process/signal_sender.h"

#include <signal.h>

int launcher_end(const struct register_found *f, struct fault *why)
{
    const struct job_file *file = &f->entry.file;
    const int waits_ms[] = {file->grace_ms + KILL_MARGIN_MS, KILL_LAST_MS};

    for (int i = 0; i < 2; i++) {
        /* The second one means SIGKILL to the ranks at once. */
        if (job_register_signal(f, SIGTERM))
            return 0;                    /* it has ended meanwhile */
        job_register_signal(f, SIGCONT); /* it may have been stopped */
        if (job_register_await(f, waits_ms[i]))
            return 0;
    }
    return fault_set(why, ML_ERR_STATE,
                     "its mlaunch, process %lld, has not ended; kill -KILL %lld ends it, and then "
                     "its agents end the ranks",
                     (long long)file->agent_pid, (long long)file->agent_pid);
}

int launcher_ask(const struct register_found *f, struct fault *why)
{
    if (job_register_signal_value(f, SIGUSR1, SIGNAL_SENDER_ASKS_STOP))
        return fault_set(why, ML_ERR_STATE, "it has just ended");
    return 0;
}
