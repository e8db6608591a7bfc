/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/notation.h"

#include "common/text/number.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1e9 /* ns */

enum { DELAY_MOST_S = 100 };

struct notation_unit {
    const char *name;
    double size;
};

/* A number with decimals, no sign and no exponent, and one of the units. "0" needs none. */
static bool amount_read(const char *text, const struct notation_unit *units, double most,
                        double *out)
{
    size_t length = strspn(text, "0123456789.");
    char *end;
    double value;

    if (length == 0 || length > 20)
        return false;
    value = strtod(text, &end);
    if (end != text + length)
        return false;
    if (value == 0 && !*end) {
        *out = 0;
        return true;
    }
    for (; units->name; units++) {
        if (strcmp(end, units->name) != 0 || value * units->size > most)
            continue;
        *out = value * units->size;
        return true;
    }
    return false;
}

bool notation_rate(const char *text, uint64_t *bits_per_second)
{
    static const struct notation_unit units[] = {
        {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {NULL, 0}};
    double value;

    if (!amount_read(text, units, 1e15, &value) || (value > 0 && value < 1))
        return false;
    *bits_per_second = (uint64_t)value;
    return true;
}

bool notation_delay(const char *text, int64_t *ns)
{
    static const struct notation_unit units[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", SECOND}, {NULL, 0}};
    double value;

    if (!amount_read(text, units, DELAY_MOST_S * SECOND, &value))
        return false;
    *ns = (int64_t)value;
    return true;
}

bool notation_loss(const char *text, double *share)
{
    static const struct notation_unit units[] = {{"%", 0.01}, {NULL, 0}};

    return amount_read(text, units, 1, share);
}

bool notation_address(const char *text, bool has_ipv4, union ibv_gid *gid)
{
    union ibv_gid found = {.raw = {[10] = 0xff, [11] = 0xff}};

    if (has_ipv4 && inet_pton(AF_INET, text, found.raw + 12) == 1) {
        *gid = found;
        return true;
    }
    if (inet_pton(AF_INET6, text, found.raw) != 1)
        return false;
    *gid = found;
    return true;
}

bool notation_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    size_t length = strlen(text);

    return length > 0 && length < FABRIC_NAME && text[0] != '.' && strspn(text, letters) == length;
}

bool notation_device(const char *text, char host[FABRIC_NAME], char device[FABRIC_NAME])
{
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    char name[FABRIC_NAME];

    if (!slash || length >= FABRIC_NAME || !notation_is_name(slash + 1))
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    if (!notation_is_name(name))
        return false;
    memcpy(host, name, sizeof(name));
    memcpy(device, slash + 1, strlen(slash + 1) + 1);
    return true;
}

bool notation_port(const char *text, char host[FABRIC_NAME], char device[FABRIC_NAME], int *port)
{
    const char *colon = strrchr(text, ':');
    char name[2 * FABRIC_NAME];
    int64_t number;

    if (!colon || (size_t)(colon - text) >= sizeof(name) ||
        !number_parse(colon + 1, 1, UINT8_MAX, &number))
        return false;
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    if (!notation_device(name, host, device))
        return false;
    *port = (int)number;
    return true;
}
