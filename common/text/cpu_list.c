/* SPDX-License-Identifier: MIT */
#include "common/text/cpu_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads decimal digits. False: there are none, or too many. */
static bool number_read(const char **at, int *out)
{
    const char *start = *at;

    *out = 0;
    while (**at >= '0' && **at <= '9' && *at - start < 5)
        *out = *out * 10 + (*(*at)++ - '0');
    return *at > start && *out < CPU_SETSIZE;
}

/* Reads "0-3+8" up to a comma or the end. */
static bool share_read(const char **at, cpu_set_t *out)
{
    int first, last;

    CPU_ZERO(out);
    for (;; (*at)++) {
        if (!number_read(at, &first))
            return false;
        last = first;
        if (**at == '-') {
            (*at)++;
            if (!number_read(at, &last) || last < first)
                return false;
        }
        for (int i = first; i <= last; i++)
            CPU_SET((size_t)i, out);
        if (**at != '+')
            return **at == ',' || !**at;
    }
}

int cpu_list_count(const char *text)
{
    cpu_set_t share;

    for (int count = 1;; count++, text++) {
        if (!share_read(&text, &share))
            return -1;
        if (!*text)
            return count;
    }
}

void cpu_list_share(cpu_set_t *out, const char *text, int turn)
{
    int count = cpu_list_count(text);

    CPU_ZERO(out);
    for (int i = 0; i <= turn % count; i++, text++)
        (void)share_read(&text, out);
}

const char *cpu_list_format(char *out, size_t size, const cpu_set_t *set)
{
    size_t used = 0;

    *out = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 12 < size; cpu++) {
        int last = cpu;

        if (!CPU_ISSET((size_t)cpu, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, set))
            last++;
        used += (size_t)snprintf(out + used, size - used, "%s%d", used ? "," : "", cpu);
        if (last > cpu)
            used += (size_t)snprintf(out + used, size - used, "-%d", last);
        cpu = last;
    }
    return out;
}
