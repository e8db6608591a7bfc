/* SPDX-License-Identifier: MIT */
#include "launcher/tools/top/top_run.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/ask/started_here.h"
#include "launcher/tools/top/top_sampler.h"
#include "launcher/tools/top/top_text.h"

#include <event2/event.h>
#include <stdio.h>
#include <time.h>

enum { STATUS_NOT_THERE = 1 };

struct top_batch {
    struct event_base *base;
    const struct query_command *c;
    struct top_sampler *sampler;
    struct top_choice choice;
    int every_s, samples, left;
    int missing;
    size_t jobs;
    int rc;
    struct fault *why;
};

static void rows_print(const struct top_batch *b, const struct top_rows *rows)
{
    char clock[64] = "", text[TOP_TEXT];
    time_t now = time(NULL);
    struct tm local;
    struct top_moment m = {clock_ns(), clock, b->every_s, &b->choice};
    struct top_widths widths;

    if (localtime_r(&now, &local))
        strftime(clock, sizeof(clock), "%F %T", &local);
    top_text_head(text, rows, &m);
    puts(text);
    top_widths_find(&widths, rows);
    for (size_t i = 0; i < rows->count; i++) {
        top_text_row(text, &rows->rows[i], &widths, &m);
        puts(text);
    }
}

/* How many of the hosts that the user has named have not answered. */
static int missing_count(const struct top_batch *b)
{
    const struct top_host *hosts = top_sampler_hosts(b->sampler);
    int missing = 0;

    for (int i = 0; i < b->c->hosts->count - b->c->guests; i++)
        missing += hosts[i].said == NULL;
    return missing;
}

static int view_print(struct top_batch *b)
{
    struct top_rows rows;
    int rc =
        top_rows_make(&rows, top_sampler_hosts(b->sampler), b->c->hosts->count, &b->choice, b->why);

    if (rc)
        return rc;
    rows_print(b, &rows);
    b->missing = missing_count(b);
    b->jobs = rows.whole_count;
    top_rows_clear(&rows);
    if (--b->left > 0)
        putchar('\n');
    else
        event_base_loopbreak(b->base);
    if (fflush(stdout)) /* main() reports it */
        event_base_loopbreak(b->base);
    return 0;
}

static void batch_on_change(bool is_whole, void *arg)
{
    struct top_batch *b = arg;

    if (!is_whole || b->left == 0 || b->samples++ == 0)
        return;
    b->rc = view_print(b);
    if (b->rc)
        event_base_loopbreak(b->base);
}

/* A job that was started here may be between two runs, or its hosts silent. */
static void absence_say(const struct query_command *c)
{
    struct fault why;

    if (started_here_explain(&why, &c->here, c->job, "show"))
        log_error("%s", why.text);
    else
        log_error("there is no job %s here; mlaunch ps lists all", c->job);
}

int top_batch_run(struct event_base *base, const struct query_command *c, int every_s, int views,
                  enum top_column column, int *status, struct fault *why)
{
    struct top_batch b = {.base = base,
                          .c = c,
                          .every_s = every_s,
                          .left = views,
                          .choice = {.column = column},
                          .why = why};
    int rc = top_sampler_open(&b.sampler, base, c, every_s, batch_on_change, &b, why);

    if (!rc) {
        event_base_dispatch(base);
        rc = b.rc;
    }
    top_sampler_close(b.sampler);
    *status = b.missing ? STATUS_OURS : 0;
    if (!rc && !b.missing && *c->job && b.jobs == 0) {
        absence_say(c);
        *status = STATUS_NOT_THERE;
    }
    return rc;
}
