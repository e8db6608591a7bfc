/* SPDX-License-Identifier: MIT */
#include "common/net/host_table.h"

#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PART_MOST = 255,         /* bytes before and after a number, or of a text that is repeated */
    DIGITS_MOST = 9,         /* so that every number is an int */
    NUMBER_MOST = 999999999, /* the largest of as many digits */
    NUMBERED_LEAST = 3,      /* fewer texts are shorter one by one */
    TEXT_MOST = 2 * PART_MOST + DIGITS_MOST,
};

/* Texts that differ in one number, which counts up; or, with 0 digits, equal texts. */
struct text_run {
    const char *before, *after;
    size_t before_size;
    int first, digits, count;
};

static void run_format(char out[TEXT_MOST + 1], const struct text_run *r, int index)
{
    if (r->digits == 0)
        snprintf(out, TEXT_MOST + 1, "%s", r->before);
    else
        snprintf(out, TEXT_MOST + 1, "%.*s%0*d%s", (int)r->before_size, r->before, r->digits,
                 r->first + index, r->after);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number in `text` in which `next` differs from it first. False: they differ elsewhere. */
static bool number_find(struct text_run *r, const char *text, const char *next)
{
    size_t at = 0, end;

    while (text[at] && text[at] == next[at])
        at++;
    end = at;
    while (at > 0 && is_digit(text[at - 1]))
        at--;
    while (is_digit(text[end]))
        end++;
    if (end == at || end - at > DIGITS_MOST || at > PART_MOST || strlen(text + end) > PART_MOST)
        return false;
    *r = (struct text_run){.before = text,
                           .before_size = at,
                           .after = text + end,
                           .first = (int)strtol(text + at, NULL, 10),
                           .digits = (int)(end - at),
                           .count = 1};
    return true;
}

/* The longest run that begins with the first of `count` texts. */
static struct text_run run_at(const char *const *texts, int count)
{
    struct text_run r = {.before = texts[0], .count = 1};
    char text[TEXT_MOST + 1];

    while (r.count < count && strcmp(texts[r.count], texts[0]) == 0)
        r.count++;
    if (r.count > 1 && strlen(texts[0]) > PART_MOST)
        r.count = 1;
    if (r.count > 1 || count == 1 || !number_find(&r, texts[0], texts[1]))
        return r;
    while (r.count < count && r.first <= NUMBER_MOST - r.count) {
        run_format(text, &r, r.count);
        if (strcmp(text, texts[r.count]) != 0)
            break;
        r.count++;
    }
    return r.count < NUMBERED_LEAST ? (struct text_run){.before = texts[0], .count = 1} : r;
}

static json_t *run_json(const struct text_run *r)
{
    if (r->digits)
        return json_pack("[s%, i, i, i, s]", r->before, r->before_size, r->first, r->digits,
                         r->count, r->after);
    return r->count == 1 ? json_string(r->before) : json_pack("[s, i]", r->before, r->count);
}

json_t *host_table_write_texts(const char *const *texts, int count)
{
    json_t *list = json_array();

    for (int at = 0; at < count;) {
        struct text_run r = run_at(texts + at, count - at);

        if (json_array_append_new(list, run_json(&r))) {
            json_decref(list);
            return NULL;
        }
        at += r.count;
    }
    return list;
}

static const char *text_of(const json_t *value, size_t most)
{
    return json_string_length(value) <= most ? json_string_value(value) : NULL;
}

static bool number_of(const json_t *value, int least, int most, int *out)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < least || number > most)
        return false;
    *out = (int)number;
    return true;
}

/* A run of at most `most` texts. */
static bool run_read(struct text_run *r, const json_t *entry, int most)
{
    size_t size = json_array_size(entry);

    *r = (struct text_run){.after = "", .count = 1};
    if (!json_is_array(entry)) {
        r->before = text_of(entry, SIZE_MAX);
        return r->before && most > 0;
    }
    r->before = text_of(json_array_get(entry, 0), PART_MOST);
    if (!r->before || (size != 2 && size != 5))
        return false;
    if (size == 2)
        return number_of(json_array_get(entry, 1), 1, most, &r->count);
    r->before_size = strlen(r->before);
    r->after = text_of(json_array_get(entry, 4), PART_MOST);
    return r->after && number_of(json_array_get(entry, 1), 0, NUMBER_MOST, &r->first) &&
           number_of(json_array_get(entry, 2), 1, DIGITS_MOST, &r->digits) &&
           number_of(json_array_get(entry, 3), 1, most, &r->count) &&
           r->first <= NUMBER_MOST - (r->count - 1);
}

/* Bytes that each text of the run takes at most. */
static size_t run_text_size(const struct text_run *r)
{
    return strlen(r->before) + strlen(r->after) + (r->digits ? DIGITS_MOST : 0) + 1;
}

