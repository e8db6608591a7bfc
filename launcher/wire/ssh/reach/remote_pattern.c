/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_pattern.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool remote_pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *taken = name; /* the last '*', and the end of what it stands for */

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            taken = name;
        } else if (*pattern == '?' ||
                   tolower((unsigned char)*pattern) == tolower((unsigned char)*name)) {
            pattern++;
            name++;
        } else if (star) { /* earlier stars need not take more: this one can take all the rest */
            pattern = star + 1;
            name = ++taken;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool remote_pattern_list_matches(char *list, const char *name)
{
    bool result = false;
    char *save = NULL;

    for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        bool negated = *p == '!';

        if (!remote_pattern_matches(p + negated, name))
            continue;
        result = !negated;
        if (negated)
            break;
    }
    return result;
}
