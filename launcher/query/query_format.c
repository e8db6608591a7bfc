/* SPDX-License-Identifier: MIT */
#include "launcher/query/query_format.h"

#include <stdio.h>

void query_format_age(char out[QUERY_FORMAT], long long s)
{
    if (s < 60)
        snprintf(out, QUERY_FORMAT, "%llds", s);
    else if (s < 3600)
        snprintf(out, QUERY_FORMAT, "%lld:%02lld", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, QUERY_FORMAT, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, QUERY_FORMAT, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}

void query_format_size(char out[QUERY_FORMAT], double bytes)
{
    static const char units[] = "KMGTP";
    unsigned unit = 0;

    bytes /= 1024;
    while (bytes >= 1000 && unit < sizeof(units) - 2) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, QUERY_FORMAT, bytes < 10 && unit > 0 ? "%.1f%c" : "%.0f%c", bytes, units[unit]);
}
