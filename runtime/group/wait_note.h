/* SPDX-License-Identifier: MIT */
/*
 * wait_note.h: the file JOB_DIR/rank.N.waiting.GROUP, which exists while a call of that group has
 * been waiting for more than a moment. It is one JSON object, an element of "waits" in the ANSWER
 * of doc/protocol.md, and says which call waits for which ranks; `mlaunch ps JOB --stacks` shows
 * it. Errors are ignored: nothing depends on the file.
 */
#ifndef RUNTIME_GROUP_WAIT_NOTE_H
#define RUNTIME_GROUP_WAIT_NOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct group;
struct world;

/* `signature`: the call in words. */
void wait_note_leave(const struct group *g, const char *signature);
void wait_note_remove(const struct group *g);

/* The same of a call that waits elsewhere than in wait.c. Any thread. */
struct waiting_call {
    const char *name, *text; /* "window_free", and all of it in words */
    uint32_t seq;            /* equal of all ranks that make the call; 0: it is this rank's alone */
    json_t *peers;           /* the world ranks that it waits for; none: all or any */
};
void wait_note_leave_call(const struct group *g, const struct waiting_call *c);

/* The same of ml_init while there is no group: it waits for all ranks. */
void wait_note_leave_init(const struct world *w);
void wait_note_remove_init(const struct world *w);

/* A wait elsewhere than in wait.c, of g->call, for all members: {0} at first. *_deadline is when to
 * end a sleep that is to last until deadline_ms (clock_ms; -1: without end). *_look, after it,
 * leaves the note when it is due, and is true then. */
struct wait_noted {
    int64_t due_ms;
    bool is_left;
};
int64_t wait_noted_deadline(struct wait_noted *n, int64_t deadline_ms);
bool wait_noted_look(struct wait_noted *n, const struct group *g);
/* The same of a call that is not g->call. */
bool wait_noted_look_call(struct wait_noted *n, const struct group *g,
                          const struct waiting_call *c);
void wait_noted_end(const struct wait_noted *n, const struct group *g);

/* Where in the program the call is, cut off at its beginning if it is long, or "". */
enum { WAIT_NOTE_SITE = 128 };
void wait_note_site(char out[WAIT_NOTE_SITE], const struct group *g);

/* "recv_tag of tag 7 from rank 5", "probe of any tag from any rank": g->awaited; the rank's number
 * only if it `names_rank`. False, and the text is empty: no such call waits. */
enum { WAIT_NOTE_TAG = 64 };
bool wait_note_tag(char out[WAIT_NOTE_TAG], const struct group *g, bool names_rank);

#endif
