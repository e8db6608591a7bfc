/* SPDX-License-Identifier: MIT */
/* test_chat.c: which templates are taken, and what is written for them; tests/llm/text.t compares
 * many conversations with the renderer of Hugging Face. */
#include "examples/llm/text/chat.h"

#include "tests/unit/examples/llm/written_gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHATML_LOOP                                                                                \
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "            \
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

static const char chatml[] = "{% for message in messages %}" CHATML_LOOP;
static const char chatml_default[] =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nDon\\'t <panic>.<|im_end|>\n' }}{% endif %}" CHATML_LOOP;
static const char llama3[] =
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim "
    "+ '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
    "{{ content }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}";

static struct written_gguf w;

/* NULL: a file without a template. */
static struct gguf *template_open(const char *template)
{
    char path[64], error[512];
    struct gguf *g;

    written_head(&w, 3, 0, template ? 3 : 2);
    written_array(&w, "tokenizer.ggml.tokens", GGUF_KIND_TEXT, 2);
    written_text(&w, "<begin>");
    written_text(&w, "<end>");
    written_key(&w, "tokenizer.ggml.bos_token_id", GGUF_KIND_U32);
    written_u32(&w, 0);
    if (template) {
        written_key(&w, "tokenizer.chat_template", GGUF_KIND_TEXT);
        written_text(&w, template);
    }
    g = written_open(&w, path, error);
    assert_non_null(g);
    return g;
}

static void rendered_check(const char *template, const struct chat_message *messages, size_t count,
                           const struct chat_options *options, const char *expected)
{
    struct gguf *g = template_open(template);
    struct prompt p = {0};
    char error[512];

    if (!chat_render(g, messages, count, options, &p, error, sizeof(error)))
        fail_msg("%s", error);
    assert_string_equal(p.text, expected);
    prompt_free(&p);
    gguf_close(g);
}
#define MESSAGE(ROLE, TEXT)                                                                        \
    {                                                                                              \
        ROLE, TEXT, sizeof(TEXT) - 1                                                               \
    }

static void families_render(void **state)
{
    static const struct chat_message one[] = {MESSAGE("user", " Hi\n")};
    static const struct chat_message all[] = {MESSAGE("system", "Be brief."), MESSAGE("user", "a"),
                                              MESSAGE("assistant", "b"), MESSAGE("user", "c")};
    const struct chat_options plain = {0}, unanswered = {.is_unanswered = true};

    (void)state;
    rendered_check(chatml, one, 1, &plain,
                   "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n");
    rendered_check(chatml, one, 1, &unanswered, "<|im_start|>user\n Hi\n<|im_end|>\n");
    rendered_check(chatml_default, one, 1, &unanswered,
                   "<|im_start|>system\nDon't <panic>.<|im_end|>\n<|im_start|>user\n Hi\n"
                   "<|im_end|>\n");
    rendered_check(chatml_default, all, 4, &plain,
                   "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
                   "<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
                   "<|im_start|>assistant\n");
    rendered_check(llama3, one, 1, &plain,
                   "<begin><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

/* Each message's content is typed, and nothing else is. */
static void contents_typed(void **state)
{
    static const struct chat_message messages[] = {MESSAGE("user", "<|im_end|>"),
                                                   MESSAGE("assistant", ""), MESSAGE("user", "x")};
    const struct chat_options plain = {0};
    struct gguf *g = template_open(chatml);
    struct prompt p = {0};
    char error[512];

    (void)state;
    assert_true(chat_render(g, messages, 3, &plain, &p, error, sizeof(error)));
    assert_int_equal(p.typed_count, 2);
    assert_int_equal(p.typed[0].begin, strlen("<|im_start|>user\n"));
    assert_int_equal(p.typed[0].end, p.typed[0].begin + strlen("<|im_end|>"));
    assert_memory_equal(p.text + p.typed[1].begin, "x<|im_end|>\n<|im_start|>assistant\n", 34);
    assert_int_equal(p.typed[1].end, p.typed[1].begin + 1);
    prompt_free(&p);
    gguf_close(g);
}

static void refused_check(const char *template, const struct chat_message *messages, size_t count,
                          const char *sentence)
{
    const struct chat_options plain = {0};
    struct gguf *g = template_open(template);
    struct prompt p = {0};
    char error[512];

    assert_false(chat_render(g, messages, count, &plain, &p, error, sizeof(error)));
    if (!strstr(error, sentence))
        fail_msg("%s", error);
    prompt_free(&p);
    gguf_close(g);
}

static void others_refuse(void **state)
{
    static const struct chat_message one[] = {MESSAGE("user", "Hi")};
    static const struct chat_message tool[] = {MESSAGE("user", "Hi"), MESSAGE("tool\33[1m", "7")};
    static const char *const strange[] = {
        "",
        "{{ messages }}",
        "{{ '<|im_start|>' }}",
        "{{ bos_token }}" CHATML_LOOP,
        "{% if tools %}{% endif %}" CHATML_LOOP,
        "{{ '<|start_header_id|>' + '<|eot_id|>' }}",
        "[INST] {{ messages[0]['content'] }} [/INST]",
    };

    (void)state;
    refused_check(NULL, one, 1, "has no chat template (tokenizer.chat_template); /v1/completions");
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
        refused_check(strange[i], one, 1, "chat template is of no family that llm knows (ChatML, ");
    refused_check(chatml, one, 0, "a conversation needs at least one message");
    refused_check(chatml, tool, 2, "message 1 has the role \"tool?[1m\"; llm takes system, user");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_render),
        cmocka_unit_test(contents_typed),
        cmocka_unit_test(others_refuse),
    };

    return cmocka_run_group_tests_name("chat", tests, NULL, NULL);
}
