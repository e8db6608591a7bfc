/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_file.h"

#include "rdma/standin/profile/notation.h"
#include "rdma/standin/profile/profile_check.h"
#include "rdma/standin/profile/profile_default.h"
#include "rdma/standin/profile/profile_keys.h"
#include "rdma/standin/profile/profile_refuse.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

enum { LINE_LIMIT = 197 /* characters that inih takes in a line */ };

/* One file, given to inih line by line. */
struct profile_source {
    FILE *file;
    struct profile *profile;
    struct profile_section *section; /* that the line belongs to */
    int line;
    int rc, bad_line; /* the first refusal */
    struct fault *why;
};

static void source_refuse(struct profile_source *s, int rc)
{
    if (s->rc)
        return;
    s->rc = rc;
    s->bad_line = s->line;
}

/* --- sections --------------------------------------------------------------------------------- */

/* The array's new last element, zero; NULL: out of memory. */
static void *section_grow(void *array, int *count, size_t size)
{
    void **at = array;
    char *more = realloc(*at, (size_t)(*count + 1) * size);

    if (!more)
        return NULL;
    *at = more;
    return memset(more + (size_t)(*count)++ * size, 0, size);
}

static struct profile_section *section_add(struct profile *p, enum profile_kind_of kind_of)
{
    struct profile_kind *k;
    struct profile_device *d;

    switch (kind_of) {
    case PROFILE_KIND:
        k = section_grow(&p->kinds, &p->kind_count, sizeof(*k));
        if (k)
            profile_default_kind(k);
        return (void *)k;
    case PROFILE_DEVICE:
        d = section_grow(&p->devices, &p->device_count, sizeof(*d));
        if (d)
            profile_default_device(d, p->device_count);
        return (void *)d;
    case PROFILE_WIRE:
    case PROFILE_SWITCH:
        return section_grow(&p->wires, &p->wire_count, sizeof(struct profile_wire));
    default:
        return &p->network.section;
    }
}

/* The section that there is already by this name; NULL: none. */
static const struct profile_section *section_find(const struct profile *p,
                                                  enum profile_kind_of kind_of, const char *name)
{
    for (int i = 0; kind_of == PROFILE_KIND && i < p->kind_count; i++)
        if (strcmp(p->kinds[i].section.name, name) == 0)
            return &p->kinds[i].section;
    for (int i = 0; kind_of == PROFILE_DEVICE && i < p->device_count; i++)
        if (strcmp(p->devices[i].section.name, name) == 0)
            return &p->devices[i].section;
    for (int i = 0; i < p->wire_count; i++)
        if (p->wires[i].section.kind_of == kind_of && strcmp(p->wires[i].section.name, name) == 0)
            return &p->wires[i].section;
    return kind_of == PROFILE_NETWORK && p->network.section.line ? &p->network.section : NULL;
}

/* Which word the section begins with; `*name` is the rest. PROFILE_SECTIONS: none. */
static enum profile_kind_of section_kind(const char *text, const char **name)
{
    enum profile_kind_of kind_of = PROFILE_NETWORK;
    size_t length;

    for (; kind_of < PROFILE_SECTIONS; kind_of++) {
        length = strlen(profile_section_words[kind_of]);
        if (strncmp(text, profile_section_words[kind_of], length) != 0)
            continue;
        *name = text + length + strspn(text + length, " \t");
        if (kind_of == PROFILE_NETWORK ? !text[length] : *name > text + length && **name)
            break;
    }
    return kind_of;
}

