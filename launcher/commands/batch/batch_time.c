/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch_time.h"

#include "common/text/number.h"
#include "launcher/base/text/text_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 3, PART_LIMIT = 1000000 };

/* Parses the numbers between the colons. Returns how many there are; 0: one is malformed. Changes
 * `text`. */
static int parts_read(int64_t parts[PARTS], char *text)
{
    int n = 0;
    char *part;

    while ((part = strsep(&text, ":"))) {
        if (n == PARTS || !number_parse(part, 0, PART_LIMIT, &parts[n]))
            return 0;
        n++;
    }
    return n;
}

static bool time_parse(int64_t *seconds, char *text)
{
    static const int64_t plain[PARTS][PARTS] = {{60}, {60, 1}, {3600, 60, 1}};
    static const int64_t behind_days[PARTS] = {3600, 60, 1};
    char *dash = strchr(text, '-');
    int64_t parts[PARTS] = {0}, days = 0;
    const int64_t *units;
    int n;

    if (dash) {
        *dash = '\0';
        if (!number_parse(text, 0, PART_LIMIT, &days))
            return false;
        text = dash + 1;
    }
    n = parts_read(parts, text);
    if (n == 0)
        return false;
    units = dash ? behind_days : plain[n - 1];
    *seconds = days * 86400;
    for (int i = 0; i < n; i++)
        *seconds += parts[i] * units[i];
    return *seconds > 0;
}

int batch_time_parse(int64_t *seconds, const char *text, struct fault *why)
{
    char copy[64], shown[TEXT_SHOWN];

    snprintf(copy, sizeof(copy), "%s", text);
    if (strlen(text) >= sizeof(copy) || !time_parse(seconds, copy))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a time limit such as 90 (minutes), 1:30:00 or 2-12:00",
                         text_show(shown, text));
    return 0;
}
