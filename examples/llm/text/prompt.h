/* SPDX-License-Identifier: MIT */
/*
 * prompt.h: text for a model, in which some pieces were typed by somebody.
 *
 * A model's control tokens ("<|im_end|>") have a meaning only where the program wrote them. In a
 * typed piece they are ordinary text; otherwise a user could end the system's message.
 */
#ifndef LLM_TEXT_PROMPT_H
#define LLM_TEXT_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

struct typed_piece {
    size_t begin, end; /* bytes of the text */
};

/* Begins as {0}; prompt_free() makes it so again. */
struct prompt {
    char *text; /* terminated */
    size_t length, room;
    struct typed_piece *typed; /* in order; they do not overlap */
    size_t typed_count, typed_room;
    bool failed; /* out of memory; what is added is lost */
};

void prompt_add(struct prompt *p, const char *text);
void prompt_add_bytes(struct prompt *p, const char *text, size_t length);
void prompt_add_typed(struct prompt *p, const char *text, size_t length);
void prompt_free(struct prompt *p);

#endif