static int section_begin(struct profile_source *s, const char *text)
{
    const struct profile_section *twin;
    enum profile_kind_of kind_of;
    const char *name = "";

    if (strlen(text) > PROFILE_SECTION)
        return fault_set(s->why, ML_ERR_ARGUMENT,
                         "the section's name is longer than the %d characters that are allowed",
                         PROFILE_SECTION);
    kind_of = section_kind(text, &name);
    if (kind_of == PROFILE_SECTIONS)
        return fault_set(s->why, ML_ERR_ARGUMENT,
                         "unknown section [%s]; what is allowed is [network], [kind NAME], "
                         "[device HOST/NAME], [wire NAME] and [switch NAME]",
                         text);
    twin = section_find(s->profile, kind_of, name);
    if (twin)
        return fault_set(s->why, ML_ERR_ARGUMENT, "there is [%s] twice, first in line %d", text,
                         twin->line);
    s->section = section_add(s->profile, kind_of);
    if (!s->section)
        return fault_set(s->why, ML_ERR_MEMORY, "out of memory");
    s->section->kind_of = kind_of;
    s->section->line = s->line;
    snprintf(s->section->name, sizeof(s->section->name), "%s", name);
    if (kind_of == PROFILE_DEVICE) {
        struct profile_device *d = (void *)s->section;

        if (!notation_device(name, d->host, d->name) || strcmp(d->host, "control") == 0)
            return fault_set(s->why, ML_ERR_ARGUMENT,
                             "[device %s]: what is allowed is HOST/NAME, each " NOTATION_NAME
                             ", and no host is called control",
                             name);
    }
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The callback of inih: 1 is success. It is not called for a section without keys. */
static int on_pair(void *arg, const char *section, const char *key, const char *value)
{
    struct profile_source *s = arg;

    (void)section;
    if (s->rc)
        return 0;
    if (!s->section)
        source_refuse(s, fault_set(s->why, ML_ERR_ARGUMENT,
                                   "%s comes before any section, where nothing is allowed", key));
    else if (profile_key_set(s->section, key, value, s->line, s->why))
        source_refuse(s, fault_wrap(s->why, "[%s%s%s]", profile_section_words[s->section->kind_of],
                                    *s->section->name ? " " : "", s->section->name));
    return !s->rc;
}

/* Takes a line that begins a section, as inih shows the name only together with a key. */
static void line_take(struct profile_source *s, const char *line)
{
    char name[LINE_LIMIT + 1];
    const char *end = strchr(line, ']');

    if (*line != '[' || !end)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(end - line - 1), line + 1);
    source_refuse(s, section_begin(s, name));
}

/* The fgets() of inih. Leading blanks are dropped, as inih would take an indented line for a
 * continuation of the value above. */
static char *line_next(char *out, int size, void *arg)
{
    struct profile_source *s = arg;
    size_t length, blanks;

    if (s->rc || !fgets(out, size, s->file))
        return NULL;
    s->line++;
    length = strlen(out);
    if (length > LINE_LIMIT) {
        source_refuse(s, fault_set(s->why, ML_ERR_ARGUMENT,
                                   "the line is longer than the %d characters that are allowed; a "
                                   "list may be given in several lines of one key",
                                   LINE_LIMIT));
        return NULL;
    }
    if ((length == 0 || out[length - 1] != '\n') && !feof(s->file)) {
        source_refuse(s, fault_set(s->why, ML_ERR_ARGUMENT,
                                   "the line has a byte of value 0, where only text is allowed"));
        return NULL;
    }
    blanks = strspn(out, " \t");
    if (s->line == 1 && strncmp(out, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        blanks = strlen(BYTE_ORDER_MARK);
    memmove(out, out + blanks, length - blanks + 1);
    line_take(s, out);
    return s->rc ? NULL : out;
}

static int source_read(struct profile_source *s)
{
    int bad_line = ini_parse_stream(line_next, s, on_pair, s);

    if (ferror(s->file))
        return fault_os(s->why, ML_ERR_ARGUMENT, errno, "cannot read the profile %s",
                        s->profile->path);
    if (bad_line > 0 && (!s->rc || bad_line < s->bad_line))
        return fault_set(s->why, ML_ERR_ARGUMENT,
                         "%s line %d: what is allowed is [section], key = value and ; comment",
                         s->profile->path, bad_line);
    return s->rc ? fault_wrap(s->why, "%s line %d", s->profile->path, s->bad_line) : 0;
}

int profile_file_read(struct profile **out, const char *path, struct fault *why)
{
    struct profile *p = calloc(1, sizeof(*p));
    struct profile_source s = {.profile = p, .why = why};
    int rc = 0;

    if (p) {
        p->path = strdup(path);
        p->network.seed = 1;
    }
    if (!p || !p->path)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc) {
        s.file = fopen(path, "re");
        rc = s.file ? source_read(&s)
                    : fault_os(why, ML_ERR_ARGUMENT, errno, "cannot read the profile %s", path);
    }
    if (s.file)
        fclose(s.file);
    if (!rc)
        rc = profile_check(p, why);
    if (rc)
        profile_file_close(p);
    else
        *out = p;
    return rc;
}

void profile_file_close(struct profile *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->wire_count; i++)
        free(p->wires[i].ends);
    free(p->wires);
    free(p->devices);
    free(p->kinds);
    free(p->path);
    free(p);
}
