/* SPDX-License-Identifier: MIT */
#include "common/text/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_parse(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text;
    long long value;
    char *end;

    if (min < 0 && *digits == '-')
        digits++;
    /* strtoll would also accept blanks and a '+'. */
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || *end || value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool number_parse_size(const char *text, size_t length, int64_t max, int64_t *out)
{
    static const char units[] = "KMGkmg";
    const char *unit = length ? memchr(units, text[length - 1], sizeof(units) - 1) : NULL;
    int shift = unit ? 10 * (int)((unit - units) % 3 + 1) : 0;
    char digits[24];
    int64_t value;

    length -= unit != NULL;
    if (!length || length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!number_parse(digits, 0, max >> shift, &value))
        return false;
    *out = value << shift;
    return true;
}

const char *number_size(char out[NUMBER_SIZE], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    double number = (double)bytes;
    int unit = 0;

    for (; number >= 1000 && unit < 6; unit++)
        number /= 1000;
    snprintf(out, NUMBER_SIZE, unit ? "%.1f %s" : "%.0f %s", number, units[unit]);
    return out;
}

void hex_write(char *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hex_parse(const char *text, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < 2 * size; i++) {
        if (digit_value(text[i]) < 0) /* the final 0 byte too */
            return false;
    }
    if (text[2 * size])
        return false;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return true;
}
