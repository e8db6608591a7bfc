/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/progress_line.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 200 /* a quicker start shows no progress line */ };

struct progress_line {
    struct output *output;
    struct event *timer;
    int done, total;
    bool is_shown;
};

static void line_show(struct progress_line *p)
{
    char text[64];

    snprintf(text, sizeof(text), "connecting %d/%d …", p->done, p->total);
    output_progress(p->output, text);
    p->is_shown = true;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    line_show(arg);
}

int progress_line_start(struct progress_line **out, struct event_base *base, struct output *output,
                        int total, struct fault *why)
{
    const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000};
    struct progress_line *p;

    *out = NULL;
    if (!output_has_terminal(output))
        return 0;
    p = calloc(1, sizeof(*p));
    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    p->output = output;
    p->total = total;
    p->timer = evtimer_new(base, on_timer, p);
    if (!p->timer || evtimer_add(p->timer, &patience)) {
        progress_line_stop(p);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *out = p;
    return 0;
}

void progress_line_step(struct progress_line *p)
{
    if (!p)
        return;
    p->done++;
    if (p->is_shown)
        line_show(p);
}

void progress_line_stop(struct progress_line *p)
{
    if (!p)
        return;
    if (p->is_shown)
        output_progress(p->output, NULL);
    if (p->timer)
        event_free(p->timer);
    free(p);
}
