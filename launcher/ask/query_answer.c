/* SPDX-License-Identifier: MIT */
#include "launcher/ask/query_answer.h"

#include "common/build_id.h"
#include "common/net/frame.h"
#include "common/text/parsed_json.h"
#include "common/text/printable.h"

#include <stdlib.h>
#include <string.h>

int query_answer_hello(struct hello_report *out, const struct frame *f, struct fault *why)
{
    int rc = hello_report_parse(out, f, why);

    if (!rc && strcmp(out->build, build_id) != 0)
        rc = fault_set(why, ML_ERR_REFUSED,
                       "its mlaunch-agent is build %s, this mlaunch is build %s", out->build,
                       build_id);
    return rc;
}

/* Replaces control characters in all strings: another host's texts may go to a terminal. */
static void answer_make_plain(json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, inner)
        {
            answer_make_plain(inner);
        }
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner)
        {
            answer_make_plain(inner);
        }
    } else if (json_is_string(value)) {
        char *text = strdup(json_string_value(value));

        if (text)
            printable_mend(text, "");
        if (text && strcmp(text, json_string_value(value)) != 0)
            json_string_set_nocheck(value, text);
        free(text);
    }
}

int query_answer_read(json_t **out, const struct frame *f, struct fault *why)
{
    json_t *said = parsed_json((const char *)f->payload, f->size, JSON_REJECT_DUPLICATES, NULL);
    const char *error;
    int rc = 0;

    answer_make_plain(said);
    error = json_string_value(json_object_get(said, "error"));
    if (!json_is_object(said))
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER");
    else if (error)
        rc = fault_set(why, ML_ERR_REFUSED, "%s", error);
    if (rc)
        json_decref(said);
    else
        *out = said;
    return rc;
}
