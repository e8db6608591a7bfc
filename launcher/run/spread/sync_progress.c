/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/sync_progress.h"

#include "common/clock.h"
#include "common/text/number.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    FIRST_MS = 500, /* what is over sooner needs no line */
    COLUMNS = 80,   /* for a terminal that does not say */
    LONG_S = 604800,
};

void sync_progress_open(struct sync_progress *p, bool is_wanted)
{
    *p = (struct sync_progress){.is_shown = is_wanted && isatty(STDERR_FILENO)};
}

/* "3:05", "2:03:05" */
static void time_text(char text[32], int64_t s)
{
    int hours = (int)(s / 3600), minutes = (int)(s / 60 % 60), seconds = (int)(s % 60);

    if (hours)
        snprintf(text, 32, "%d:%02d:%02d", hours, minutes, seconds);
    else
        snprintf(text, 32, "%d:%02d", minutes, seconds);
}

void sync_progress_text(char out[SYNC_PROGRESS], uint64_t at, uint64_t total, int64_t past_ms,
                        int columns)
{
    char done[32], all[32], rate[32], left[32] = "?", forms[4][SYNC_PROGRESS];
    double per_s = past_ms > 0 ? (double)at * 1000 / (double)past_ms : 0;
    int percent = (int)((double)at * 100 / (double)total);

    /* Beyond a week it is no more than a guess. */
    if (per_s > 0 && (double)(total - at) / per_s < LONG_S)
        time_text(left, (int64_t)((double)(total - at) / per_s + 0.999));
    number_size(done, at);
    number_size(all, total);
    number_size(rate, (uint64_t)per_s);
    snprintf(forms[0], SYNC_PROGRESS, "%s of %s, %d %%, %s/s, %s left", done, all, percent, rate,
             left);
    snprintf(forms[1], SYNC_PROGRESS, "%d %%, %s/s, %s left", percent, rate, left);
    snprintf(forms[2], SYNC_PROGRESS, "%d %%, %s left", percent, left);
    snprintf(forms[3], SYNC_PROGRESS, "%d %%", percent);
    out[0] = '\0';
    for (int i = 0; i < 4 && !out[0]; i++)
        if ((int)strlen(forms[i]) < columns) /* in the last column some terminals go on below */
            memcpy(out, forms[i], sizeof(forms[i]));
}

/* The terminal may be another size each time. */
static int columns_find(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : COLUMNS;
}

void sync_progress_show(struct sync_progress *p, uint64_t at, uint64_t total)
{
    char text[SYNC_PROGRESS];
    int64_t past_ms;

    if (!p->is_shown || total == 0)
        return;
    if (total != p->total) {
        p->total = total;
        p->begun_ms = clock_ms();
    }
    past_ms = clock_ms() - p->begun_ms;
    if (past_ms < FIRST_MS)
        return;
    sync_progress_text(text, at > total ? total : at, total, past_ms, columns_find());
    fprintf(stderr, "\r\033[K%s", text);
    p->is_there = true;
}

void sync_progress_hide(struct sync_progress *p)
{
    if (p->is_there)
        fputs("\r\033[K", stderr);
    p->is_there = false;
}
