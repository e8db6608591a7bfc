/* SPDX-License-Identifier: MIT */
#include "common/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef fault_set
#undef fault_os
#undef fault_wrap

/* Cuts the text where the room ends. */
static void text_append(char *text, size_t room, const char *more)
{
    size_t size = strlen(text), n = strnlen(more, room - 1 - size);

    memcpy(text + size, more, n);
    text[size + n] = '\0';
}

/* Makes "sentence" or "sentence: more". It is composed elsewhere first, because `more` and
 * arguments may point into why->text. A sentence that is too long, by a path most often, is cut
 * rather than the reason behind it. */
static __attribute__((format(printf, 3, 0))) void text_make(struct fault *why, const char *more,
                                                            const char *format, va_list args)
{
    char text[sizeof(why->text)];
    size_t kept = more ? 2 + strnlen(more, sizeof(text) / 2) : 0;

    vsnprintf(text, sizeof(text) - kept, format, args);
    if (more) {
        text_append(text, sizeof(text), ": ");
        text_append(text, sizeof(text), more);
    }
    memcpy(why->text, text, strlen(text) + 1);
}

int fault_set(struct fault *why, int code, const char *format, ...)
{
    va_list args;

    if (!why)
        return code;
    va_start(args, format);
    text_make(why, NULL, format, args);
    va_end(args);
    why->code = code;
    return code;
}

/* With the GNU C library strerror_r returns the word, elsewhere it stores it. */
#ifdef __GLIBC__
static const char *error_word(int err, char *room, size_t size)
{
    return strerror_r(err, room, size);
}
#else
static const char *error_word(int err, char *room, size_t size)
{
    return strerror_r(err, room, size) == 0 ? room : "unknown error";
}
#endif

int fault_os(struct fault *why, int code, int err, const char *format, ...)
{
    char word[128];
    va_list args;

    if (!why)
        return code;
    va_start(args, format);
    text_make(why, error_word(err, word, sizeof(word)), format, args);
    va_end(args);
    why->code = code;
    return code;
}

int fault_wrap(struct fault *why, const char *format, ...)
{
    va_list args;

    if (!why)
        return 0;
    va_start(args, format);
    text_make(why, why->text, format, args);
    va_end(args);
    return why->code;
}