/* True if there are exactly `count` texts; stores the bytes that they take at most. */
static bool texts_measure(const json_t *list, int count, size_t *size)
{
    struct text_run r;
    json_t *entry;
    size_t i;

    *size = 0;
    json_array_foreach(list, i, entry)
    {
        if (!run_read(&r, entry, count))
            return false;
        count -= r.count;
        *size += run_text_size(&r) * (size_t)r.count;
    }
    return json_is_array(list) && count == 0;
}

/* Writes text `index` of the run, and returns its end. */
static char *run_text_put(char *to, const struct text_run *r, int index)
{
    char text[TEXT_MOST + 1];

    if (r->digits == 0)
        return stpcpy(to, r->before) + 1;
    run_format(text, r, index);
    return stpcpy(to, text) + 1;
}

int host_table_read_texts(const char ***out, const json_t *list, int count)
{
    const char **texts;
    struct text_run r;
    size_t size, i;
    json_t *entry;
    int done = 0;
    char *to;

    if (count < 0 || !texts_measure(list, count, &size))
        return ML_ERR_REFUSED;
    texts = malloc(((size_t)count + 1) * sizeof(*texts) + size);
    if (!texts)
        return ML_ERR_MEMORY;
    to = (char *)(texts + count + 1);
    json_array_foreach(list, i, entry)
    {
        run_read(&r, entry, count - done);
        for (int k = 0; k < r.count; k++) {
            texts[done++] = to;
            to = run_text_put(to, &r, k);
        }
    }
    texts[count] = NULL;
    *out = texts;
    return 0;
}

/* Hosts that follow each other, each of them `each` times, and all of that `times` times. */
struct number_run {
    int first, hosts, each, times;
};

static int64_t number_run_count(const struct number_run *r)
{
    return (int64_t)r->hosts * r->each * r->times;
}

static int equal_count(const int *numbers, int count)
{
    int n = 1;

    while (n < count && numbers[n] == numbers[0])
        n++;
    return n;
}

/* The run that begins with the first of `count` numbers. */
static struct number_run number_run_at(const int *numbers, int count)
{
    struct number_run r = {numbers[0], 1, equal_count(numbers, count), 1};
    int at = r.each, size;

    for (; at < count && numbers[at] == r.first + r.hosts; at += r.each, r.hosts++) {
        if (equal_count(numbers + at, count - at) != r.each)
            break;
    }
    size = at;
    while (size <= count - at &&
           memcmp(numbers, numbers + at, (size_t)size * sizeof(*numbers)) == 0) {
        at += size;
        r.times++;
    }
    return r;
}

json_t *host_table_write_numbers(const int *numbers, int count)
{
    json_t *list = json_array();

    for (int at = 0; at < count;) {
        struct number_run r = number_run_at(numbers + at, count - at);
        int64_t size = number_run_count(&r);
        json_t *entry = size == 1 ? json_integer(r.first)
                                  : json_pack("[i, i, i, i]", r.first, r.hosts, r.each, r.times);

        if (json_array_append_new(list, entry)) {
            json_decref(list);
            return NULL;
        }
        at += (int)size;
    }
    return list;
}

/* A run of at most `most` numbers below `limit`. */
static bool number_run_read(struct number_run *r, const json_t *entry, int most, int limit)
{
    *r = (struct number_run){0, 1, 1, 1};
    if (!json_is_array(entry))
        return most > 0 && number_of(entry, 0, limit - 1, &r->first);
    return json_array_size(entry) == 4 &&
           number_of(json_array_get(entry, 0), 0, limit - 1, &r->first) &&
           number_of(json_array_get(entry, 1), 1, limit - r->first, &r->hosts) &&
           number_of(json_array_get(entry, 2), 1, most, &r->each) &&
           (int64_t)r->hosts * r->each <= most &&
           number_of(json_array_get(entry, 3), 1, most, &r->times) && number_run_count(r) <= most;
}

int host_table_read_numbers(int **out, const json_t *list, int count, int limit)
{
    struct number_run r;
    json_t *entry;
    int *numbers, done = 0;
    size_t i;

    if (count < 0 || !json_is_array(list))
        return ML_ERR_REFUSED;
    numbers = calloc((size_t)count + 1, sizeof(*numbers));
    if (!numbers)
        return ML_ERR_MEMORY;
    json_array_foreach(list, i, entry)
    {
        int size;

        if (!number_run_read(&r, entry, count - done, limit))
            break;
        size = (int)number_run_count(&r);
        for (int k = 0; k < size; k++)
            numbers[done++] = r.first + k / r.each % r.hosts;
    }
    if (i < json_array_size(list) || done < count) {
        free(numbers);
        return ML_ERR_REFUSED;
    }
    *out = numbers;
    return 0;
}
