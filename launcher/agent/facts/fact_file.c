/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/fact_file.h"

#include "common/text/number.h"
#include "common/text/text_json.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MOST = 1024 };

void fact_file_path(char out[FACT_PATH], const char *root, const char *format, ...)
{
    size_t used = (size_t)snprintf(out, FACT_PATH, "%s", root);
    va_list args;

    if (used >= FACT_PATH)
        return;
    va_start(args, format);
    vsnprintf(out + used, FACT_PATH - used, format, args);
    va_end(args);
}

/* Moves what is between the blanks to the front. */
static void blanks_remove(char *text)
{
    size_t begin = strspn(text, " \t\n"), size = strlen(text + begin);

    while (size > 0 && strchr(" \t\n", text[begin + size - 1]))
        size--;
    memmove(text, text + begin, size);
    text[size] = '\0';
}

bool fact_file_line(const char *path, char out[FACT_TEXT])
{
    FILE *f = fopen(path, "re");
    bool is_there = f && fgets(out, FACT_TEXT, f);

    if (f)
        fclose(f);
    if (!is_there)
        out[0] = '\0';
    blanks_remove(out);
    return out[0];
}

static bool fact_file_whole(const char *path, int64_t *out)
{
    char text[FACT_TEXT];

    return fact_file_line(path, text) && number_parse(text, INT64_MIN, INT64_MAX, out);
}

bool fact_file_entry(const char *path, const char *key, char out[FACT_TEXT])
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, size = strlen(key);

    out[0] = '\0';
    while (f && !out[0] && getline(&line, &room, f) > 0) {
        if (strncmp(line, key, size) != 0)
            continue;
        snprintf(out, FACT_TEXT, "%s", line + size + strspn(line + size, " \t:=\""));
        out[strcspn(out, "\"\n")] = '\0';
        blanks_remove(out);
    }
    free(line);
    if (f)
        fclose(f);
    return out[0];
}

int fact_file_count(const char *path, const char *key)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int count = 0;

    while (f && getline(&line, &room, f) > 0)
        count += strncmp(line, key, strlen(key)) == 0;
    free(line);
    if (f)
        fclose(f);
    return count;
}

static int name_is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

void fact_file_list(const char *path, void (*each)(const char *name, void *arg), void *arg)
{
    struct dirent **names = NULL;
    int count = scandir(path, &names, name_is_shown, versionsort);

    for (int i = 0; i < count; i++) {
        if (i < NAMES_MOST)
            each(names[i]->d_name, arg);
        free(names[i]);
    }
    free(names);
}

bool fact_file_link(const char *path, char out[FACT_TEXT])
{
    char target[FACT_PATH];
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    const char *slash;

    out[0] = '\0';
    if (size <= 0)
        return false;
    target[size] = '\0';
    slash = strrchr(target, '/');
    snprintf(out, FACT_TEXT, "%.*s", FACT_TEXT - 1, slash ? slash + 1 : target);
    return out[0];
}

void fact_put_text(json_t *out, const char *key, const char *text)
{
    if (*text)
        json_object_set_new(out, key, text_json(text));
}

void fact_put_line(json_t *out, const char *key, const char *path)
{
    char text[FACT_TEXT];

    if (fact_file_line(path, text))
        fact_put_text(out, key, text);
}

void fact_put_whole(json_t *out, const char *key, const char *path)
{
    int64_t value;

    if (fact_file_whole(path, &value))
        json_object_set_new(out, key, json_integer(value));
}
