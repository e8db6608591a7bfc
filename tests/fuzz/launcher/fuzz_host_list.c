/* SPDX-License-Identifier: MIT */
/* fuzz_host_list.c: any bytes as the value of --hosts; behind a newline, as the hosts that another
 * list chooses among these. */
#include "common/log.h"
#include "common/text/utf8.h"
#include "launcher/input/hosts/host_list_finish.h"
#include "launcher/input/hosts/host_list_parse.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level;
    (void)text;
    (void)arg;
}

/* What is left are hosts of the list, as many as were chosen at most. */
static void filter_check(struct host_list *l, const char *chosen)
{
    struct host_list *only = NULL;
    struct fault why = {0};
    int count = l->count;

    if (host_list_parse(&only, "--hosts", chosen, &why))
        return;
    if (host_list_finish_filter(l, only, NULL, &why) == 0 &&
        (l->count < 1 || l->count > count || l->count > only->count))
        abort();
    host_list_destroy(only);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    json_t *string = text ? json_string(text) : NULL;
    struct host_list *l = NULL;
    struct fault why = {0};
    char *chosen;

    if (!text)
        return 0;
    if (utf8_is_valid(text) != (string != NULL))
        abort(); /* what we let through would not go to an agent */
    json_decref(string);
    chosen = strchr(text, '\n');
    if (chosen)
        *chosen++ = '\0';
    log_to(quiet, NULL);
    if (host_list_parse(&l, "--hosts", text, &why) == 0) {
        if (l->count < 1)
            abort();
        if (chosen)
            filter_check(l, chosen);
        host_list_destroy(l);
    }
    free(text);
    return 0;
}
