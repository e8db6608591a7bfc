/* SPDX-License-Identifier: MIT */
/* fuzz_options.c: lines as words of a command line; lines with MLAUNCH_OPT_ as the environment. */
#include "launcher/input/options/options_load.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = text, *word;
    char *argv[WORDS + 1] = {(char *)"mlaunch"}, *environment[WORDS + 1] = {NULL};
    struct options_source from = {1, argv, environment, NULL, NULL};
    struct options *o = NULL;
    struct fault why = {0};
    int variables = 0;

    while ((word = strsep(&rest, "\n"))) {
        if (strstr(word, "config") || strstr(word, "CONFIG"))
            continue; /* would read any file of this machine */
        if (strncmp(word, "MLAUNCH_OPT_", 12) == 0 && variables < WORDS)
            environment[variables++] = word;
        else if (from.argc < WORDS)
            argv[from.argc++] = word;
    }
    if (options_load_from(&o, &from, &why)) {
        if (o || why.code >= 0 || !*why.text)
            abort();
    } else if (o->action == OPTIONS_RUN) {
        if (o->app_count < 1 || !o->apps[0].argv[0] || o->job.grace_ms < 0)
            abort();
    }
    options_destroy(o);
    free(text);
    return 0;
}
