/* SPDX-License-Identifier: MIT */
#include "completion_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOR_CHAT = 1, FOR_TEXT = 2, FOR_BOTH = 3 };

typedef int field_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem);

/* One member of the body. One without a value, or with null, is not read. */
struct completion_field {
    const char *name;
    int where;
    field_read *read;
};

static int refuse(struct completion_problem *problem, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct completion_problem *problem, const char *name, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(problem->text, sizeof(problem->text), format, args);
    va_end(args);
    problem->param = name;
    return -1;
}

static int number_within(const char *name, const json_t *value, double min, double max, double *out,
                         struct completion_problem *problem)
{
    double number = json_is_number(value) ? json_number_value(value) : min - 1;

    if (!(number >= min && number <= max))
        return refuse(problem, name, "%s must be a number from %g to %g", name, min, max);
    *out = number;
    return 0;
}

static int integer_within(const char *name, const json_t *value, json_int_t min, json_int_t max,
                          json_int_t *out, struct completion_problem *problem)
{
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max)
        return refuse(problem, name,
                      "%s must be a whole number from %" JSON_INTEGER_FORMAT
                      " to %" JSON_INTEGER_FORMAT,
                      name, min, max);
    *out = json_integer_value(value);
    return 0;
}

static int flag(const char *name, const json_t *value, bool *out,
                struct completion_problem *problem)
{
    if (!json_is_boolean(value))
        return refuse(problem, name, "%s must be true or false", name);
    *out = json_is_true(value);
    return 0;
}

static int temperature_read(struct completion_request *r, const char *name, const json_t *value,
                            struct completion_problem *problem)
{
    return number_within(name, value, 0, 2, &r->sampling.temperature, problem);
}

static int presence_read(struct completion_request *r, const char *name, const json_t *value,
                         struct completion_problem *problem)
{
    return number_within(name, value, -2, 2, &r->sampling.presence_penalty, problem);
}

static int frequency_read(struct completion_request *r, const char *name, const json_t *value,
                          struct completion_problem *problem)
{
    return number_within(name, value, -2, 2, &r->sampling.frequency_penalty, problem);
}

static int top_p_read(struct completion_request *r, const char *name, const json_t *value,
                      struct completion_problem *problem)
{
    int rc = number_within(name, value, 0, 1, &r->sampling.top_p, problem);

    if (!rc && r->sampling.top_p <= 0)
        r->sampling.top_p = 1e-9; /* the best token alone; for the sampler 0 is no limit */
    return rc;
}

static int top_k_read(struct completion_request *r, const char *name, const json_t *value,
                      struct completion_problem *problem)
{
    json_int_t k = 0;
    int rc = integer_within(name, value, -1, INT32_MAX, &k, problem);

    r->sampling.top_k = k > 0 ? (uint32_t)k : 0; /* -1 and 0: no limit, as others have it */
    return rc;
}

static int seed_read(struct completion_request *r, const char *name, const json_t *value,
                     struct completion_problem *problem)
{
    if (!json_is_integer(value))
        return refuse(problem, name, "%s must be a whole number", name);
    r->seed = (uint64_t)json_integer_value(value);
    r->has_seed = true;
    return 0;
}

static int tokens_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    json_int_t most = 0;
    int rc = integer_within(name, value, 1, INT32_MAX, &most, problem);

    r->tokens_most = (uint32_t)most;
    return rc;
}

static int stream_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    return flag(name, value, &r->stream, problem);
}

static int stream_options_read(struct completion_request *r, const char *name, const json_t *value,
                               struct completion_problem *problem)
{
    const json_t *usage = json_object_get(value, "include_usage");

    if (!json_is_object(value))
        return refuse(problem, name, "%s must be an object", name);
    if (!usage || json_is_null(usage))
        return 0;
    return flag("stream_options.include_usage", usage, &r->include_usage, problem);
}

static int stop_add(struct completion_request *r, const char *name, const json_t *value,
                    struct completion_problem *problem)
{
    size_t length = json_string_length(value);

    if (!json_is_string(value))
        return refuse(problem, name, "%s must be a text, or a list of texts", name);
    if (length > COMPLETION_STOP_BYTES_MOST)
        return refuse(problem, name, "%s has a text of %zu bytes; %d are the most", name, length,
                      COMPLETION_STOP_BYTES_MOST);
    if (length)
        r->stops[r->stop_count++] = json_string_value(value);
    return 0;
}

