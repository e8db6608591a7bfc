/* SPDX-License-Identifier: MIT */
#include "chat.h"

#include "text_error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_MOST = 1024, NAME_SHOWN = 40 };

/* One rendering. */
struct rendering {
    const struct gguf *g;
    struct
        gguf_text template; /* a copy; "\\n" is the newline that it stands for: files have both */
    const struct chat_message *messages;
    size_t count;
    const struct chat_options *options;
    struct prompt *out;
};

/* A template belongs to a family if it contains all of its marks and none of its `strange` ones:
 * those belong to models that use the same marks otherwise. */
struct chat_style {
    const char *name;
    const char *marks[6];
    const char *strange[12];
    void (*render)(const struct rendering *r);
};

static bool has_text(const struct gguf_text *t, const char *text)
{
    return memmem(t->bytes, t->length, text, strlen(text)) != NULL;
}

static bool is_role(const struct chat_message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

/* --- ChatML ----------------------------------------------------------------------------------- */

static void chatml_put(struct prompt *out, const char *role, const char *text, size_t length)
{
    prompt_add(out, "<|im_start|>");
    prompt_add(out, role);
    prompt_add(out, "\n");
    prompt_add_typed(out, text, length);
    prompt_add(out, "<|im_end|>\n");
}

/* The text between quotation marks that begins at `at`, without its escapes. 0: it has no end, or
 * is too long. */
static size_t literal_read(const char *at, const char *limit, char mark, char text[DEFAULT_MOST])
{
    size_t used = 0;

    for (; at < limit && *at != mark && used < DEFAULT_MOST; at++) {
        if (*at == '\\' && at + 1 < limit)
            at++;
        text[used++] = *at;
    }
    return at < limit && *at == mark ? used : 0;
}

/* The system's message that the template writes where the conversation has none: a literal text
 * with both marks around it. 0: there is none. */
static size_t default_system(const struct gguf_text *t, char text[DEFAULT_MOST])
{
    static const char begin[] = "<|im_start|>system\n", end[] = "<|im_end|>";
    const char *at = t->bytes, *limit = t->bytes + t->length;

    while ((at = memmem(at, (size_t)(limit - at), begin, sizeof(begin) - 1))) {
        const char *stop, *mark = at > t->bytes ? at - 1 : at;
        size_t length = 0;

        at += sizeof(begin) - 1;
        if (*mark == '\'' || *mark == '"')
            length = literal_read(at, limit, *mark, text);
        stop = memmem(text, length, end, sizeof(end) - 1);
        if (stop)
            return (size_t)(stop - text);
    }
    return 0;
}

static void chatml_render(const struct rendering *r)
{
    char text[DEFAULT_MOST];
    size_t length = is_role(&r->messages[0], "system") ? 0 : default_system(&r->template, text);

    if (length > 0) {
        prompt_add(r->out, "<|im_start|>system\n");
        prompt_add_bytes(r->out, text, length);
        prompt_add(r->out, "<|im_end|>\n");
    }
    for (size_t i = 0; i < r->count; i++)
        chatml_put(r->out, r->messages[i].role, r->messages[i].content, r->messages[i].length);
    if (!r->options->is_unanswered)
        prompt_add(r->out, "<|im_start|>assistant\n");
}

/* --- Qwen3 ------------------------------------------------------------------------------------ */

static const char think_begin[] = "<think>", think_end[] = "</think>";
enum { THINK_BEGIN = sizeof(think_begin) - 1, THINK_END = sizeof(think_end) - 1 };

/* What is behind the last of these texts; all if there is none. */
static struct gguf_text behind_last(struct gguf_text t, const char *text, size_t length)
{
    const char *found;

    while ((found = memmem(t.bytes, t.length, text, length))) {
        t.length -= (size_t)(found - t.bytes) + length;
        t.bytes = found + length;
    }
    return t;
}

static struct gguf_text newlines_skip(struct gguf_text t)
{
    for (; t.length > 0 && *t.bytes == '\n'; t.length--)
        t.bytes++;
    return t;
}

static struct gguf_text newlines_cut(struct gguf_text t)
{
    while (t.length > 0 && t.bytes[t.length - 1] == '\n')
        t.length--;
    return t;
}

/* An answer as thoughts and the rest. The thoughts end at the first "</think>", and the rest begins
 * behind the last. */
static void answer_split(const struct chat_message *m, struct gguf_text *thoughts,
                         struct gguf_text *rest)
{
    const struct gguf_text all = {m->content, m->length};
    const char *end = memmem(all.bytes, all.length, think_end, THINK_END);

    *thoughts = (struct gguf_text){"", 0};
    *rest = all;
    if (!end)
        return;
    *rest = newlines_skip(behind_last(all, think_end, THINK_END));
    *thoughts = newlines_cut((struct gguf_text){all.bytes, (size_t)(end - all.bytes)});
    *thoughts = newlines_skip(behind_last(*thoughts, think_begin, THINK_BEGIN));
}

static bool is_tool_response(const struct chat_message *m)
{
    static const char begin[] = "<tool_response>", end[] = "</tool_response>";

    return m->length >= sizeof(end) - 1 && memcmp(m->content, begin, sizeof(begin) - 1) == 0 &&
           memcmp(m->content + m->length - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

/* The last question; thoughts of the answers before it are left out. */
static size_t last_query(const struct rendering *r)
{
    for (size_t i = r->count; i > 0; i--) {
        if (is_role(&r->messages[i - 1], "user") && !is_tool_response(&r->messages[i - 1]))
            return i - 1;
    }
    return r->count - 1;
}

static void qwen3_answer(const struct rendering *r, size_t i, bool is_after_query)
{
    struct gguf_text thoughts, rest;

    answer_split(&r->messages[i], &thoughts, &rest);
    prompt_add(r->out, "<|im_start|>assistant\n");
    if (is_after_query && (i + 1 == r->count || thoughts.length > 0)) {
        thoughts = newlines_cut(thoughts);
        rest = newlines_skip(rest);
        prompt_add(r->out, "<think>\n");
        prompt_add_typed(r->out, thoughts.bytes, thoughts.length);
        prompt_add(r->out, "\n</think>\n\n");
    }
    prompt_add_typed(r->out, rest.bytes, rest.length);
    prompt_add(r->out, "<|im_end|>\n");
}

static void qwen3_render(const struct rendering *r)
{
    size_t query = last_query(r);

    for (size_t i = 0; i < r->count; i++) {
        if (is_role(&r->messages[i], "assistant"))
            qwen3_answer(r, i, i > query);
        else
            chatml_put(r->out, r->messages[i].role, r->messages[i].content, r->messages[i].length);
    }
    if (r->options->is_unanswered)
        return;
    prompt_add(r->out, "<|im_start|>assistant\n");
    if (r->options->no_thinking)
        prompt_add(r->out, "<think>\n\n</think>\n\n");
}

/* --- Llama 3 ---------------------------------------------------------------------------------- */

/* The text of the token that this key names; empty: there is none. */
static struct gguf_text token_text(const struct gguf *g, const char *key)
{
    struct gguf_text text = {"", 0};
    struct gguf_array tokens;
    uint64_t number;

    if (gguf_number(g, key, &number) && gguf_array(g, "tokenizer.ggml.tokens", &tokens))
        gguf_array_text(&tokens, number, &text);
    return text;
}

/* The size of the white space, as Python's str.strip() knows it, that begins here; 0: none. */
static size_t space_size(const char *text, size_t length)
{
    unsigned char a = (unsigned char)text[0], b, c;

    if (a == ' ' || (a >= 9 && a <= 13) || (a >= 0x1c && a <= 0x1f))
        return 1;
    b = length > 1 ? (unsigned char)text[1] : 0;
    if (a == 0xc2 && (b == 0x85 || b == 0xa0))
        return 2;
    c = length > 2 ? (unsigned char)text[2] : 0;
    if ((a == 0xe1 && b == 0x9a && c == 0x80) || (a == 0xe3 && b == 0x80 && c == 0x80) ||
        (a == 0xe2 && b == 0x81 && c == 0x9f) ||
        (a == 0xe2 && b == 0x80 &&
         ((c >= 0x80 && c <= 0x8a) || c == 0xa8 || c == 0xa9 || c == 0xaf)))
        return 3;
    return 0;
}

static struct gguf_text trimmed(const struct chat_message *m)
{
    struct gguf_text t = {m->content, m->length};
    size_t size;

    while (t.length > 0 && (size = space_size(t.bytes, t.length)) > 0) {
        t.bytes += size;
        t.length -= size;
    }
    for (size = 1; size <= 3 && size <= t.length;) {
        if (space_size(t.bytes + t.length - size, size) == size) {
            t.length -= size;
            size = 1;
        } else {
            size++;
        }
    }
    return t;
}

static void llama3_put(struct prompt *out, const struct chat_message *m)
{
    struct gguf_text text = trimmed(m);

    prompt_add(out, "<|start_header_id|>");
    prompt_add(out, m->role);
    prompt_add(out, "<|end_header_id|>\n\n");
    prompt_add_typed(out, text.bytes, text.length);
    prompt_add(out, "<|eot_id|>");
}

static void llama3_begin(const struct rendering *r)
{
    struct gguf_text begin = token_text(r->g, "tokenizer.ggml.bos_token_id");

    prompt_add_bytes(r->out, begin.bytes, begin.length);
}

static void llama3_messages(const struct rendering *r, size_t first)
{
    for (size_t i = first; i < r->count; i++)
        llama3_put(r->out, &r->messages[i]);
    if (!r->options->is_unanswered)
        prompt_add(r->out, "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

static void llama3_render(const struct rendering *r)
{
    llama3_begin(r);
    llama3_messages(r, 0);
}

/* Templates of 3.1 and 3.3 have a date of their own, that of 3.2 takes today's. */
static void date_put(const struct rendering *r)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[32] = "26 Jul 2024";
    time_t now = time(NULL);
    struct tm day;

    if (has_text(&r->template, "strftime_now") && localtime_r(&now, &day)) {
        size_t used = strftime(text, sizeof(text), "%d ", &day);

        used += (size_t)(stpcpy(text + used, months[day.tm_mon]) - (text + used));
        strftime(text + used, sizeof(text) - used, " %Y", &day);
    }
    prompt_add(r->out, r->options->date ? r->options->date : text);
}

static void llama31_render(const struct rendering *r)
{
    bool has_system = is_role(&r->messages[0], "system");

    llama3_begin(r);
    prompt_add(r->out, "<|start_header_id|>system<|end_header_id|>\n\n"
                       "Cutting Knowledge Date: December 2023\nToday Date: ");
    date_put(r);
    prompt_add(r->out, "\n\n");
    if (has_system) {
        struct gguf_text text = trimmed(&r->messages[0]);

        prompt_add_typed(r->out, text.bytes, text.length);
    }
    prompt_add(r->out, "<|eot_id|>");
    llama3_messages(r, has_system ? 1 : 0);
}

/* --- Zephyr ----------------------------------------------------------------------------------- */

static void zephyr_render(const struct rendering *r)
{
    struct gguf_text end = token_text(r->g, "tokenizer.ggml.eos_token_id");

    for (size_t i = 0; i < r->count; i++) {
        prompt_add(r->out, "<|");
        prompt_add(r->out, r->messages[i].role);
        prompt_add(r->out, "|>\n");
        prompt_add_typed(r->out, r->messages[i].content, r->messages[i].length);
        prompt_add_bytes(r->out, end.bytes, end.length);
        prompt_add(r->out, "\n");
    }
    if (!r->options->is_unanswered)
        prompt_add(r->out, "<|assistant|>\n");
}

/* --- Families --------------------------------------------------------------------------------- */

static const struct chat_style styles[] = {
    {"Qwen3",
     {"<|im_start|>", "ns.last_query_index", ".split('</think>')[-1].lstrip('\n')",
      ".rstrip('\n').split('<think>')[-1].lstrip('\n')", "enable_thinking is false"},
     {"assistant\n<think>\n'", "raise_exception", "preserve_thinking", "bos_token", "eos_token"},
     qwen3_render},
    {"ChatML, Qwen2.5",
     {"<|im_start|>", "(message.role == \"assistant\" and not message.tool_calls)",
      "(message.role == \"system\" and not loop.first)",
      "'<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n'"},
     {"think", "raise_exception", "trim", "bos_token", "eos_token"},
     chatml_render},
    {"ChatML",
     {"<|im_start|>", "<|im_end|>", "<|im_start|>assistant\n"},
     {"tool", "think", "raise_exception", "trim", "strip", "replace", "bos_token", "eos_token",
      "namespace", "loop.last", "elif"},
     chatml_render},
    {"Llama 3.1",
     {"<|start_header_id|>", "Cutting Knowledge Date: December 2023\n",
      "\"Today Date: \" + date_string + \"\n\n\"", "messages[0]['content']|trim",
      "message['content'] | trim + '<|eot_id|>'"},
     {"recipient", "functools", "thinking"},
     llama31_render},
    {"Llama 3",
     {"<|start_header_id|>", "message['content'] | trim + '<|eot_id|>'", "bos_token + content"},
     {"tool", "date", "elif", "function"},
     llama3_render},
    {"Zephyr",
     {"'<|user|>\n' + message['content'] + eos_token",
      "'<|system|>\n' + message['content'] + eos_token", "'<|assistant|>'", "loop.last"},
     {"tool", "trim", "bos_token", "raise_exception"},
     zephyr_render},
};
enum { STYLES = sizeof(styles) / sizeof(styles[0]) };

static bool is_style(const struct gguf_text *t, const struct chat_style *s)
{
    for (size_t i = 0; i < sizeof(s->marks) / sizeof(s->marks[0]) && s->marks[i]; i++) {
        if (!has_text(t, s->marks[i]))
            return false;
    }
    for (size_t i = 0; i < sizeof(s->strange) / sizeof(s->strange[0]) && s->strange[i]; i++) {
        if (has_text(t, s->strange[i]))
            return false;
    }
    return true;
}

/* Copies the template; the caller frees it. NULL: out of memory. */
static char *template_copy(struct gguf_text *t)
{
    char *copy = malloc(t->length + 1), *at = copy;

    for (size_t i = 0; copy && i < t->length; i++) {
        bool is_newline = t->bytes[i] == '\\' && i + 1 < t->length && t->bytes[i + 1] == 'n';

        *at = t->bytes[i];
        if (is_newline) {
            *at = '\n';
            i++;
        }
        at++;
    }
    t->bytes = copy;
    t->length = (size_t)(at - copy);
    return copy;
}

/* Sets *template, whose bytes the caller frees; also if it fails. */
static const struct chat_style *style_find(const struct gguf *g, struct gguf_text *template,
                                           char *error, size_t size)
{
    *template = (struct gguf_text){NULL, 0};
    if (!gguf_text(g, "tokenizer.chat_template", template)) {
        text_error(error, size, g,
                   "this model has no chat template (tokenizer.chat_template); /v1/completions "
                   "takes raw text");
        return NULL;
    }
    if (!template_copy(template)) {
        text_error(error, size, g, "out of memory");
        return NULL;
    }
    for (int i = 0; i < STYLES; i++) {
        if (is_style(template, &styles[i]))
            return &styles[i];
    }
    text_error(error, size, g,
               "this model's chat template is of no family that llm knows (ChatML, Qwen3, Llama 3, "
               "Zephyr); /v1/completions takes raw text");
    return NULL;
}

const char *chat_family(const struct gguf *g, char *error, size_t size)
{
    struct gguf_text template;
    const struct chat_style *style = style_find(g, &template, error, size);

    free((char *)template.bytes);
    return style ? style->name : NULL;
}

static bool messages_check(const struct rendering *r, char *error, size_t size)
{
    if (r->count == 0)
        return text_error(error, size, r->g, "a conversation needs at least one message");
    for (size_t i = 0; i < r->count; i++) {
        const struct chat_message *m = &r->messages[i];

        if (!is_role(m, "system") && !is_role(m, "user") && !is_role(m, "assistant"))
            return text_error(error, size, r->g,
                              "message %zu has the role \"%.*s\"; llm takes system, user and "
                              "assistant",
                              i, NAME_SHOWN, m->role);
    }
    return true;
}

bool chat_render(const struct gguf *g, const struct chat_message *messages, size_t count,
                 const struct chat_options *options, struct prompt *out, char *error, size_t size)
{
    struct rendering r = {
        .g = g, .messages = messages, .count = count, .options = options, .out = out};
    const struct chat_style *style = style_find(g, &r.template, error, size);
    bool is_done = style && messages_check(&r, error, size);

    if (is_done) {
        style->render(&r);
        is_done = !out->failed || text_error(error, size, g, "out of memory");
    }
    free((char *)r.template.bytes);
    return is_done;
}
