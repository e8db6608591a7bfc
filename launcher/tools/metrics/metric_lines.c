/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_lines.h"

#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "common/text/text_stream.h"
#include "common/text/utf8.h"
#include "launcher/base/text/text_file.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prefixes[] = {"mlaunch_gpu_", "mlaunch_local_"};
static const char *const types[] = {"counter", "gauge", "histogram", "summary", "untyped"};
static const char *const suffixes[] = {"_bucket", "_sum", "_count"};

/* {family: {"HELP": text, "TYPE": word, "samples": {series: value}}}, in the order in which the
 * families appeared. */
struct metric_reader {
    json_t *families;
    struct fault reason;
};

static bool is_name_byte(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (!is_first && c >= '0' && c <= '9');
}

/* How many bytes at the beginning of `text` are a name. */
static size_t name_length(const char *text)
{
    size_t n = 0;

    while (is_name_byte(text[n], n == 0))
        n++;
    return n;
}

static size_t blanks(const char *text)
{
    return strspn(text, " \t");
}

static int name_check(const char *name, struct fault *why)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return 0;
    }
    return fault_set(why, ML_ERR_ARGUMENT, "the name %.80s does not begin with %s", name,
                     METRIC_LINES_PREFIXES);
}

/* Moves *at behind "name=\"value\"". */
static int label_read(const char **at, struct fault *why)
{
    size_t length = name_length(*at);
    const char *c;

    if (!length || memchr(*at, ':', length))
        return fault_set(why, ML_ERR_ARGUMENT, "a label's name is missing at '%.20s'", *at);
    c = *at + length;
    c += blanks(c);
    if (*c++ != '=')
        return fault_set(why, ML_ERR_ARGUMENT, "a label has no value at '%.20s'", *at);
    c += blanks(c);
    if (*c++ != '"')
        return fault_set(why, ML_ERR_ARGUMENT, "a label's value is not in quotes at '%.20s'", *at);
    for (; *c && *c != '"'; c++) {
        if (*c == '\\' && !strchr("\\\"n", *++c))
            return fault_set(why, ML_ERR_ARGUMENT, "only \\\\, \\\" and \\n can follow a \\");
        if (!*c)
            break;
    }
    if (!*c)
        return fault_set(why, ML_ERR_ARGUMENT, "a label's value does not end");
    *at = c + 1 + blanks(c + 1);
    return 0;
}

static int labels_read(const char **at, struct fault *why)
{
    int rc = 0;

    *at += 1 + blanks(*at + 1);
    while (!rc && **at != '}') {
        rc = label_read(at, why);
        if (!rc && **at == ',')
            *at += 1 + blanks(*at + 1);
        else if (!rc && **at != '}')
            rc = fault_set(why, ML_ERR_ARGUMENT, "neither , nor } at '%.20s'", *at);
    }
    *at += !rc;
    return rc;
}

/* A decimal number, NaN, +Inf or -Inf, and nothing behind it. */
static int value_check(char *text, struct fault *why)
{
    static const char *const words[] = {"NaN", "+Inf", "-Inf", "Inf"};
    char *end;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i]) == 0)
            return 0;
    }
    (void)strtod(text, &end);
    if (end != text && !*end && !text[strspn(text, "+-.0123456789eE")])
        return 0;
    if (end != text && text_is_blank(*end))
        return fault_set(why, ML_ERR_ARGUMENT, "more than a number follows: '%.40s'", text);
    return fault_set(why, ML_ERR_ARGUMENT, "'%.40s' is not a number", text);
}

static bool is_one_of(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0)
            return true;
    }
    return false;
}

/* The family of a name; it is made if there is none. */
static json_t *family_get(struct metric_reader *r, const char *name)
{
    json_t *family = json_object_get(r->families, name);

    if (!family) {
        family = json_pack("{s:{}}", "samples");
        json_object_set_new(r->families, name, family);
    }
    return family;
}

/* The family of a sample, which may be a part of a histogram or summary. */
static json_t *family_of_sample(struct metric_reader *r, const char *name)
{
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        size_t length = strlen(name), tail = strlen(suffixes[i]);
        char base[256];
        const char *type;

        if (length <= tail || length - tail >= sizeof(base) ||
            strcmp(name + length - tail, suffixes[i]) != 0)
            continue;
        snprintf(base, sizeof(base), "%.*s", (int)(length - tail), name);
        type = json_string_value(json_object_get(json_object_get(r->families, base), "TYPE"));
        if (type && (strcmp(type, "histogram") == 0 || strcmp(type, "summary") == 0))
            return json_object_get(r->families, base);
    }
    return family_get(r, name);
}

