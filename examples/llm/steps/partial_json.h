/* SPDX-License-Identifier: MIT */
/*
 * partial_json.h: the beginning of a JSON object, which is read byte by byte while a model writes
 * it, and which bytes may follow.
 *
 *     begin ──{──▶ key ──:──▶ value ──▶ ',' or '}' ──▶ … ──} of the first {──▶ whole
 *
 * It takes less than JSON allows, so that all parsers read the result, and a model that has lost
 * its way comes to an end: at most 64 levels of objects and lists, 15 digits before and after the
 * point and 2 of an exponent, 32 spaces in a row, and neither \u0000 nor surrogates.
 */
#ifndef LLM_STEPS_PARTIAL_JSON_H
#define LLM_STEPS_PARTIAL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copied as it is. */
struct partial_json {
    uint8_t state;
    uint8_t depth;    /* objects and lists that are open */
    uint8_t count;    /* digits, or letters of a word */
    uint8_t spaces;   /* one after the other */
    bool is_key;      /* the string is one */
    uint64_t lists;   /* bit i: level i is a list */
    const char *word; /* true, false or null */
};

void partial_json_begin(struct partial_json *p);

/* False: no object begins with these bytes behind the others; then p is as it was. */
bool partial_json_add(struct partial_json *p, const char *bytes, size_t length);

bool partial_json_is_whole(const struct partial_json *p);

/* A byte that leads to the end, with few others. p is not whole. */
char partial_json_next(const struct partial_json *p);

#endif
