/* SPDX-License-Identifier: MIT */
#include "tests/unit/examples/llm/written_gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void written_raw(struct written_gguf *w, const void *bytes, size_t size)
{
    if (size > sizeof(w->bytes) - w->size)
        abort();
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

void written_u32(struct written_gguf *w, uint32_t value)
{
    written_raw(w, &value, sizeof(value));
}

void written_u64(struct written_gguf *w, uint64_t value)
{
    written_raw(w, &value, sizeof(value));
}

void written_text(struct written_gguf *w, const char *text)
{
    written_u64(w, strlen(text));
    written_raw(w, text, strlen(text));
}

void written_key(struct written_gguf *w, const char *name, uint32_t kind)
{
    written_text(w, name);
    written_u32(w, kind);
}

void written_array(struct written_gguf *w, const char *name, uint32_t kind, uint64_t count)
{
    written_key(w, name, GGUF_KIND_ARRAY);
    written_u32(w, kind);
    written_u64(w, count);
}

void written_head(struct written_gguf *w, uint32_t version, uint64_t tensors, uint64_t keys)
{
    w->size = 0;
    written_raw(w, "GGUF", 4);
    written_u32(w, version);
    written_u64(w, tensors);
    written_u64(w, keys);
}

void written_tensor(struct written_gguf *w, const char *name, uint64_t columns, uint64_t rows,
                    uint32_t type, uint64_t offset)
{
    written_text(w, name);
    written_u32(w, 2);
    written_u64(w, columns);
    written_u64(w, rows);
    written_u32(w, type);
    written_u64(w, offset);
}

void written_data(struct written_gguf *w, size_t size)
{
    static const uint8_t zero[1024];

    written_raw(w, zero, -w->size % 32);
    written_raw(w, zero, size);
}

struct gguf *written_open(const struct written_gguf *w, char path[64], char error[512])
{
    struct gguf *g;
    FILE *f;

    strcpy(path, "/tmp/test_gguf.XXXXXX");
    f = fdopen(mkstemp(path), "w");
    if (!f || fwrite(w->bytes, 1, w->size, f) != w->size || fclose(f))
        abort();
    error[0] = '\0';
    g = gguf_open(path, error, 512);
    unlink(path);
    return g;
}
