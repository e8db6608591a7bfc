/* SPDX-License-Identifier: MIT */
/* fuzz_debug_words.c: any bytes as a value of --chaos and of --wrap. */
#include "launcher/input/values/chaos_plan.h"
#include "launcher/input/values/rank_wrap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct chaos_plan plan;
    struct rank_wrap wrap;
    struct fault why = {0};

    if (!text)
        return 0;
    if (chaos_plan_parse(&plan, text, &why) == 0) {
        for (int i = 0; i < plan.count; i++) {
            const struct chaos_action *a = &plan.actions[i];

            if (a->after_ms < 0 || a->after_ms > CHAOS_MS_LIMIT ||
                (a->kind == CHAOS_STOP) != (a->for_ms > 0) ||
                (a->kind == CHAOS_CUT) != (a->host[0] != '\0'))
                abort();
        }
    } else if (!why.text[0]) {
        abort();
    }
    if (rank_wrap_parse(&wrap, text, &why) == 0) {
        if (!wrap.words[0] || !*wrap.words[0])
            abort();
        rank_wrap_clear(&wrap);
    }
    free(text);
    return 0;
}
