/* SPDX-License-Identifier: MIT */
/* fuzz_host_list.c: any bytes as the value of --hosts. */
#include "common/text/utf8.h"
#include "launcher/hosts/host_list_parse.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    json_t *string = text ? json_string(text) : NULL;
    struct host_list *l = NULL;
    struct fault why = {0};

    if (!text)
        return 0;
    if (utf8_is_valid(text) != (string != NULL))
        abort(); /* what we let through would not go to an agent */
    json_decref(string);
    if (host_list_parse(&l, text, &why) == 0) {
        if (l->count < 1)
            abort();
        host_list_destroy(l);
    }
    free(text);
    return 0;
}
