/* SPDX-License-Identifier: MIT */
/* wait_note.h: JOB_DIR/rank.N.waiting.GROUP, while a call of that group has waited for more than a moment: which call, and
 * for whom. `mlaunch ps JOB --stacks` shows it. What fails, fails: nothing depends on it. */
#ifndef RUNTIME_GROUP_WAIT_NOTE_H
#define RUNTIME_GROUP_WAIT_NOTE_H

struct group;

/* `signature`: the call in words. */
void wait_note_leave(const struct group *g, const char *signature);
void wait_note_remove(const struct group *g);

#endif
