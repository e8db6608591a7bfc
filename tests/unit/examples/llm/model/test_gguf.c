/* SPDX-License-Identifier: MIT */
/* test_gguf.c: small files that the test writes: keys, tensors and fingerprint of a good one, and a
 * sentence for each that is damaged. */
#include "examples/llm/model/gguf.h"

#include "tests/unit/examples/llm/written_gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct written_gguf w;

static void good_put(void)
{
    static const float third = 1.0f / 3;

    written_head(&w, 3, 2, 6);
    written_key(&w, "general.architecture", GGUF_KIND_TEXT);
    written_text(&w, "llama");
    written_key(&w, "llama.block_count", GGUF_KIND_U32);
    written_u32(&w, 7);
    written_key(&w, "a.negative", GGUF_KIND_I32);
    written_u32(&w, (uint32_t)-1);
    written_key(&w, "a.third", GGUF_KIND_F32);
    written_raw(&w, &third, sizeof(third));
    written_array(&w, "the.texts", GGUF_KIND_TEXT, 3);
    written_text(&w, "one");
    written_text(&w, "");
    written_text(&w, "three");
    written_array(&w, "the.numbers", GGUF_KIND_I32, 2);
    written_u32(&w, 5);
    written_u32(&w, (uint32_t)-6);
    written_tensor(&w, "blk.0.b", 32, 2, GGUF_Q8_0, 0);
    written_tensor(&w, "blk.0.a", 3, 2, GGUF_F32, 96);
    written_data(&w, 96 + 24);
}

static void keys_read(void **state)
{
    struct gguf_text text;
    struct gguf_array array;
    char path[64], error[512];
    struct gguf *g;
    uint64_t number = 99;
    int64_t integer = 0;
    double real;

    (void)state;
    good_put();
    g = written_open(&w, path, error);
    assert_non_null(g);
    assert_string_equal(gguf_path(g), path);
    assert_true(gguf_text(g, "general.architecture", &text));
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.bytes, "llama", 5);
    assert_false(gguf_number(g, "general.architecture", &number));
    assert_false(gguf_number(g, "a.negative", &number));
    assert_false(gguf_number(g, "no.such.key", &number));
    assert_false(gguf_number(g, "llama.block_coun", &number));
    assert_int_equal(number, 99);
    assert_true(gguf_number(g, "llama.block_count", &number));
    assert_int_equal(number, 7);
    assert_true(gguf_real(g, "llama.block_count", &real) && real == 7);
    assert_true(gguf_real(g, "a.negative", &real) && real == -1);
    assert_true(gguf_real(g, "a.third", &real) && real == (double)(1.0f / 3));
    assert_true(gguf_has(g, "the.texts") && !gguf_has(g, "the.text"));

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
    assert_true(gguf_array_real(&array, 0, &real) && real == 5);
    assert_false(gguf_array_integer(&array, 2, &integer));
    assert_false(gguf_array_text(&array, 0, &text));
    assert_false(gguf_array(g, "llama.block_count", &array));
    gguf_close(g);
}

static void tensors_read(void **state)
{
    const struct gguf_tensor *t;
    char path[64], error[512];
    struct gguf *g;
    size_t count;

    (void)state;
    good_put();
    g = written_open(&w, path, error);
    assert_non_null(g);
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
    gguf_close(g);
}

/* Another key is another fingerprint, another weight is not. */
static void fingerprint_differ(void **state)
{
    struct gguf_fingerprint first, second;
    char path[64], error[512];
    struct gguf *g;

    (void)state;
    good_put();
    g = written_open(&w, path, error);
    assert_non_null(g);
    first = gguf_fingerprint(g);
    assert_int_equal(first.size, w.size);
    gguf_close(g);
    w.bytes[w.size - 1] ^= 1;
    g = written_open(&w, path, error);
    assert_non_null(g);
    second = gguf_fingerprint(g);
    assert_true(second.size == first.size && second.hash == first.hash);
    gguf_close(g);
    w.bytes[24 + 8] ^= 1;
    g = written_open(&w, path, error);
    assert_non_null(g);
    second = gguf_fingerprint(g);
    assert_true(second.size == first.size && second.hash != first.hash);
    gguf_close(g);
}

