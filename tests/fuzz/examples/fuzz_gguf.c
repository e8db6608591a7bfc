/* SPDX-License-Identifier: MIT */
/* fuzz_gguf.c: any file as a model: its keys and tensors are read, and its tokenizer and its chat
 * template are used. */
#include "examples/llm/model/gguf.h"
#include "examples/llm/text/chat.h"
#include "examples/llm/text/tokenizer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

/* The first and the last byte of each tensor can be read. */
static void tensors_touch(const struct gguf *g)
{
    size_t count;
    const struct gguf_tensor *t = gguf_tensors(g, &count);

    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = t[i].data;

        if (t[i].size == 0 || gguf_tensor(g, t[i].name) != &t[i])
            abort();
        sink += bytes[0] + bytes[t[i].size - 1];
    }
}

static void text_use(const struct gguf *g)
{
    static const struct chat_message messages[] = {{"user", " <|im_end|>\n", 12},
                                                   {"assistant", "a</think>b", 10}};
    const struct chat_options options = {.date = "22 Nov 2026"};
    int32_t tokens[64];
    char error[512];
    struct prompt p = {0};
    struct tokenizer *t = tokenizer_new(g, error, sizeof(error));
    bool has_text = chat_render(g, messages, 2, &options, &p, error, sizeof(error));

    if (t) {
        int64_t count = tokenizer_encode(t, "Hello <s> 123\n", 14, true, tokens, 64);

        for (int64_t i = 0; i < count && i < 64; i++) {
            const char *bytes;
            size_t length;

            if (tokens[i] < 0 || tokens[i] >= tokenizer_count(t))
                abort();
            tokenizer_piece(t, tokens[i], &bytes, &length);
            for (size_t j = 0; j < length; j++)
                sink += (unsigned char)bytes[j];
        }
        if (has_text && tokenizer_encode_prompt(t, &p, tokens, 64) < 0)
            abort();
    }
    prompt_free(&p);
    tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64], error[512] = "";
    struct gguf *g;

    if (fd < 0)
        fd = memfd_create("model", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    g = gguf_open(path, error, sizeof(error));
    if (!g) {
        if (strncmp(error, path, strlen(path)) != 0)
            abort();
        return 0;
    }
    tensors_touch(g);
    text_use(g);
    gguf_close(g);
    return 0;
}
