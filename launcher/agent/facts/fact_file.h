/* SPDX-License-Identifier: MIT */
/*
 * fact_file.h: the small files in which a system describes itself, below a root: "" for this
 * machine, or the folder of a recorded one. What cannot be read is left out: every kernel, driver
 * and container lacks some of these files.
 */
#ifndef LAUNCHER_AGENT_FACTS_FACT_FILE_H
#define LAUNCHER_AGENT_FACTS_FACT_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FACT_TEXT = 256, FACT_PATH = 4096 };

/* The path of a file; cut off if it is too long, and then it does not exist. */
void fact_file_path(char out[FACT_PATH], const char *root, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first line without blanks at its ends; false: there is none. */
bool fact_file_line(const char *path, char out[FACT_TEXT]);

/* The rest of the first line that begins with `key`, without the separator and quotation marks. */
bool fact_file_entry(const char *path, const char *key, char out[FACT_TEXT]);
/* How many lines begin with `key`. */
int fact_file_count(const char *path, const char *key);

/* Calls `each` with every name in a folder but those that begin with a dot, in the order of their
 * numbers; at most 1,024. */
void fact_file_list(const char *path, void (*each)(const char *name, void *arg), void *arg);

/* The last part of the path that a symbolic link leads to. */
bool fact_file_link(const char *path, char out[FACT_TEXT]);

/* Set a member; the text only if it is not empty, the line of a file only if it can be read. */
void fact_put_text(json_t *out, const char *key, const char *text);
void fact_put_line(json_t *out, const char *key, const char *path);
void fact_put_whole(json_t *out, const char *key, const char *path);

#endif