/* All kinds of numbers. */
static void kinds_read(void **state)
{
    static const struct {
        uint32_t kind;
        uint8_t size;
        uint8_t bytes[8];
        bool is_number;
        uint64_t number;
        double real;
    } kinds[] = {
        {GGUF_KIND_U8, 1, {200}, true, 200, 200},
        {GGUF_KIND_I8, 1, {200}, false, 0, -56},
        {GGUF_KIND_U16, 2, {0, 0x80}, true, 0x8000, 0x8000},
        {GGUF_KIND_I16, 2, {0, 0x80}, false, 0, -0x8000},
        {GGUF_KIND_I16, 2, {1, 2}, true, 513, 513},
        {GGUF_KIND_U32, 4, {255, 255, 255, 255}, true, UINT32_MAX, UINT32_MAX},
        {GGUF_KIND_I32, 4, {255, 255, 255, 255}, false, 0, -1},
        {GGUF_KIND_F32, 4, {0, 0, 0x20, 0x40}, false, 0, 2.5},
        {GGUF_KIND_BOOL, 1, {1}, true, 1, 1},
        {GGUF_KIND_U64, 8, {1, 0, 0, 0, 0, 0, 0, 0x10}, true, 0x1000000000000001, 0x1p60},
        {GGUF_KIND_I64, 8, {255, 255, 255, 255, 255, 255, 255, 255}, false, 0, -1},
        {GGUF_KIND_F64, 8, {0, 0, 0, 0, 0, 0, 4, 0xc0}, false, 0, -2.5},
    };
    char path[64], error[512];

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        uint64_t number = 0;
        double real = 0;
        struct gguf *g;

        written_head(&w, 2, 0, 1);
        written_key(&w, "k", kinds[i].kind);
        written_raw(&w, kinds[i].bytes, kinds[i].size);
        g = written_open(&w, path, error);
        assert_non_null(g);
        assert_int_equal(gguf_number(g, "k", &number), kinds[i].is_number);
        assert_int_equal(number, kinds[i].number);
        assert_true(gguf_real(g, "k", &real) && real == kinds[i].real);
        gguf_close(g);
    }
}

/* --- Damaged files ---------------------------------------------------------------------------- */

/* What a damaged file has in place of the good one's, and what the sentence says. */
struct damage {
    const char *name, *sentence;
    void (*write)(void);
};

static void key_number(const char *name, uint32_t value)
{
    written_key(&w, name, GGUF_KIND_U32);
    written_u32(&w, value);
}

/* A file with this tensor alone. */
static void one_tensor(const char *name, uint32_t n_dims, uint64_t a, uint64_t b, uint32_t type,
                       uint64_t offset, size_t data)
{
    written_head(&w, 3, 1, 0);
    written_text(&w, name);
    written_u32(&w, n_dims);
    for (uint32_t i = 0; i < n_dims && i < 8; i++)
        written_u64(&w, i == 0 ? a : i == 1 ? b : 1);
    written_u32(&w, type);
    written_u64(&w, offset);
    written_data(&w, data);
}

/* A file whose only value is of this kind and has these bytes. */
static void one_value(uint32_t kind, const void *bytes, size_t size)
{
    written_head(&w, 3, 0, 1);
    written_key(&w, "k", kind);
    written_raw(&w, bytes, size);
}

static void one_array(uint32_t kind, uint64_t count, size_t bytes)
{
    written_head(&w, 3, 0, 1);
    written_array(&w, "k", kind, count);
    written_raw(&w, (const uint8_t[64]){0}, bytes);
}

static void damage_empty(void)
{
    w.size = 0;
}

static void damage_seven_bytes(void)
{
    good_put();
    w.size = 7;
}

static void damage_magic_alone(void)
{
    good_put();
    w.size = 8;
}

static void damage_head_cut(void)
{
    good_put();
    w.size = 23;
}

static void damage_zeros(void)
{
    w.size = 64;
    memset(w.bytes, 0, w.size);
}

static void damage_lower_case(void)
{
    good_put();
    memcpy(w.bytes, "gguf", 4);
}

static void damage_ggml(void)
{
    good_put();
    memcpy(w.bytes, "lmgg", 4);
}

static void damage_ggjt(void)
{
    good_put();
    memcpy(w.bytes, "tjgg", 4);
}

static void damage_safetensors(void)
{
    w.size = 0;
    written_u64(&w, 17);
    written_raw(&w, "{\"__metadata__\":{}}", 19);
}

static void damage_pytorch(void)
{
    good_put();
    memcpy(w.bytes, "PK\3\4", 4);
}

static void damage_version_1(void)
{
    written_head(&w, 1, 0, 0);
}

