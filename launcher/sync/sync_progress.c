/* SPDX-License-Identifier: MIT */
#include "launcher/sync/sync_progress.h"

#include "common/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { FIRST_MS = 500 }; /* what is over sooner needs no line */

void sync_progress_open(struct sync_progress *p, bool is_wanted)
{
    *p = (struct sync_progress){.is_shown = is_wanted && isatty(STDERR_FILENO)};
}

const char *sync_progress_size(char text[32], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double number = (double)bytes;
    int unit = 0;

    for (; number >= 1000 && unit < 4; unit++)
        number /= 1000;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", number, units[unit]);
    return text;
}

void sync_progress_show(struct sync_progress *p, uint64_t at, uint64_t total)
{
    char done[32], all[32], rate[32];
    int64_t past_ms, left_s;
    double per_s;

    if (!p->is_shown || total == 0)
        return;
    if (total != p->total) {
        p->total = total;
        p->begun_ms = clock_ms();
    }
    past_ms = clock_ms() - p->begun_ms;
    if (past_ms < FIRST_MS)
        return;
    at = at > total ? total : at;
    per_s = (double)at * 1000 / (double)past_ms;
    left_s = per_s > 0 ? (int64_t)((double)(total - at) / per_s + 0.999) : 0;
    fprintf(stderr, "\r\033[K%s of %s, %d %%, %s/s, %d:%02d left", sync_progress_size(done, at),
            sync_progress_size(all, total), (int)(at * 100 / total),
            sync_progress_size(rate, (uint64_t)per_s), (int)(left_s / 60), (int)(left_s % 60));
    p->is_there = true;
}

void sync_progress_hide(struct sync_progress *p)
{
    if (p->is_there)
        fputs("\r\033[K", stderr);
    p->is_there = false;
}
