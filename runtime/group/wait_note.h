/* SPDX-License-Identifier: MIT */
/*
 * wait_note.h: the file JOB_DIR/rank.N.waiting.GROUP, which exists while a call of that group has
 * been waiting for more than a moment. It is one JSON object, an element of "waits" in the ANSWER
 * of doc/protocol.md, and says which call waits for which ranks; `mlaunch ps JOB --stacks` shows
 * it. Errors are ignored: nothing depends on the file.
 */
#ifndef RUNTIME_GROUP_WAIT_NOTE_H
#define RUNTIME_GROUP_WAIT_NOTE_H

#include <stdbool.h>

struct group;

/* `signature`: the call in words. */
void wait_note_leave(const struct group *g, const char *signature);
void wait_note_remove(const struct group *g);

/* Where in the program the call is, cut off at its beginning if it is long, or "". */
enum { WAIT_NOTE_SITE = 128 };
void wait_note_site(char out[WAIT_NOTE_SITE], const struct group *g);

/* "recv_tag of tag 7 from rank 5", "probe of any tag from any rank": g->awaited; the rank's number
 * only if it `names_rank`. False, and the text is empty: no such call waits. */
enum { WAIT_NOTE_TAG = 64 };
bool wait_note_tag(char out[WAIT_NOTE_TAG], const struct group *g, bool names_rank);

#endif