static void damage_version_4(void)
{
    written_head(&w, 4, 0, 0);
}

static void damage_version_0(void)
{
    written_head(&w, 0, 0, 0);
}

static void damage_byte_order(void)
{
    written_head(&w, 0x03000000, 0, 0);
}

static void damage_keys_65537(void)
{
    written_head(&w, 3, 0, 65537);
}

static void damage_keys_all(void)
{
    written_head(&w, 3, 0, UINT64_MAX);
}

static void damage_keys_absent(void)
{
    written_head(&w, 3, 0, 3);
}

static void damage_key_name_long(void)
{
    written_head(&w, 3, 0, 1);
    written_u64(&w, 1000);
    written_data(&w, 64);
}

static void damage_key_name_endless(void)
{
    written_head(&w, 3, 0, 1);
    written_u64(&w, UINT64_MAX);
    written_data(&w, 64);
}

static void damage_key_name_empty(void)
{
    written_head(&w, 3, 0, 1);
    key_number("", 1);
}

static void damage_key_kind_cut(void)
{
    written_head(&w, 3, 0, 2);
    key_number("a", 1);
    written_text(&w, "abc");
    written_raw(&w, "\4\0", 2);
}

static void damage_key_kind_13(void)
{
    one_value(13, "12345678", 8);
}

static void damage_key_kind_all(void)
{
    one_value(UINT32_MAX, "12345678", 8);
}

static void damage_value_u32_cut(void)
{
    one_value(GGUF_KIND_U32, "123", 3);
}

static void damage_value_u64_cut(void)
{
    one_value(GGUF_KIND_U64, "1234567", 7);
}

static void damage_value_f64_cut(void)
{
    one_value(GGUF_KIND_F64, "1234567", 7);
}

static void damage_value_text_cut(void)
{
    one_value(GGUF_KIND_TEXT, "\11\0\0\0\0\0\0\0abcdefgh", 16);
}

static void damage_value_text_endless(void)
{
    one_value(GGUF_KIND_TEXT, "\377\377\377\377\377\377\377\377", 8);
}

static void damage_value_array_cut(void)
{
    one_value(GGUF_KIND_ARRAY, "\4\0\0\0\1\0\0", 7);
}

static void damage_array_endless(void)
{
    one_array(GGUF_KIND_U32, UINT64_MAX, 16);
}

/* Each text is eight bytes of zeros, which a file with holes has for nothing. */
static void damage_array_of_texts(void)
{
    one_array(GGUF_KIND_TEXT, GGUF_TEXTS_MOST + 1, 64);
}

static void damage_array_wraps(void)
{
    one_array(GGUF_KIND_U64, UINT64_MAX / 8 + 2, 16);
}

static void damage_array_one_more(void)
{
    one_array(GGUF_KIND_U32, 5, 19);
}

static void damage_array_nested(void)
{
    one_array(GGUF_KIND_ARRAY, 1, 32);
}

static void damage_array_kind_13(void)
{
    one_array(13, 1, 32);
}

static void damage_array_texts_cut(void)
{
    one_array(GGUF_KIND_TEXT, 9, 64);
}

static void damage_array_text_long(void)
{
    one_array(GGUF_KIND_TEXT, 1, 0);
    written_u64(&w, 1 << 20);
}

static void damage_key_twice(void)
{
    written_head(&w, 3, 0, 3);
    key_number("b", 1);
    key_number("a", 1);
    key_number("b", 2);
}

static void damage_key_name_printed(void)
{
    written_head(&w, 3, 0, 1);
    written_key(&w, "a\33[1mb", 99);
    written_u32(&w, 1);
}

static void damage_alignment_0(void)
{
    written_head(&w, 3, 0, 1);
    key_number("general.alignment", 0);
}

static void damage_alignment_24(void)
{
    written_head(&w, 3, 0, 1);
    key_number("general.alignment", 24);
}

static void damage_alignment_huge(void)
{
    written_head(&w, 3, 0, 1);
    key_number("general.alignment", 0x80000000);
}

static void damage_alignment_text(void)
{
    written_head(&w, 3, 0, 1);
    written_key(&w, "general.alignment", GGUF_KIND_TEXT);
    written_text(&w, "32");
}

static void damage_split(void)
{
    written_head(&w, 3, 0, 2);
    key_number("split.no", 0);
    key_number("split.count", 3);
}

