/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/last_words.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

void last_words_add(struct last_words *w, const char *bytes, size_t size)
{
    size_t kept;

    if (size > sizeof(w->bytes)) {
        bytes += size - sizeof(w->bytes);
        size = sizeof(w->bytes);
    }
    kept = sizeof(w->bytes) - size < w->size ? sizeof(w->bytes) - size : w->size;
    memmove(w->bytes, w->bytes + w->size - kept, kept);
    if (size)
        memcpy(w->bytes + kept, bytes, size);
    w->size = kept + size;
}

bool last_words_read(struct last_words *w, int fd)
{
    char bytes[1024];
    ssize_t n;

    while (fd >= 0) {
        n = read(fd, bytes, sizeof(bytes));
        if (n > 0)
            last_words_add(w, bytes, (size_t)n);
        else if (n == 0)
            return false;
        else if (errno != EINTR)
            return errno == EAGAIN;
    }
    return false;
}

/* Control characters from another host must not reach the user's terminal. */
static bool is_gap(char c)
{
    return (unsigned char)c <= ' ' || c == 127;
}

void last_words_line(const struct last_words *w, char *text, size_t size)
{
    char line[sizeof(w->bytes) + 1];
    size_t n = 0;

    for (size_t i = 0; i < w->size; i++) {
        if (!is_gap(w->bytes[i]))
            line[n++] = w->bytes[i];
        else if (n > 0 && line[n - 1] != ' ')
            line[n++] = ' ';
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
    if (n < size)
        memcpy(text, line, n + 1);
    else
        memcpy(text, line + n - (size - 1), size);
}

void last_words_text(const struct last_words *w, char *text, size_t size)
{
    size_t take = w->size < size - 1 ? w->size : size - 1;
    const char *from = w->bytes + w->size - take, *newline;

    if (w->size == sizeof(w->bytes) || take < w->size) {
        newline = memchr(from, '\n', take); /* leaves out the first line, which may be cut */
        if (newline && newline + 1 < from + take) {
            take -= (size_t)(newline + 1 - from);
            from = newline + 1;
        }
    }
    memcpy(text, from, take);
    while (take > 0 && text[take - 1] == '\n')
        take--;
    text[take] = '\0';
}
