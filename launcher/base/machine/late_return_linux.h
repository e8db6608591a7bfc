/* SPDX-License-Identifier: MIT */
/*
 * late_return_linux.h: an agent that was stopped, or whose machine slept, for so long that mlaunch
 * may have given its ranks' places away. In a job that outlives hosts (--elastic) the ranks are
 * held then, before they take another step, until mlaunch is heard again or is known to be gone.
 * The time is that of CLOCK_BOOTTIME, which counts the machine's sleep.
 */
#ifndef LAUNCHER_BASE_MACHINE_LATE_RETURN_LINUX_H
#define LAUNCHER_BASE_MACHINE_LATE_RETURN_LINUX_H

#include <stdint.h>

struct late_return { /* begins as zeros */
    int64_t looked_ms;
    int64_t held_ms; /* since when the ranks are held; 0: they are not */
};

enum late_return_order {
    LATE_RETURN_NOTHING,
    LATE_RETURN_HOLD,  /* SIGSTOP to the ranks */
    LATE_RETURN_GO_ON, /* SIGCONT: mlaunch is there */
    LATE_RETURN_END    /* SIGKILL: it is not */
};

enum late_return_event {
    LATE_RETURN_TICK,  /* some time has passed: at least each AGENT_TICK_MS */
    LATE_RETURN_FRAME, /* mlaunch has sent something, perhaps long ago */
    LATE_RETURN_CHANNEL_END
};

/* Call it before anything else that follows from the event. now_ms: late_return_now(). */
enum late_return_order late_return_look(struct late_return *l, enum late_return_event event,
                                        int64_t now_ms);
int64_t late_return_now(void);

#endif