static void damage_tensors_65537(void)
{
    written_head(&w, 3, 65537, 0);
}

static void damage_tensors_negative(void)
{
    written_head(&w, 3, UINT64_MAX, 0);
}

static void damage_tensors_absent(void)
{
    written_head(&w, 3, 2, 0);
}

static void damage_tensor_name_cut(void)
{
    written_head(&w, 3, 1, 0);
    written_u64(&w, 100);
    written_data(&w, 32);
}

static void damage_tensor_name_empty(void)
{
    one_tensor("", 1, 32, 1, GGUF_F32, 0, 128);
}

static void damage_tensor_name_65(void)
{
    one_tensor("12345678901234567890123456789012345678901234567890123456789012345", 1, 32, 1,
               GGUF_F32, 0, 128);
}

static void damage_tensor_name_zero(void)
{
    one_tensor("abc", 1, 32, 1, GGUF_F32, 0, 128);
    w.bytes[24 + 8 + 1] = 0;
}

static void damage_tensor_dims_0(void)
{
    one_tensor("t", 0, 1, 1, GGUF_F32, 0, 128);
}

static void damage_tensor_dims_5(void)
{
    one_tensor("t", 5, 1, 1, GGUF_F32, 0, 128);
}

static void damage_tensor_dims_all(void)
{
    one_tensor("t", UINT32_MAX, 1, 1, GGUF_F32, 0, 128);
}

static void damage_tensor_dim_zero(void)
{
    one_tensor("t", 2, 32, 0, GGUF_F32, 0, 128);
}

static void damage_tensor_dims_wrap(void)
{
    one_tensor("t", 2, 1ULL << 33, 1ULL << 33, GGUF_F32, 0, 128);
}

static void damage_tensor_dims_negative(void)
{
    one_tensor("t", 1, UINT64_MAX, 1, GGUF_F32, 0, 128);
}

static void damage_tensor_bytes_wrap(void)
{
    one_tensor("t", 2, 1ULL << 31, 1ULL << 31, GGUF_F32, 0, 128);
}

static void damage_tensor_type_q5_0(void)
{
    one_tensor("t", 2, 32, 2, 6, 0, 128);
}

static void damage_tensor_type_4(void)
{
    one_tensor("t", 2, 32, 2, 4, 0, 128);
}

static void damage_tensor_type_all(void)
{
    one_tensor("t", 2, 32, 2, UINT32_MAX, 0, 128);
}

static void damage_tensor_block_32(void)
{
    one_tensor("t", 2, 33, 32, GGUF_Q8_0, 0, 512);
}

static void damage_tensor_block_256(void)
{
    one_tensor("t", 2, 128, 2, GGUF_Q6_K, 0, 512);
}

static void damage_tensor_offset_odd(void)
{
    one_tensor("t", 2, 2, 2, GGUF_F32, 8, 128);
}

static void damage_tensor_offset_beyond(void)
{
    one_tensor("t", 2, 2, 2, GGUF_F32, 1 << 20, 128);
}

static void damage_tensor_offset_all(void)
{
    one_tensor("t", 2, 2, 2, GGUF_F32, UINT64_MAX - 31, 128);
}

static void damage_tensor_data_cut(void)
{
    one_tensor("t", 1, 32, 1, GGUF_F32, 0, 128);
    w.size = 191;
}

static void damage_tensor_data_absent(void)
{
    one_tensor("t", 1, 32, 1, GGUF_F32, 0, 0);
}

static void damage_tensor_twice(void)
{
    written_head(&w, 3, 2, 0);
    written_tensor(&w, "t", 4, 2, GGUF_F32, 0);
    written_tensor(&w, "t", 4, 2, GGUF_F32, 32);
    written_data(&w, 64);
}

static void damage_tensor_entry_cut(void)
{
    one_tensor("t", 2, 32, 1, GGUF_F32, 0, 0);
    w.size = 60;
}

