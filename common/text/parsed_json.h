/* SPDX-License-Identifier: MIT */
/* parsed_json.h: JSON from text, also where memory ends: if jansson 2.14 cannot enlarge its buffer
 * for a token, it reads and writes beyond it. */
#ifndef COMMON_TEXT_PARSED_JSON_H
#define COMMON_TEXT_PARSED_JSON_H

#include <jansson.h>
#include <stddef.h>

/* As json_loadb(). Without memory it returns NULL, leaks nothing, and error->text says so, as does
 * json_error_code(). */
json_t *parsed_json(const char *text, size_t size, size_t flags, json_error_t *error);

/* What a rank or another host may send at once, so that reading it takes no more than some 50 ms of
 * a loop that others' heartbeats depend on: bytes, and pieces of memory, of which a number takes
 * one, and a text or a member's name two. */
enum { REPORTED_JSON_BYTES = 8 << 20, REPORTED_JSON_PIECES = 300000 };

/* JSON that a rank or another host has sent. NULL also if it is larger than that, or an object has
 * two members of one name. */
json_t *reported_json(const char *text, size_t size, json_error_t *error);

/* The same for the answer of a host to a command that waits for nothing else, like ps: of any
 * length that a frame can have, and of ANSWERED_JSON_PIECES, which take half a GB. */
enum { ANSWERED_JSON_PIECES = 4000000 };
json_t *answered_json(const char *text, size_t size, json_error_t *error);

/* The same for a frame of one who has not proved the secret, whose size is limited: of
 * STRANGER_JSON_PIECES, three times what a HELLO has, for hundreds may come at one time. */
enum { STRANGER_JSON_PIECES = 100 };
json_t *stranger_json(const char *text, size_t size);

#endif