static int stop_read(struct completion_request *r, const char *name, const json_t *value,
                     struct completion_problem *problem)
{
    if (!json_is_array(value))
        return stop_add(r, name, value, problem);
    if (json_array_size(value) > COMPLETION_STOPS_MOST)
        return refuse(problem, name, "%s has %zu texts; %d are the most", name,
                      json_array_size(value), COMPLETION_STOPS_MOST);
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (stop_add(r, name, json_array_get(value, i), problem))
            return -1;
    }
    return 0;
}

static int prompt_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    if (json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    if (!json_is_string(value))
        return refuse(problem, name, "%s must be one string", name);
    r->prompt = json_string_value(value);
    return 0;
}

/* [{"type": "text", "text": "…"}, …]: the texts one after the other. */
static int parts_join(struct completion_message *m, uint32_t i, const json_t *parts,
                      struct completion_problem *problem)
{
    size_t length = 0, k;
    const json_t *part;

    json_array_foreach(parts, k, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));

        if (!type || strcmp(type, "text") != 0 || !json_is_string(json_object_get(part, "text")))
            return refuse(problem, "messages",
                          "messages[%u].content[%zu] must be {\"type\": \"text\", \"text\": …}; "
                          "this server reads text alone",
                          i, k);
        length += json_string_length(json_object_get(part, "text"));
    }
    m->content = malloc(length + 1);
    if (!m->content)
        return refuse(problem, NULL, "out of memory");
    length = 0;
    json_array_foreach(parts, k, part)
    {
        const json_t *text = json_object_get(part, "text");

        memcpy(m->content + length, json_string_value(text), json_string_length(text));
        length += json_string_length(text);
    }
    m->content[length] = '\0';
    return 0;
}

static int message_read(struct completion_message *m, uint32_t i, const json_t *value,
                        struct completion_problem *problem)
{
    const json_t *content = json_object_get(value, "content");

    m->role = json_string_value(json_object_get(value, "role"));
    if (!m->role)
        return refuse(problem, "messages", "messages[%u] must be an object with \"role\"", i);
    if (strcmp(m->role, "developer") == 0)
        m->role = "system"; /* OpenAI's newer name */
    if (strcmp(m->role, "system") != 0 && strcmp(m->role, "user") != 0 &&
        strcmp(m->role, "assistant") != 0)
        return refuse(problem, "messages",
                      "messages[%u].role must be system, user or assistant, not '%.32s'", i,
                      m->role);
    if (json_is_array(content))
        return parts_join(m, i, content, problem);
    if (!json_is_string(content))
        return refuse(problem, "messages", "messages[%u].content must be a text", i);
    m->content = strdup(json_string_value(content));
    return m->content ? 0 : refuse(problem, NULL, "out of memory");
}

static int messages_read(struct completion_request *r, const char *name, const json_t *value,
                         struct completion_problem *problem)
{
    size_t count = json_array_size(value);

    if (!json_is_array(value) || !count)
        return refuse(problem, name, "%s must be a list of at least one message", name);
    if (count > COMPLETION_MESSAGES_MOST)
        return refuse(problem, name, "%s has %zu messages; %d are the most", name, count,
                      COMPLETION_MESSAGES_MOST);
    r->messages = calloc(count, sizeof(*r->messages));
    if (!r->messages)
        return refuse(problem, NULL, "out of memory");
    r->message_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        if (message_read(&r->messages[i], i, json_array_get(value, i), problem))
            return -1;
    }
    return 0;
}

static int template_read(struct completion_request *r, const char *name, const json_t *value,
                         struct completion_problem *problem)
{
    const json_t *thinking = json_object_get(value, "enable_thinking");
    bool is_on = false;

    if (!json_is_object(value))
        return refuse(problem, name, "%s must be an object", name);
    if (!thinking || json_is_null(thinking))
        return 0;
    if (flag("chat_template_kwargs.enable_thinking", thinking, &is_on, problem))
        return -1;
    r->thinking = is_on ? THINKING_ON : THINKING_OFF;
    return 0;
}

static int best_read(struct completion_request *r, const char *name, const json_t *value,
                     struct completion_problem *problem)
{
    json_int_t best = 0;
    int rc = integer_within(name, value, 0, TOKEN_BEST_MOST, &best, problem);

    r->logprobs_best = (uint32_t)best;
    return rc;
}

/* A chat's is true or false, and the next one says how many; a completion's is how many. */
static int logprobs_read(struct completion_request *r, const char *name, const json_t *value,
                         struct completion_problem *problem)
{
    if (r->is_chat || json_is_false(value))
        return flag(name, value, &r->has_logprobs, problem);
    r->has_logprobs = true;
    return best_read(r, name, value, problem);
}

