/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/amount.h"

#include <stdio.h>

const char *amount_age(char out[AMOUNT], long long s)
{
    if (s < 60)
        snprintf(out, AMOUNT, "%llds", s);
    else if (s < 3600)
        snprintf(out, AMOUNT, "%lld:%02lld", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, AMOUNT, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, AMOUNT, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return out;
}

const char *amount_size(char out[AMOUNT], double bytes)
{
    static const char units[] = "KMGTP";
    unsigned unit = 0;

    bytes /= 1024;
    while (bytes >= 1000 && unit < sizeof(units) - 2) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, AMOUNT, bytes < 10 && unit > 0 ? "%.1f%c" : "%.0f%c", bytes, units[unit]);
    return out;
}

const char *amount_bytes(char out[AMOUNT], long long bytes)
{
    double mib = (double)bytes / (1024 * 1024);

    if (mib < 1024)
        snprintf(out, AMOUNT, "%.1f MiB", mib);
    else
        snprintf(out, AMOUNT, "%.2f GiB", mib / 1024);
    return out;
}

const char *amount_seconds(char out[AMOUNT], long long ms)
{
    snprintf(out, AMOUNT, "%.2f s", (double)ms / 1e3);
    return out;
}
