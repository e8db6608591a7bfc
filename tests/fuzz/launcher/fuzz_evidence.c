/* SPDX-License-Identifier: MIT */
/* fuzz_evidence.c: any bytes as what NCCL and torch say of a rank that hangs: a dump of torch's
 * flight recorder, as a pickle and as JSON, and the text of NCCL's RAS. */
#include "common/text/parsed_json.h"
#include "launcher/agent/evidence/flight_record.h"
#include "launcher/agent/evidence/pickle_value.h"
#include "launcher/agent/evidence/ras_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is found is text that can be sent, and not longer than a report needs. Takes `said`. */
static void check(json_t *said)
{
    char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;

    if (said && (!text || json_array_size(said) > 64))
        abort();
    free(text);
    json_decref(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    json_t *dump;

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    dump = pickle_value_read(text, size);
    check(flight_record_calls(dump));
    json_decref(dump);
    dump = parsed_json(text, size, 0, NULL);
    check(flight_record_calls(dump));
    json_decref(dump);
    check(ras_answer_lines(text));
    free(text);
    return 0;
}
