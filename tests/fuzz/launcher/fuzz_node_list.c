/* SPDX-License-Identifier: MIT */
/* fuzz_node_list.c: any bytes as Slurm's list of nodes, and as its list of numbers a node. */
#include "launcher/input/hosts/node_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct string_list names = {0};
    struct fault why = {0};
    int *counts = NULL;

    if (!text)
        return 0;
    if (node_list_expand(&names, text, 1000, &why) == 0)
        for (size_t i = 0; i < names.count; i++)
            if (!*names.items[i] || strpbrk(names.items[i], "[],"))
                abort(); /* what was written out would not be a name */
    if (names.count > 1000)
        abort();
    string_list_clear(&names);
    if (node_list_counts(&counts, 5, text, &why) == 0) {
        for (int i = 0; i < 5; i++)
            if (counts[i] < 1)
                abort();
        free(counts);
    }
    free(text);
    return 0;
}
