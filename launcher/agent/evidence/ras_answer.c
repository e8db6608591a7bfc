/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/ras_answer.h"

#include "common/text/text_json.h"

#include <stdbool.h>
#include <string.h>

enum { LINES_MOST = 40, LINE = 200 };

const char ras_answer_question[] = "CLIENT PROTOCOL 2\nTIMEOUT 1\nVERBOSE STATUS\n";

/* Cuts off what is not the line's beginning, and blanks at its end. */
static size_t line_length(const char *line, const char *end)
{
    size_t length = (size_t)(end - line) < LINE ? (size_t)(end - line) : LINE;

    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r'))
        length--;
    return length;
}

static bool is_line(const char *line, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(line, text, length) == 0;
}

/* A section's title has a line of '=' below it. */
static void line_keep(json_t *lines, const char *line, size_t length)
{
    char text[LINE + 1];

    if (length == 0 || strspn(line, "=") >= length || json_array_size(lines) >= LINES_MOST)
        return;
    memcpy(text, line, length);
    text[length] = '\0';
    json_array_append_new(lines, text_json(text));
}

json_t *ras_answer_lines(const char *text)
{
    static const char begun[] = "Communicators... (";
    bool is_complete = false, is_kept = false;
    json_t *lines = json_array();

    while (*text) {
        const char *end = text + strcspn(text, "\n");
        size_t length = line_length(text, end);

        if (strncmp(text, begun, strlen(begun)) == 0)
            is_complete = true;
        if (is_complete && (is_line(text, length, "Errors") || is_line(text, length, "Warnings")))
            is_kept = true;
        else if (is_kept)
            line_keep(lines, text, length);
        text = *end ? end + 1 : end;
    }
    if (is_complete)
        return lines;
    json_decref(lines);
    return NULL;
}
