/* SPDX-License-Identifier: MIT */
/* test_gguf.c: a small file that the test writes: its keys, its tensors, its fingerprint. */
#include "examples/llm/model/gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A file that is being written. */
struct written {
    uint8_t bytes[4096];
    size_t size;
};

static void raw_put(struct written *w, const void *bytes, size_t size)
{
    assert_true(size <= sizeof(w->bytes) - w->size);
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void u32_put(struct written *w, uint32_t value)
{
    raw_put(w, &value, sizeof(value));
}

static void u64_put(struct written *w, uint64_t value)
{
    raw_put(w, &value, sizeof(value));
}

static void text_put(struct written *w, const char *text)
{
    u64_put(w, strlen(text));
    raw_put(w, text, strlen(text));
}

static void key_put(struct written *w, const char *name, uint32_t kind)
{
    text_put(w, name);
    u32_put(w, kind);
}

static void head_put(struct written *w, uint32_t version, uint64_t tensors, uint64_t keys)
{
    w->size = 0;
    raw_put(w, "GGUF", 4);
    u32_put(w, version);
    u64_put(w, tensors);
    u64_put(w, keys);
}

static void tensor_put(struct written *w, const char *name, uint64_t columns, uint64_t rows,
                       uint32_t type, uint64_t offset)
{
    text_put(w, name);
    u32_put(w, 2);
    u64_put(w, columns);
    u64_put(w, rows);
    u32_put(w, type);
    u64_put(w, offset);
}

static void data_put(struct written *w, size_t size)
{
    static const uint8_t zero[1024];

    raw_put(w, zero, -w->size % 32);
    raw_put(w, zero, size);
}

static void file_write(const struct written *w, char path[64])
{
    FILE *f;

    strcpy(path, "/tmp/test_gguf.XXXXXX");
    f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(w->bytes, 1, w->size, f), w->size);
    assert_int_equal(fclose(f), 0);
}

static struct gguf *written_open(const struct written *w, char error[512])
{
    char path[64];
    struct gguf *g;

    file_write(w, path);
    g = gguf_open(path, error, 512);
    unlink(path);
    return g;
}

static void good_put(struct written *w)
{
    static const float third = 1.0f / 3;

    head_put(w, 3, 2, 6);
    key_put(w, "general.architecture", GGUF_KIND_TEXT);
    text_put(w, "llama");
    key_put(w, "llama.block_count", GGUF_KIND_U32);
    u32_put(w, 7);
    key_put(w, "a.negative", GGUF_KIND_I32);
    u32_put(w, (uint32_t)-1);
    key_put(w, "a.third", GGUF_KIND_F32);
    raw_put(w, &third, sizeof(third));
    key_put(w, "the.texts", GGUF_KIND_ARRAY);
    u32_put(w, GGUF_KIND_TEXT);
    u64_put(w, 3);
    text_put(w, "one");
    text_put(w, "");
    text_put(w, "three");
    key_put(w, "the.numbers", GGUF_KIND_ARRAY);
    u32_put(w, GGUF_KIND_I32);
    u64_put(w, 2);
    u32_put(w, 5);
    u32_put(w, (uint32_t)-6);
    tensor_put(w, "blk.0.b", 32, 2, GGUF_Q8_0, 0);
    tensor_put(w, "blk.0.a", 3, 2, GGUF_F32, 96);
    data_put(w, 96 + 24);
}

static void good_open(void **state)
{
    static struct written w;
    struct gguf_text text;
    struct gguf_array array;
    const struct gguf_tensor *t;
    char error[512];
    struct gguf *g;
    uint64_t number = 99;
    int64_t integer = 0;
    size_t count;
    double real;

    (void)state;
    good_put(&w);
    g = written_open(&w, error);
    assert_non_null(g);

    assert_true(gguf_text(g, "general.architecture", &text));
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.bytes, "llama", 5);
    assert_false(gguf_number(g, "general.architecture", &number));
    assert_false(gguf_number(g, "a.negative", &number));
    assert_false(gguf_number(g, "no.such.key", &number));
    assert_int_equal(number, 99);
    assert_true(gguf_number(g, "llama.block_count", &number));
    assert_int_equal(number, 7);
    assert_true(gguf_real(g, "llama.block_count", &real) && real == 7);
    assert_true(gguf_real(g, "a.third", &real) && real == (double)(1.0f / 3));

    assert_true(gguf_array(g, "the.texts", &array));
    assert_int_equal(array.count, 3);
    assert_true(gguf_array_text(&array, 2, &text));
    assert_memory_equal(text.bytes, "three", 5);
    assert_true(gguf_array_text(&array, 0, &text));
    assert_memory_equal(text.bytes, "one", 3);
    assert_true(gguf_array_text(&array, 1, &text));
    assert_int_equal(text.length, 0);
    assert_false(gguf_array_text(&array, 3, &text));
    assert_false(gguf_array_integer(&array, 0, &integer));
    assert_true(gguf_array(g, "the.numbers", &array));
    assert_true(gguf_array_integer(&array, 1, &integer));
    assert_int_equal(integer, -6);

    t = gguf_tensor(g, "blk.0.a");
    assert_non_null(t);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dims[0], 3);
    assert_int_equal(t->dims[1], 2);
    assert_int_equal(t->dims[2], 1);
    assert_int_equal(t->size, 24);
    assert_int_equal((uintptr_t)t->data % 32, 0);
    assert_int_equal(gguf_tensor(g, "blk.0.b")->size, 68);
    assert_null(gguf_tensor(g, "blk.0.c"));
    assert_ptr_equal(gguf_tensors(g, &count), t);
    assert_int_equal(count, 2);
    assert_int_equal(gguf_fingerprint(g).size, w.size);
    gguf_close(g);
}

/* Another key is another fingerprint. */
static void fingerprint_differ(void **state)
{
    static struct written w;
    struct gguf_fingerprint first;
    char error[512];
    struct gguf *g;

    (void)state;
    good_put(&w);
    g = written_open(&w, error);
    assert_non_null(g);
    first = gguf_fingerprint(g);
    gguf_close(g);
    w.bytes[24 + 8] ^= 1;
    g = written_open(&w, error);
    assert_non_null(g);
    assert_true(gguf_fingerprint(g).size == first.size);
    assert_true(gguf_fingerprint(g).hash != first.hash);
    gguf_close(g);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_open),
        cmocka_unit_test(fingerprint_differ),
    };

    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
