/* SPDX-License-Identifier: MIT */
#include "common/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef fault_set
#undef fault_os
#undef fault_wrap

/* The text is composed elsewhere first, because arguments may point into why->text. */
static void set_text(struct fault *why, const char *text)
{
    size_t size = strnlen(text, sizeof(why->text) - 1);

    memmove(why->text, text, size);
    why->text[size] = '\0';
}

/* Cuts the text where the room ends. */
static void text_append(char *text, size_t room, const char *more)
{
    size_t size = strlen(text), n = strnlen(more, room - 1 - size);

    memcpy(text + size, more, n);
    text[size + n] = '\0';
}

int fault_set(struct fault *why, int code, const char *format, ...)
{
    char text[sizeof(why->text)];
    va_list args;

    if (!why)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    why->code = code;
    set_text(why, text);
    return code;
}

int fault_os(struct fault *why, int code, int err, const char *format, ...)
{
    char text[sizeof(why->text)], word[128];
    va_list args;

    if (!why)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    text_append(text, sizeof(text), ": ");
    text_append(text, sizeof(text), strerror_r(err, word, sizeof(word)));
    why->code = code;
    set_text(why, text);
    return code;
}

int fault_wrap(struct fault *why, const char *format, ...)
{
    char text[sizeof(why->text)];
    va_list args;

    if (!why)
        return 0;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    text_append(text, sizeof(text), ": ");
    text_append(text, sizeof(text), why->text);
    set_text(why, text);
    return why->code;
}