static int top_logprobs_read(struct completion_request *r, const char *name, const json_t *value,
                             struct completion_problem *problem)
{
    if (best_read(r, name, value, problem))
        return -1;
    if (r->logprobs_best && !r->has_logprobs)
        return refuse(problem, name, "%s needs \"logprobs\": true", name);
    return 0;
}

/* Those that are refused unless they ask for nothing. */

static int one_only(struct completion_request *r, const char *name, const json_t *value,
                    struct completion_problem *problem)
{
    (void)r;
    if (json_is_integer(value) && json_integer_value(value) == 1)
        return 0;
    return refuse(problem, name, "%s must be 1: this server gives one answer to a request", name);
}

static int nothing_only(struct completion_request *r, const char *name, const json_t *value,
                        struct completion_problem *problem)
{
    bool is_nothing = json_is_false(value) || (json_is_number(value) && !json_number_value(value));

    (void)r;
    if (json_is_array(value) || json_is_object(value))
        is_nothing = json_array_size(value) + json_object_size(value) == 0;
    if (json_is_string(value))
        is_nothing = !json_string_length(value) || strcmp(json_string_value(value), "none") == 0 ||
                     strcmp(json_string_value(value), "auto") == 0;
    return is_nothing ? 0 : refuse(problem, name, "%s is not supported", name);
}

static int text_only(struct completion_request *r, const char *name, const json_t *value,
                     struct completion_problem *problem)
{
    const char *type = json_string_value(json_object_get(value, "type"));

    (void)r;
    if (type && strcmp(type, "text") == 0)
        return 0;
    return refuse(problem, name, "%s: this server answers in plain text alone", name);
}

static const struct completion_field fields[] = {
    {"messages", FOR_CHAT, messages_read},
    {"prompt", FOR_TEXT, prompt_read},
    {"max_tokens", FOR_BOTH, tokens_read},
    {"max_completion_tokens", FOR_CHAT, tokens_read},
    {"temperature", FOR_BOTH, temperature_read},
    {"top_p", FOR_BOTH, top_p_read},
    {"top_k", FOR_BOTH, top_k_read},
    {"seed", FOR_BOTH, seed_read},
    {"stop", FOR_BOTH, stop_read},
    {"stream", FOR_BOTH, stream_read},
    {"stream_options", FOR_BOTH, stream_options_read},
    {"chat_template_kwargs", FOR_CHAT, template_read},
    {"n", FOR_BOTH, one_only},
    {"best_of", FOR_TEXT, one_only},
    {"logprobs", FOR_BOTH, logprobs_read},
    {"top_logprobs", FOR_CHAT, top_logprobs_read}, /* behind logprobs */
    {"logit_bias", FOR_BOTH, nothing_only},
    {"presence_penalty", FOR_BOTH, presence_read},
    {"frequency_penalty", FOR_BOTH, frequency_read},
    {"echo", FOR_TEXT, nothing_only},
    {"suffix", FOR_TEXT, nothing_only},
    {"tools", FOR_CHAT, nothing_only},
    {"tool_choice", FOR_CHAT, nothing_only},
    {"functions", FOR_CHAT, nothing_only},
    {"audio", FOR_CHAT, nothing_only},
    {"response_format", FOR_BOTH, text_only},
};

static int fields_read(struct completion_request *r, struct completion_problem *problem)
{
    int where = r->is_chat ? FOR_CHAT : FOR_TEXT;

    if (!json_is_object(r->root))
        return refuse(problem, NULL, "the body must be a JSON object");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const json_t *value = json_object_get(r->root, fields[i].name);

        if (value && !json_is_null(value) && (fields[i].where & where) &&
            fields[i].read(r, fields[i].name, value, problem))
            return -1;
    }
    if (r->is_chat && !r->messages)
        return refuse(problem, "messages", "messages is missing");
    if (!r->is_chat && !r->prompt)
        return refuse(problem, "prompt", "prompt is missing");
    return 0;
}

int completion_request_read(struct completion_request *out, bool is_chat, const char *body,
                            size_t size, struct completion_problem *problem)
{
    json_error_t error;

    *out = (struct completion_request){
        .is_chat = is_chat,
        .sampling = {.temperature = 1, .top_p = 1},
    };
    out->root = json_loadb(body, size, 0, &error);
    if (!out->root)
        return refuse(problem, NULL, "the body is not JSON: line %d column %d: %s", error.line,
                      error.column, error.text);
    if (!fields_read(out, problem))
        return 0;
    completion_request_free(out);
    return -1;
}

void completion_request_free(struct completion_request *r)
{
    for (uint32_t i = 0; i < r->message_count; i++)
        free(r->messages[i].content);
    free(r->messages);
    json_decref(r->root);
    *r = (struct completion_request){0};
}
