/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include "common/text/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *program_name = "mlaunch";
static enum log_level shown = LOG_WARN;
static void (*line_sink)(enum log_level level, const char *text, void *arg);
static void *line_sink_arg;

void log_open(const char *program, enum log_level level)
{
    program_name = program;
    shown = level;
}

enum log_level log_level(void)
{
    return shown;
}

void log_to(void (*sink)(enum log_level level, const char *text, void *arg), void *arg)
{
    line_sink = sink;
    line_sink_arg = arg;
}

static void write_line(const char *line, size_t size)
{
    while (size > 0) {
        ssize_t n = write(STDERR_FILENO, line, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* there is no other place to report it */
        line += n;
        size -= (size_t)n;
    }
}

/* What a message quotes, a file's name for instance, must not begin a line like one of ours: lines
 * behind the first begin with a blank. */
static void lines_indent(char *text, size_t size)
{
    size_t length = strlen(text);

    for (char *at = text; (at = strchr(at, '\n')); at++) {
        if (at[1] == ' ' || at[1] == '\t' || at[1] == '\0' || length + 1 >= size)
            continue;
        memmove(at + 2, at + 1, length + 1 - (size_t)(at + 1 - text));
        at[1] = ' ';
        length++;
    }
}

static void log_line(enum log_level level, const char *format, va_list args)
{
    const char *word = level == LOG_ERROR ? "error: " : level == LOG_WARN ? "warning: " : "";
    char line[4096];
    int at, saved = errno;
    size_t size;

    if (level > shown)
        return;
    at = snprintf(line, sizeof(line) - 1, "%s: %s", program_name, word);
    if (at < 0 || (size_t)at >= sizeof(line) - 1)
        at = 0;
    vsnprintf(line + at, sizeof(line) - 1 - (size_t)at, format, args);
    printable_mend(line + at, "\n\t");
    lines_indent(line + at, sizeof(line) - 1 - (size_t)at);
    if (line_sink) {
        line_sink(level, line + at, line_sink_arg);
    } else {
        size = strlen(line);
        line[size++] = '\n';
        write_line(line, size);
    }
    errno = saved;
}

void log_at(enum log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_line(level, format, args);
    va_end(args);
}

#define LOG_FUNCTION(name, level)                                                                  \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list args;                                                                              \
                                                                                                   \
        va_start(args, format);                                                                    \
        log_line(level, format, args);                                                             \
        va_end(args);                                                                              \
    }

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)