/* "# HELP name text", "# TYPE name type"; other comments are left out. */
static int comment_read(struct metric_reader *r, char *line)
{
    char *word = line + 1 + blanks(line + 1), *name, *rest;
    const char *key = strncmp(word, "HELP", 4) == 0   ? "HELP"
                      : strncmp(word, "TYPE", 4) == 0 ? "TYPE"
                                                      : NULL;
    int rc;

    if (!key || !text_is_blank(word[4]))
        return 0;
    name = word + 4 + blanks(word + 4);
    rest = name + name_length(name);
    if (rest == name || (*rest && !text_is_blank(*rest)))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "%s needs a metric's name", key);
    if (*rest) {
        *rest++ = '\0';
        rest = text_trim(rest);
    }
    rc = name_check(name, &r->reason);
    if (rc)
        return rc;
    if (key[0] == 'T' && !is_one_of(types, sizeof(types) / sizeof(*types), rest))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "'%.40s' is not a type", rest);
    if (json_object_get(json_object_get(r->families, name), key))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "a second %s of %.80s", key, name);
    json_object_set_new(family_get(r, name), key, text_json(rest));
    return 0;
}

static int sample_read(struct metric_reader *r, char *line)
{
    size_t length = name_length(line);
    const char *at = line + length;
    char *value, name[256];
    json_t *samples;
    int rc;

    if (!length || length >= sizeof(name))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "it begins with no metric's name");
    snprintf(name, sizeof(name), "%.*s", (int)length, line);
    rc = name_check(name, &r->reason);
    if (!rc && *at == '{')
        rc = labels_read(&at, &r->reason);
    if (rc)
        return rc;
    value = line + (at - line);
    if (!text_is_blank(*value))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "no number follows the metric's name");
    *value++ = '\0'; /* the line is the series now */
    value = text_trim(value);
    rc = value_check(value, &r->reason);
    if (rc)
        return rc;
    samples = json_object_get(family_of_sample(r, name), "samples");
    if (json_object_get(samples, line))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "%.120s is there already", line);
    json_object_set_new(samples, line, text_json(value));
    return 0;
}

static int line_check(struct metric_reader *r, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (iscntrl((unsigned char)*c) && *c != '\t')
            return fault_set(&r->reason, ML_ERR_ARGUMENT, "it has a control character");
    }
    if (!utf8_is_valid(text))
        return fault_set(&r->reason, ML_ERR_ARGUMENT, "it is not UTF-8");
    return 0;
}

/* Reads the comments, or all but them, of the text, which it changes. */
static void lines_read(struct metric_reader *r, char *text, bool is_comments,
                       struct metric_lines *l)
{
    char *line;

    for (int number = 1; (line = text_line(&text)); number++) {
        char *trimmed = text_trim(line);

        if (!*trimmed || (*trimmed == '#') != is_comments)
            continue;
        if (!line_check(r, trimmed) &&
            !(is_comments ? comment_read(r, trimmed) : sample_read(r, trimmed)))
            continue;
        if (l->refused++ == 0 || number < l->first) {
            l->first = number;
            l->reason = r->reason;
            printable_mend(l->reason.text, "");
        }
    }
}

static char *families_write(const struct metric_reader *r)
{
    struct text_stream s;
    FILE *to = text_stream_open(&s);
    const char *name, *series;
    json_t *family, *value;

    if (!to)
        return NULL;
    json_object_foreach(r->families, name, family)
    {
        const char *help = json_string_value(json_object_get(family, "HELP"));
        const char *type = json_string_value(json_object_get(family, "TYPE"));
        json_t *samples = json_object_get(family, "samples");

        if (!json_object_size(samples))
            continue;
        fprintf(to, "# HELP %s %s\n", name, help ? help : "From --command.");
        if (type)
            fprintf(to, "# TYPE %s %s\n", name, type);
        json_object_foreach(samples, series, value)
        {
            fprintf(to, "%s %s\n", series, json_string_value(value));
        }
    }
    return text_stream_close(to, &s);
}

/* The comments first, because a sample's family depends on the types, wherever they are. */
int metric_lines_check(struct metric_lines *out, char *printed, struct fault *why)
{
    struct metric_lines l = {0};
    struct metric_reader r = {.families = json_object()};
    char *copy = strdup(printed);

    if (copy) {
        lines_read(&r, copy, true, &l);
        lines_read(&r, printed, false, &l);
        l.text = families_write(&r);
    }
    free(copy);
    json_decref(r.families);
    if (!l.text)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = l;
    return 0;
}