static const struct damage damages[] = {
    {"empty", "is not a GGUF file: it has 0 bytes", damage_empty},
    {"seven bytes", "it has 7 bytes", damage_seven_bytes},
    {"magic alone", "is cut: it has 8 bytes", damage_magic_alone},
    {"head cut", "is cut: it has 23 bytes", damage_head_cut},
    {"zeros", "begins with 00 00 00 00", damage_zeros},
    {"lower case", "begins with 67 67 75 66", damage_lower_case},
    {"ggml", "is of a format older than GGUF", damage_ggml},
    {"ggjt", "is of a format older than GGUF", damage_ggjt},
    {"safetensors", "is a safetensors file; llm reads GGUF", damage_safetensors},
    {"pytorch", "is a PyTorch checkpoint", damage_pytorch},
    {"version 1", "of version 1; llm reads versions 2 and 3", damage_version_1},
    {"version 4", "of version 4; llm reads versions 2 and 3", damage_version_4},
    {"version 0", "of version 0", damage_version_0},
    {"byte order", "of the other byte order", damage_byte_order},
    {"keys 65537", "has 65537 keys, more than 65536", damage_keys_65537},
    {"keys all", "has 18446744073709551615 keys", damage_keys_all},
    {"keys absent", "is cut: 3 keys do not fit into its 24 bytes", damage_keys_absent},
    {"key name long", "is cut in key 1 of 1", damage_key_name_long},
    {"key name endless", "is cut in key 1 of 1", damage_key_name_endless},
    {"key name empty", "key 1 has no name", damage_key_name_empty},
    {"key kind cut", "is cut in key 2 of 2", damage_key_kind_cut},
    {"key kind 13", "the value of key k is of a kind that GGUF does not have", damage_key_kind_13},
    {"key kind all", "the value of key k is of a kind", damage_key_kind_all},
    {"value u32 cut", "the value of key k ends beyond the file", damage_value_u32_cut},
    {"value u64 cut", "the value of key k ends beyond the file", damage_value_u64_cut},
    {"value f64 cut", "the value of key k ends beyond the file", damage_value_f64_cut},
    {"value text cut", "the value of key k ends beyond the file", damage_value_text_cut},
    {"value text endless", "the value of key k ends beyond the file", damage_value_text_endless},
    {"value array cut", "the value of key k ends beyond the file", damage_value_array_cut},
    {"array endless", "the value of key k ends beyond the file", damage_array_endless},
    {"array of texts", "the value of key k has, with those before it, more than 8388608 texts",
     damage_array_of_texts},
    {"array wraps", "the value of key k ends beyond the file", damage_array_wraps},
    {"array one more", "the value of key k ends beyond the file", damage_array_one_more},
    {"array nested", "the value of key k is an array of arrays", damage_array_nested},
    {"array kind 13", "is an array of a kind that GGUF does not have", damage_array_kind_13},
    {"array texts cut", "the value of key k ends beyond the file", damage_array_texts_cut},
    {"array text long", "the value of key k ends beyond the file", damage_array_text_long},
    {"key twice", "has the key b twice", damage_key_twice},
    {"key name printed", "the value of key a?[1mb is of a kind", damage_key_name_printed},
    {"alignment 0", "general.alignment is 0, not a power of two", damage_alignment_0},
    {"alignment 24", "general.alignment is 24, not a power of two", damage_alignment_24},
    {"alignment huge", "general.alignment is 2147483648, not a power", damage_alignment_huge},
    {"alignment text", "general.alignment is no number", damage_alignment_text},
    {"split", "is one of 3 parts of a model; join them with", damage_split},
    {"tensors 65537", "has 65537 tensors, more than 65536", damage_tensors_65537},
    {"tensors negative", "has 18446744073709551615 tensors", damage_tensors_negative},
    {"tensors absent", "is cut: 2 tensors do not fit into its 24 bytes", damage_tensors_absent},
    {"tensor name cut", "is cut in the name of tensor 1", damage_tensor_name_cut},
    {"tensor name empty", "tensor 1 has a name of 0 bytes", damage_tensor_name_empty},
    {"tensor name 65", "tensor 1 has a name of 65 bytes; 1 to 64", damage_tensor_name_65},
    {"tensor name zero", "tensor 1 has a name of 3 bytes; 1 to 64 are allowed, none of them 0",
     damage_tensor_name_zero},
    {"tensor dims 0", "tensor t has 0 dimensions; 1 to 4", damage_tensor_dims_0},
    {"tensor dims 5", "tensor t has 5 dimensions; 1 to 4", damage_tensor_dims_5},
    {"tensor dims all", "tensor t has 4294967295 dimensions", damage_tensor_dims_all},
    {"tensor dim zero", "tensor t has no values: dimension 1 is 0", damage_tensor_dim_zero},
    {"tensor dims wrap", "tensor t has more than 2^63 values", damage_tensor_dims_wrap},
    {"tensor dims negative", "tensor t has more than 2^63 values", damage_tensor_dims_negative},
    {"tensor bytes wrap", "tensor t has more than 2^64 bytes", damage_tensor_bytes_wrap},
    {"tensor type q5 0",
     "tensor t is of type Q5_0, and llm reads F32, F16, Q4_0, Q8_0, Q4_K, Q6_K, BF16",
     damage_tensor_type_q5_0},
    {"tensor type 4", "tensor t is of type 4, which llm does not know", damage_tensor_type_4},
    {"tensor type all", "tensor t is of type 4294967295, which llm does not know",
     damage_tensor_type_all},
    {"tensor block 32", "tensor t has rows of 33 values; Q8_0 has blocks of 32",
     damage_tensor_block_32},
    {"tensor block 256", "tensor t has rows of 128 values; Q6_K has blocks of 256",
     damage_tensor_block_256},
    {"tensor offset odd", "tensor t begins at byte 8 of the data, which is no multiple of 32",
     damage_tensor_offset_odd},
    {"tensor offset beyond", "is cut: tensor t begins at byte 1048576 of the data",
     damage_tensor_offset_beyond},
    {"tensor offset all", "is cut: tensor t begins at byte 18446744073709551584",
     damage_tensor_offset_all},
    {"tensor data cut", "is cut: tensor t has 128 bytes at byte 64, and the file has 191 bytes",
     damage_tensor_data_cut},
    {"tensor data absent", "is cut: tensor t has 128 bytes at byte 64, and the file has 64 bytes",
     damage_tensor_data_absent},
    {"tensor twice", "has the tensor t twice", damage_tensor_twice},
    {"tensor entry cut", "is cut in tensor t", damage_tensor_entry_cut},
};

