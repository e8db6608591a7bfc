/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int buffer_grow(char **text, size_t *room, const char *path, struct fault *why)
{
    size_t more = *room ? *room * 2 : 65536;
    char *bigger = realloc(*text, more);

    if (!bigger)
        return fault_set(why, ML_ERR_MEMORY, "%s: out of memory", path);
    *text = bigger;
    *room = more;
    return 0;
}

/* Leaves one byte of room for the final 0. */
static int file_read(FILE *f, const char *path, char **text, size_t *size, struct fault *why)
{
    size_t room = 0;
    int rc;

    do {
        if (*size + 1 >= room && (rc = buffer_grow(text, &room, path, why)))
            return rc;
        *size += fread(*text + *size, 1, room - *size - 1, f);
        if (ferror(f))
            return fault_os(why, ML_ERR_ARGUMENT, errno, "%s: cannot be read", path);
        if (*size > TEXT_FILE_LIMIT)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "%s: is larger than %d MiB; is it the right file?", path,
                             TEXT_FILE_LIMIT >> 20);
    } while (!feof(f));
    (*text)[*size] = '\0';
    return 0;
}

static int bytes_check(const char *path, char *text, size_t *size, struct fault *why)
{
    const char *zero;

    if (*size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: is UTF-16 text; save it as UTF-8", path);
    zero = memchr(text, '\0', *size);
    if (zero)
        return fault_set(why, ML_ERR_ARGUMENT, "%s: has a NUL byte at offset %td: not a text file",
                         path, zero - text);
    if (*size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        *size -= 3;
        memmove(text, text + 3, *size + 1);
    }
    return 0;
}

int text_file_read(const char *path, char **out, size_t *size, struct fault *why)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0;
    int rc;

    if (!f)
        return fault_os(why, ML_ERR_ARGUMENT, errno, "%s: cannot be opened", path);
    rc = file_read(f, path, &text, &n, why);
    fclose(f);
    if (!rc)
        rc = bytes_check(path, text, &n, why);
    if (rc) {
        free(text);
        return rc;
    }
    *out = text;
    *size = n;
    return 0;
}

char *text_line(char **text)
{
    char *line = *text, *end;

    if (!*line)
        return NULL;
    end = strchr(line, '\n');
    *text = end ? end + 1 : line + strlen(line);
    if (end) {
        *end = '\0';
        if (end > line && end[-1] == '\r')
            end[-1] = '\0';
    }
    return line;
}

bool text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

char *text_trim(char *text)
{
    char *end;

    while (text_is_blank(*text))
        text++;
    end = text + strlen(text);
    while (end > text && text_is_blank(end[-1]))
        end--;
    *end = '\0';
    return text;
}

static bool char_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* a later byte of a character in UTF-8 */
}

const char *text_show(char out[TEXT_SHOWN], const char *text)
{
    size_t n = 0;

    for (; *text && n < TEXT_SHOWN - 4; text++)
        out[n++] = (char)((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
    if (*text) {
        if (char_continues(*text)) { /* never half a character */
            while (n > 0 && char_continues(out[n - 1]))
                n--;
            n -= n > 0;
        }
        memcpy(out + n, "...", 3);
        n += 3;
    }
    out[n] = '\0';
    return out;
}
