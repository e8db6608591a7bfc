/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static int least(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment: rows i - 2, i - 1 and i of the table of distances between prefixes. */
int nearest_distance(const char *a, const char *b)
{
    int rows[3][LONGEST + 1];
    int la = (int)strnlen(a, LONGEST), lb = (int)strnlen(b, LONGEST);
    int *row = rows[0];

    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        const int *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];

        row = rows[i % 3];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) &&
                row[j] > before[j - 2] + 1)
                row[j] = before[j - 2] + 1;
        }
    }
    return row[lb];
}

void nearest_offer(struct nearest *n, const char *known)
{
    int d = known ? nearest_distance(n->typed, known) : 0;

    if (known && (!n->best || d < n->distance)) {
        n->best = known;
        n->distance = d;
    }
}

const char *nearest_slip(const struct nearest *n)
{
    return n->best && n->distance <= (strlen(n->best) <= 3 ? 1 : 2) ? n->best : NULL;
}

const char *nearest_word(const char *typed, const char *const *known)
{
    struct nearest n = {.typed = typed};

    for (; *known; known++)
        nearest_offer(&n, *known);
    return nearest_slip(&n);
}
