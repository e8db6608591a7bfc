/* SPDX-License-Identifier: MIT */
/*
 * coord_events.h: the connection to the coordinator, and waiting for what it tells this process,
 * which coord_news.c keeps for the groups that it concerns. Whichever thread waits reads for all of
 * them, counts the frames (coord_events_serial) and rings the bells of the other groups. Any thread
 * may call any function, but a group's inbox is emptied only by the thread that uses the group.
 */
#ifndef RUNTIME_GROUP_COORD_EVENTS_H
#define RUNTIME_GROUP_COORD_EVENTS_H

#include "common/fault.h"
#include "coordinator/client.h"
#include "runtime/group/group.h"

#include <jansson.h>
#include <stdbool.h>

struct coord_events;

/* Takes over the connection `c`, but not in error. NULL: this process was not launched, and has no
 * coordinator. `dir` is the job's directory, copied; NULL: ranks of this host share no copies.
 * ML_ERR_MEMORY. */
int coord_events_open(struct coord_events **out, struct client *c, int size, const char *dir,
                      struct fault *why);
void coord_events_close(struct coord_events *e); /* takes NULL */
/* The coordinator is lost, and there is another one: takes over the connection `c` to it. */
void coord_events_move(struct coord_events *e, struct client *c);

int coord_events_fd(const struct coord_events *
                        e); /* to poll: readable when coord_events_read is due; -1: none, or lost */
uint32_t coord_events_serial(const struct coord_events *e); /* changes with each frame */

/* A group gets its news from coord_events_add until coord_events_remove, which returns its bell, or
 * -1: nobody rings that any more. */
void coord_events_add(struct coord_events *e, struct group *g);
int coord_events_remove(struct coord_events *e, struct group *g);
struct group *coord_events_other_group(struct coord_events *e,
                                       const struct group *than); /* any other one, or NULL */
struct group *coord_events_busy_group(
    struct coord_events *e); /* one on which something that was started is under way, or NULL */

/* Reads the frames that have arrived, without waiting. `reader` (or NULL) is the caller's group,
 * whose bell is not rung. */
void coord_events_read(struct coord_events *e, const struct group *reader);

/* Around a sleep of g's thread that its bell ends. One of the sleepers watches the connection for
 * all: *_begin returns what to poll as well, or -1. If that is readable, call coord_events_read
 * before *_end, which gives the watch to another sleeper. */
int coord_events_sleep_begin(struct coord_events *e, struct group *g);
void coord_events_sleep_end(struct coord_events *e, struct group *g);

/* 0, or the code and the sentence with which the coordinator broke g or was lost. */
int coord_events_broken(struct coord_events *e, const struct group *g, struct fault *why);

/* The state of a world rank; unless it is PEER_PRESENT, `why` gets ML_ERR_PEER. */
enum peer_state coord_events_peer(struct coord_events *e, int rank, struct fault *why);

/* The oldest JSON object that a member of g sent through the coordinator (COORD_RELAY), to be
 * released by the caller; *from: its world rank. NULL: there is none. */
json_t *coord_events_mail(struct coord_events *e, struct group *g, int *from);

/* What a member of a group has sent about a connection that is to be made (a COORD_RELAY whose word
 * has a member "meet"): the process's door (door.h) hears it, whichever thread looks there. */
struct knock {
    uint32_t group;
    int from;     /* world rank */
    json_t *word; /* to be released by the caller */
};
/* From now on such words are kept, and each is written to `fd`, an eventfd; -1: they are not. */
void coord_events_knocks(struct coord_events *e, int fd);
/* Takes the oldest one. False: there is none. */
bool coord_events_knock(struct coord_events *e, struct knock *out);

/* Sends the coordinator a frame of JSON, whose reference is taken over (NULL: there was no memory
 * for it), or of bytes. 0 without a coordinator; ML_ERR_PEER once it is lost. */
int coord_events_send(struct coord_events *e, uint8_t type, json_t *payload, struct fault *why);
int coord_events_send_bytes(struct coord_events *e, uint8_t type, const void *payload,
                            uint32_t size, struct fault *why);

/* Breaks g: every call of all its members fails with `why` from now on. */
void coord_events_break(struct coord_events *e, const struct group *g, const struct fault *why);

/* For this rank alone: the call of another thread on g ends with `why`, unless g is broken
 * already. */
void coord_events_end_call(struct coord_events *e, struct group *g, const struct fault *why);

/* As coord_events_break, for what may only follow from another member's failure. Returns the code
 * with which g is broken, and *why is its sentence: those of the member that broke it first. */
int coord_events_break_first(struct coord_events *e, struct group *g, struct fault *why);

/* Waits for the reply to g's exchange or split number g->exchanges; the caller calls reply_clear
 * (coord_news.h). ML_ERR_PEER if a member is gone, the code with which g was broken, ML_ERR_TIMEOUT
 * at deadline_ms (clock_ms; -1: never). */
int coord_events_await(struct coord_events *e, struct group *g, int64_t deadline_ms,
                       struct reply *out, struct fault *why);

/* Wait for the answer to JOIN (WELCOME, to be released by the caller; FAILED is returned as a
 * fault), and for the answer to LEAVE or ABORT (LEFT). ML_ERR_TIMEOUT at deadline_ms. */
int coord_events_await_welcome(struct coord_events *e, int64_t deadline_ms, json_t **welcome,
                               struct fault *why);
int coord_events_await_left(struct coord_events *e, int rank, int64_t deadline_ms,
                            struct fault *why);

/* Waits for the answer to REPAIR: *repaired is REPAIRED, to be released by the caller. The code and
 * sentence of FAILED; ML_ERR_TIMEOUT, margin_ms after what the coordinator says that it waits for,
 * if that is later. g: the world, which the calling thread uses; or NULL. */
int coord_events_await_repaired(struct coord_events *e, struct group *g, int64_t deadline_ms,
                                int margin_ms, json_t **repaired, struct fault *why);
/* Tells mlaunch that what this rank keeps is on its host alone, and why; "": not any more. */
void coord_events_keeps_alone(struct coord_events *e, const char *why);
/* Waits for the answer to g's AGREE, or its CREATE: the number of the new group. `call`: its name,
 * for whoever asks what this rank waits in. */
int coord_events_await_answer(struct coord_events *e, struct group *g, const char *call,
                              uint64_t *value, struct fault *why);
/* Every number that the coordinator has given a group of this process is below it. */
uint32_t coord_events_groups_end(struct coord_events *e);
/* Since the last REPAIRED a member of the world has gone, or calls ml_repair, or a process has come
 * to take a dead one's place, as far as the news have been read. Any thread, without a lock. */
bool coord_events_has_changed(const struct coord_events *e);

#endif
