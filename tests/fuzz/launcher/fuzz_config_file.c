/* SPDX-License-Identifier: MIT */
/* fuzz_config_file.c: any bytes as a configuration file. */
#include "launcher/input/options/config_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c = {.wanted = "p"};
    struct fault why = {0};
    char *text;

    if (memchr(data, 0, size)) /* text_file_read refuses these */
        return 0;
    text = strndup((const char *)data, size);
    if (!text)
        return 0;
    if (config_file_parse(&c, "fuzz", text, 0, 1, &why) && strncmp(why.text, "fuzz line ", 10) != 0)
        abort(); /* every sentence names file and line */
    for (size_t i = 0; i < c.defaults.count; i++)
        if (!c.defaults.items[i].option || c.defaults.items[i].layer != 0)
            abort();
    config_file_clear(&c);
    free(text);
    return 0;
}
