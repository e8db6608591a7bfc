/* SPDX-License-Identifier: MIT */
#include "launcher/run/record/hash_file.h"

#include "common/log.h"
#include "common/text/printable.h"
#include "launcher/run/record/call_words.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 96, LINE = 512, HASHES = 17 /* characters of both */ };

struct hash_file {
    char *path;
    FILE *file;     /* to be written; NULL: to be compared with */
    json_t *known;  /* the rest of the file's lines, by their key; NULL: the file is written */
    json_t *counts; /* calls so far, by rank and group */
    uint64_t calls, differences;
    uint64_t first_ns; /* when the first difference was */
    char first[768];   /* a sentence about it */
};

/* --- the file --------------------------------------------------------------------------------- */

/* A line is "RANK RUN.GENERATION.GROUP PLACE HASHES WORDS": the key ends behind the third word. */
static char *line_split(char *line)
{
    char *at = line;

    for (int i = 0; i < 3 && at; i++)
        at = strchr(at + (i > 0), ' ');
    if (!at || strlen(at + 1) < HASHES || at[1 + HASHES - 1] != ' ')
        return NULL;
    *at = '\0';
    return at + 1;
}

static int file_read(struct hash_file *h, FILE *f, struct fault *why)
{
    char line[LINE];

    h->known = json_object();
    while (fgets(line, sizeof(line), f)) {
        char *rest = line_split(line);

        line[strcspn(line, "\n")] = '\0';
        if (rest)
            rest[strcspn(rest, "\n")] = '\0';
        if (!rest || json_object_set_new(h->known, line, json_string(rest)))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--compare-hashes: %s was not written by --compare-hashes, or is "
                             "damaged; name a file that does not exist to write a new one",
                             h->path);
    }
    return 0;
}

static int file_open(struct hash_file *h, struct fault *why)
{
    FILE *f = fopen(h->path, "re");
    int rc = 0;

    if (!f && errno != ENOENT)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--compare-hashes: cannot read %s", h->path);
    if (f)
        rc = file_read(h, f, why);
    if (f)
        fclose(f);
    if (rc || (h->known && json_object_size(h->known) > 0))
        return rc;
    json_decref(h->known);
    h->known = NULL;
    h->file = fopen(h->path, "we");
    return h->file
               ? 0
               : fault_os(why, ML_ERR_SYSTEM, errno, "--compare-hashes: cannot write %s", h->path);
}

int hash_file_open(struct hash_file **out, const char *path, struct fault *why)
{
    struct hash_file *h = calloc(1, sizeof(*h));
    int rc;

    if (h) {
        h->path = strdup(path);
        h->counts = json_object();
    }
    rc = h && h->path && h->counts ? file_open(h, why)
                                   : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc)
        hash_file_destroy(h);
    else
        *out = h;
    return rc;
}

void hash_file_destroy(struct hash_file *h)
{
    if (!h)
        return;
    if (h->file)
        fclose(h->file);
    json_decref(h->known);
    json_decref(h->counts);
    free(h->path);
    free(h);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void key_make(char key[KEY], struct hash_file *h, int rank, int run,
                     const struct rank_call *c)
{
    json_int_t n;
    int at = snprintf(key, KEY, "%d %d.%u.%" PRIu32, rank, run, (unsigned)c->generation, c->group);

    n = json_integer_value(json_object_get(h->counts, key)) + 1;
    json_object_set_new(h->counts, key, json_integer(n));
    snprintf(key + at, KEY - (size_t)at, " %" JSON_INTEGER_FORMAT, n);
}

/* The call in words, without what is known only of some messages. */
static void words_make(char words[CALL_WORDS], const struct rank_call *c)
{
    struct rank_call plain = *c;

    if (c->kind == RANK_CALL_MESSAGE && c->to == RANK_CALL_NOBODY)
        plain.received = 0; /* a hash */
    call_words_describe(&plain, words);
}

static void difference_note(struct hash_file *h, int rank, const struct rank_call *c,
                            const char *words, const char *known)
{
    char place[64] = "";
    bool is_same_call = known && strcmp(known + HASHES, words) == 0;
    bool has_read_other = is_same_call && strtoull(known, NULL, 16) >> 32 != c->received >> 32;
    uint64_t when = is_same_call && !has_read_other ? c->end : c->start;

    if (h->differences++ && when >= h->first_ns)
        return;
    h->first_ns = when;
    if (c->kind != RANK_CALL_MESSAGE && c->group)
        snprintf(place, sizeof(place), "call %" PRIu32 " of group %" PRIu32 ", ", c->seq, c->group);
    else if (c->kind != RANK_CALL_MESSAGE)
        snprintf(place, sizeof(place), "call %" PRIu32 " of the world, ", c->seq);
    if (!known)
        snprintf(h->first, sizeof(h->first), "rank %d made %s%s, which is not in it", rank, place,
                 words);
    else if (!is_same_call)
        snprintf(h->first, sizeof(h->first), "rank %d made %s%s, and in it %s", rank, place, words,
                 known + HASHES);
    else if (has_read_other)
        snprintf(h->first, sizeof(h->first), "rank %d gave other data to %s%s", rank, place, words);
    else
        snprintf(h->first, sizeof(h->first), "rank %d gave the same data to %s%s, and got others",
                 rank, place, words);
    printable_mend(h->first, "");
}

static void call_add(struct hash_file *h, int rank, int run, const struct rank_call *c)
{
    char key[KEY], words[CALL_WORDS], hashes[HASHES];
    const char *known;

    if (!c->end || c->failed || call_words_is_probe(c))
        return;
    key_make(key, h, rank, run, c);
    words_make(words, c);
    h->calls++;
    if (h->file) {
        fprintf(h->file, "%s %016" PRIx64 " %s\n", key, c->received, words);
        return;
    }
    known = json_string_value(json_object_get(h->known, key));
    snprintf(hashes, sizeof(hashes), "%016" PRIx64, c->received);
    if (!known || strncmp(known, hashes, HASHES - 1) != 0 || strcmp(known + HASHES, words) != 0)
        difference_note(h, rank, c, words, known);
    json_object_del(h->known, key);
}

void hash_file_add(struct hash_file *h, int rank, int run, const struct rank_call *calls,
                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        call_add(h, rank, run, &calls[i]);
}

/* --- the end ---------------------------------------------------------------------------------- */

static bool file_finish(struct hash_file *h)
{
    bool has_failed = ferror(h->file);

    if (fclose(h->file) || has_failed)
        log_warn("--compare-hashes: cannot write %s: %s", h->path, strerror(errno));
    else if (h->calls)
        fprintf(stderr, "mlaunch: the hashes of %" PRIu64 " calls are in %s\n", h->calls, h->path);
    else
        call_words_warn_of_none(h->path);
    h->file = NULL;
    return !h->calls;
}

bool hash_file_conclude(struct hash_file *h)
{
    size_t left;

    if (h->file)
        return file_finish(h);
    left = json_object_size(h->known);
    if (h->differences)
        fprintf(stderr,
                "mlaunch: this run differs from that of %s: %s; the first of %" PRIu64
                " calls that differ\n",
                h->path, h->first, h->differences);
    else if (left)
        fprintf(stderr,
                "mlaunch: this run differs from that of %s: %zu of its calls were not made\n",
                h->path, left);
    else
        fprintf(stderr, "mlaunch: all %" PRIu64 " calls read and wrote the same as those of %s\n",
                h->calls, h->path);
    return h->differences || left;
}
