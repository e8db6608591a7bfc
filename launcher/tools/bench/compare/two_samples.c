/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/compare/two_samples.h"

#include <stdlib.h>

static int value_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double two_samples_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), value_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ways[u] becomes the number of orders of n and n values in which u pairs are the wrong way round:
 * the coefficients of the Gaussian binomial, the product of (1 - q^(n+i)) / (1 - q^i) for i = 1 … n
 * (Mann and Whitney 1947). */
static void orders_count(double *ways, int n)
{
    int most = n * n;

    ways[0] = 1;
    for (int u = 1; u <= most; u++)
        ways[u] = 0;
    for (int i = 1; i <= n; i++) {
        for (int u = most; u >= n + i; u--)
            ways[u] -= ways[u - n - i];
        for (int u = i; u <= most; u++)
            ways[u] += ways[u - i];
    }
}

double two_samples_chance(const double *a, const double *b, int count)
{
    double ways[TWO_SAMPLES_MOST * TWO_SAMPLES_MOST + 1], some = 0, all = 0;
    int pairs = count * count, halves = 0; /* pairs the wrong way round */

    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            halves += a[i] > b[j] ? 2 : a[i] == b[j];
    if (halves > pairs)
        halves = 2 * pairs - halves;
    orders_count(ways, count);
    for (int u = 0; u <= pairs; u++) {
        all += ways[u];
        some += u <= (halves + 1) / 2 ? ways[u] : 0;
    }
    return 2 * some < all ? 2 * some / all : 1;
}
