/* SPDX-License-Identifier: MIT */
/* sync_progress.h: a line on the terminal: how much has come to the slowest host, how fast, and how
 * long it will take. */
#ifndef LAUNCHER_RUN_SPREAD_SYNC_PROGRESS_H
#define LAUNCHER_RUN_SPREAD_SYNC_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sync_progress {
    bool is_shown, is_there; /* is_there: there is a line to be removed */
    int64_t begun_ms;
    uint64_t total; /* for the round it was begun for */
};

/* Shows nothing unless `is_wanted` and standard error is a terminal. */
void sync_progress_open(struct sync_progress *p, bool is_wanted);
void sync_progress_show(struct sync_progress *p, uint64_t at, uint64_t total);
void sync_progress_hide(struct sync_progress *p); /* before anything else is printed */

/* What the line says after `past_ms`, with as much of it as fits below `columns`. */
enum { SYNC_PROGRESS = 160 };
void sync_progress_text(char out[SYNC_PROGRESS], uint64_t at, uint64_t total, int64_t past_ms,
                        int columns);

#endif
