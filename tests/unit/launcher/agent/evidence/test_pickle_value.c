/* SPDX-License-Identifier: MIT */
/* test_pickle_value.c: what torch writes into pickles; what is refused, such as a value that holds
 * itself. Nothing that a pickle names is ever called. */
#include "launcher/agent/evidence/pickle_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *bytes, size_t size, const char *expected)
{
    json_t *value = pickle_value_read(bytes, size);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    if (!text || strcmp(text, expected) != 0)
        fail_msg("%s instead of %s", text ? text : "nothing", expected);
    free(text);
    json_decref(value);
}
#define IS(bytes, expected) is("\x80\x02" bytes ".", sizeof("\x80\x02" bytes "."), expected)
#define REFUSES(bytes)      assert_null(pickle_value_read(bytes, sizeof(bytes) - 1))

static void values(void **state)
{
    (void)state;
    IS("N", "null");
    IS("\x88", "true");
    IS("\x89", "false");
    IS("K\xff", "255");
    IS("M\x34\x12", "4660");
    IS("J\xfe\xff\xff\xff", "-2");
    IS("\x8a\x08\x15\xcd\x5b\x07\x00\x00\x00\x80", "-9223372036731319019");
    IS("\x8a\x01\xff", "-1");
    IS("\x8a\x00", "0");
    IS("G\x3f\xc0\x00\x00\x00\x00\x00\x00", "0.125");
    IS("G\x7f\xf0\x00\x00\x00\x00\x00\x00", "null");
    IS("X\x02\x00\x00\x00hi", "\"hi\"");
    IS("X\x02\x00\x00\x00\xff!", "\"?!\"");
    IS("]", "[]");
    IS(")", "[]");
    IS("](K\x01K\x02"
       "e",
       "[1,2]");
    IS("(K\x01K\x02t", "[1,2]");
    IS("K\x01K\x02\x86", "[1,2]");
    IS("K\x01\x85", "[1]");
    IS("}(X\x01\x00\x00\x00"
       "aK\x01K\x02K\x03X\x01\x00\x00\x00"
       "bN"
       "u",
       "{\"a\":1,\"b\":null}");
    /* What was put aside is the same value again. */
    IS("(X\x01\x00\x00\x00"
       "aq\x00h\x00r\x01\x00\x00\x00j\x01\x00\x00\x00t",
       "[\"a\",\"a\",\"a\"]");
}

static void calls(void **state)
{
    (void)state;
    IS("ctorch.jit._pickle\nrestore_type_tag\nq\x00](K\x07"
       "eX\x09\x00\x00\x00List[Any]\x86R",
       "[7]");
    IS("cos\nsystem\nX\x04\x00\x00\x00"
       "true\x85R",
       "\"true\"");
    IS("cos\nabort\n)R", "null");
}

static void refused(void **state)
{
    char deep[100];

    (void)state;
    REFUSES("");
    REFUSES("\x80\x02");
    REFUSES("K");
    REFUSES("X\xff\xff\xff\xff"
            "abc.");
    REFUSES("cos\nsystem");
    REFUSES(".");
    REFUSES("(.");
    REFUSES("NN.");
    REFUSES("\x85.");
    REFUSES("(\x85.");
    REFUSES("t.");
    REFUSES("e.");
    REFUSES("(e.");
    REFUSES("((e.");
    REFUSES("}(e.");
    REFUSES("](u.");
    REFUSES("NR.");
    REFUSES("NNR.");
    REFUSES("h\x00.");
    REFUSES("Nq\x01.");
    REFUSES("q\x00.");
    REFUSES("\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.");
    REFUSES("]q\x00(h\x00"
            "e."); /* a list that would hold itself */
    REFUSES("\x8c\x01"
            "a.");
    REFUSES("I1\n.");
    memset(deep, '\x85', sizeof(deep));
    deep[0] = 'N';
    assert_null(pickle_value_read(deep, sizeof(deep)));
}

/* Cut anywhere, a dump is refused, so that one that is still being written is not taken. */
static void cut(void **state)
{
    static const char whole[] = "\x80\x02}q\x00(X\x01\x00\x00\x00"
                                "a](K\x01G\x3f\xc0\x00\x00\x00\x00\x00\x00"
                                "eu.";

    (void)state;
    for (size_t size = 0; size + 1 < sizeof(whole) - 1; size++)
        assert_null(pickle_value_read(whole, size));
}

static void many(void **state)
{
    size_t size = 3 << 20;
    char *bytes = malloc(size);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'N', size);
    assert_null(pickle_value_read(bytes, size));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values), cmocka_unit_test(calls), cmocka_unit_test(refused),
        cmocka_unit_test(cut),    cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