/* A limit on memory shows that nothing is allocated for what a file says but does not have. */
static void damaged_refuse(void **state)
{
    const struct rlimit limit = {256 << 20, 256 << 20};
    const char *sanitize = getenv("SANITIZE");
    char path[64], error[512];

    (void)state;
    if (sanitize && strcmp(sanitize, "no") == 0)
        assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct gguf *g;

        damages[i].write();
        g = written_open(&w, path, error);
        if (g || !strstr(error, damages[i].sentence) || strncmp(error, path, strlen(path)) != 0)
            fail_msg("%s: %s", damages[i].name, g ? "was opened" : error);
    }
}

/* The good file, cut behind each of its bytes, is refused. With any byte changed, nothing
 * crashes. */
static void cut_anywhere(void **state)
{
    char path[64], error[512];
    size_t whole;

    (void)state;
    good_put();
    whole = w.size;
    for (w.size = 0; w.size < whole; w.size++) {
        assert_null(written_open(&w, path, error));
        assert_true(strlen(error) > strlen(path) + 2);
    }
    for (size_t i = 0; i < whole; i++) {
        good_put();
        w.bytes[i] ^= 0xff;
        gguf_close(written_open(&w, path, error));
    }
}

static void file_put(const char *folder, const char *name)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* What else a path may name. */
static void other_paths_refuse(void **state)
{
    char folder[] = "/tmp/test_gguf.XXXXXX", command[64], error[512];

    (void)state;
    assert_null(gguf_open("/nonexistent/model.gguf", error, sizeof(error)));
    assert_string_equal(error,
                        "/nonexistent/model.gguf: cannot be opened: No such file or directory");
    assert_null(gguf_open("/dev/null", error, sizeof(error)));
    assert_string_equal(error, "/dev/null: is no regular file, so it cannot be mapped");
    assert_non_null(mkdtemp(folder));
    assert_null(gguf_open(folder, error, sizeof(error)));
    assert_non_null(strstr(error, "is a directory; llm needs a GGUF file"));
    file_put(folder, "model-00001-of-00002.safetensors");
    assert_null(gguf_open(folder, error, sizeof(error)));
    assert_non_null(strstr(error, "is a safetensors folder; llm reads GGUF, one file"));
    assert_non_null(strstr(error, "convert_hf_to_gguf.py"));
    file_put(folder, "small.gguf");
    assert_null(gguf_open(folder, error, sizeof(error)));
    assert_non_null(strstr(error, "is a directory: name the file in it, such as small.gguf"));
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_read),          cmocka_unit_test(tensors_read),
        cmocka_unit_test(kinds_read),         cmocka_unit_test(fingerprint_differ),
        cmocka_unit_test(damaged_refuse),     cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(other_paths_refuse),
    };

    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
