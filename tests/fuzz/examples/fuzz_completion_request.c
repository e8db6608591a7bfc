/* SPDX-License-Identifier: MIT */
/* fuzz_completion_request.c: any bytes as the body of a request; what is accepted obeys the
 * contract, what is refused has a sentence. The first byte says which of the two kinds. */
#include "examples/llm/serve/completion_request.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct completion_request *r)
{
    if (r->is_chat ? !r->message_count : !r->prompts)
        abort();
    if (!r->prompt_count || !r->choices || r->prompt_count * r->choices > COMPLETION_CHOICES_MOST)
        abort();
    for (uint32_t i = 0; !r->is_chat && i < r->prompt_count; i++) {
        if (!r->prompts[i].text && !json_array_size(r->prompts[i].tokens))
            abort();
    }
    for (uint32_t i = 0; i < r->message_count; i++) {
        if (!r->messages[i].role || !r->messages[i].content)
            abort();
    }
    if (r->logprobs_best > TOKEN_BEST_MOST || (r->logprobs_best && !r->has_logprobs))
        abort();
    if (r->stop_count > COMPLETION_STOPS_MOST)
        abort();
    for (uint32_t i = 0; i < r->stop_count; i++) {
        if (!r->stops[i][0] || strlen(r->stops[i]) > COMPLETION_STOP_BYTES_MOST)
            abort();
    }
    if (!(r->sampling.temperature >= 0 && r->sampling.temperature <= 2) ||
        !(fabs(r->sampling.presence_penalty) <= 2 && fabs(r->sampling.frequency_penalty) <= 2) ||
        !(r->sampling.top_p > 0 && r->sampling.top_p <= 1) || r->tokens_most > INT32_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct completion_problem problem = {"", NULL};
    struct completion_request r;

    if (!size)
        return 0;
    if (completion_request_read(&r, data[0] != 't', (const char *)data + 1, size - 1, &problem)) {
        if (!problem.text[0])
            abort();
        return 0;
    }
    check_request(&r);
    completion_request_free(&r);
    return 0;
}
