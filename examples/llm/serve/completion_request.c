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

/* From 1; `max` fits into a uint32_t. */
static int count_within(const char *name, const json_t *value, json_int_t max, uint32_t *out,
                        struct completion_problem *problem)
{
    json_int_t count = 0;
    int rc = integer_within(name, value, 1, max, &count, problem);

    *out = (uint32_t)count;
    return rc;
}

static int tokens_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    return count_within(name, value, INT32_MAX, &r->tokens_most, problem);
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

/* A list of at least one number. The model's vocabulary is checked later. */
static bool are_tokens(const json_t *value)
{
    const json_t *token;
    size_t i;

    json_array_foreach(value, i, token)
    {
        if (!json_is_integer(token) || json_integer_value(token) < 0 ||
            json_integer_value(token) > INT32_MAX)
            return false;
    }
    return json_array_size(value) > 0;
}

static bool prompt_take(struct completion_prompt *p, const json_t *value)
{
    p->text = json_string_value(value);
    p->tokens = value;
    return p->text || are_tokens(value);
}

static int prompt_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    bool is_one = json_is_string(value) || are_tokens(value);
    size_t count = is_one ? 1 : json_array_size(value);

    if (count > COMPLETION_CHOICES_MOST)
        return refuse(problem, name, "%s has %zu entries; %d are the most", name, count,
                      COMPLETION_CHOICES_MOST);
    r->prompts = calloc(count + 1, sizeof(*r->prompts));
    if (!r->prompts)
        return refuse(problem, NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!prompt_take(&r->prompts[i], is_one ? value : json_array_get(value, i)))
            count = 0;
    }
    r->prompt_count = (uint32_t)count;
    return count ? 0
                 : refuse(problem, name,
                          "%s must be a text, a list of the numbers of tokens, or a list of such",
                          name);
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
    if (json_array_size(json_object_get(value, "tool_calls")))
        return refuse(problem, "messages",
                      "messages[%u].tool_calls is not supported: this server calls no tools", i);
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

static int choices_read(struct completion_request *r, const char *name, const json_t *value,
                        struct completion_problem *problem)
{
    return count_within(name, value, COMPLETION_CHOICES_MOST, &r->choices, problem);
}

static int format_read(struct completion_request *r, const char *name, const json_t *value,
                       struct completion_problem *problem)
{
    const char *type = json_string_value(json_object_get(value, "type"));

    if (!type)
        return refuse(problem, name, "%s must be an object with \"type\"", name);
    r->is_json = strcmp(type, "json_object") == 0;
    if (r->is_json || strcmp(type, "text") == 0)
        return 0;
    return refuse(problem, name, "%s.type '%.32s' is not supported; text and json_object are", name,
                  type);
}

/* Those that are refused unless they ask for nothing. */

static int as_many_only(struct completion_request *r, const char *name, const json_t *value,
                        struct completion_problem *problem)
{
    if (json_is_integer(value) && json_integer_value(value) == r->choices)
        return 0;
    return refuse(problem, name, "%s is not supported unless it equals n", name);
}

/* A factor. */
static int one_only(struct completion_request *r, const char *name, const json_t *value,
                    struct completion_problem *problem)
{
    (void)r;
    if (json_is_number(value) && json_number_value(value) == 1)
        return 0;
    return refuse(problem, name, "%s is not supported", name);
}

static int text_only(struct completion_request *r, const char *name, const json_t *value,
                     struct completion_problem *problem)
{
    const char *first = json_string_value(json_array_get(value, 0));

    (void)r;
    if (json_array_size(value) == 1 && first && strcmp(first, "text") == 0)
        return 0;
    return refuse(problem, name, "%s must be [\"text\"]; this server writes text alone", name);
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
    {"n", FOR_BOTH, choices_read},
    {"best_of", FOR_TEXT, as_many_only}, /* behind n */
    {"logprobs", FOR_BOTH, logprobs_read},
    {"top_logprobs", FOR_CHAT, top_logprobs_read}, /* behind logprobs */
    {"presence_penalty", FOR_BOTH, presence_read},
    {"frequency_penalty", FOR_BOTH, frequency_read},
    {"response_format", FOR_BOTH, format_read},

    /* OpenAI's that would change the answer. */
    {"logit_bias", FOR_BOTH, nothing_only},
    {"echo", FOR_TEXT, nothing_only},
    {"suffix", FOR_TEXT, nothing_only},
    {"tools", FOR_CHAT, nothing_only},
    {"tool_choice", FOR_CHAT, nothing_only},
    {"functions", FOR_CHAT, nothing_only},
    {"function_call", FOR_CHAT, nothing_only},
    {"audio", FOR_CHAT, nothing_only},
    {"modalities", FOR_CHAT, text_only},
    {"reasoning_effort", FOR_CHAT, nothing_only},
    {"verbosity", FOR_CHAT, nothing_only},
    {"web_search_options", FOR_CHAT, nothing_only},

    /* Those of llama.cpp and vLLM. */
    {"grammar", FOR_BOTH, nothing_only},
    {"json_schema", FOR_BOTH, nothing_only},
    {"guided_json", FOR_BOTH, nothing_only},
    {"guided_regex", FOR_BOTH, nothing_only},
    {"guided_choice", FOR_BOTH, nothing_only},
    {"guided_grammar", FOR_BOTH, nothing_only},
    {"structured_outputs", FOR_BOTH, nothing_only},
    {"min_p", FOR_BOTH, nothing_only},
    {"min_tokens", FOR_BOTH, nothing_only},
    {"ignore_eos", FOR_BOTH, nothing_only},
    {"stop_token_ids", FOR_BOTH, nothing_only},
    {"mirostat", FOR_BOTH, nothing_only},
    {"repeat_penalty", FOR_BOTH, one_only},
    {"repetition_penalty", FOR_BOTH, one_only},
    {"typical_p", FOR_BOTH, one_only},
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
    if (!r->is_chat && !r->prompts)
        return refuse(problem, "prompt", "prompt is missing");
    if (r->prompt_count * r->choices > COMPLETION_CHOICES_MOST)
        return refuse(problem, "n", "n of %u for each of %u prompts is more than %d answers",
                      r->choices, r->prompt_count, COMPLETION_CHOICES_MOST);
    return 0;
}

int completion_request_read(struct completion_request *out, bool is_chat, const char *body,
                            size_t size, struct completion_problem *problem)
{
    json_error_t error;

    *out = (struct completion_request){
        .is_chat = is_chat,
        .prompt_count = 1,
        .choices = 1,
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
    free(r->prompts);
    json_decref(r->root);
    *r = (struct completion_request){0};
}
