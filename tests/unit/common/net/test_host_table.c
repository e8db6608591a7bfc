/* SPDX-License-Identifier: MIT */
/* test_host_table.c: lists about all hosts of a job, in the short form of messages. */
#include "common/net/host_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fault.h"

enum { MOST = 8 };

static void expect_text(json_t *list, const char *text)
{
    char *found = json_dumps(list, JSON_COMPACT);

    assert_non_null(found);
    assert_string_equal(found, text);
    free(found);
}

static void test_texts(void **state)
{
    static const struct {
        const char *texts[MOST];
        const char *form;
    } cases[] = {
        {{NULL}, "[]"},
        {{"a"}, "[\"a\"]"},
        {{"", "", ""}, "[[\"\",3]]"},
        {{"a", "a", "b"}, "[[\"a\",2],\"b\"]"},
        {{"n1", "n2"}, "[\"n1\",\"n2\"]"},
        {{"n1", "n2", "n3"}, "[[\"n\",1,1,3,\"\"]]"},
        {{"login", "n08-ib", "n09-ib", "n10-ib", "n11-ib"}, "[\"login\",[\"n\",8,2,4,\"-ib\"]]"},
        {{"9", "10", "11"}, "[[\"\",9,1,3,\"\"]]"},
        {{"09", "10", "11"}, "[[\"\",9,2,3,\"\"]]"},
        {{"009", "10", "11"}, "[\"009\",\"10\",\"11\"]"},
        {{"n1", "n10", "n100"}, "[\"n1\",\"n10\",\"n100\"]"},
        {{"10.0.0.9", "10.0.0.10", "10.0.0.11", "10.0.1.1"},
         "[[\"10.0.0.\",9,1,3,\"\"],\"10.0.1.1\"]"},
        {{"r1n1", "r1n2", "r1n3", "r2n1", "r2n2", "r2n3"},
         "[[\"r1n\",1,1,3,\"\"],[\"r2n\",1,1,3,\"\"]]"},
        {{"n999999997", "n999999998", "n999999999", "n1000000000"},
         "[[\"n\",999999997,9,3,\"\"],\"n1000000000\"]"},
        {{"1234567890", "1234567891", "1234567892"},
         "[\"1234567890\",\"1234567891\",\"1234567892\"]"},
        {{"caf\xc3\xa9"
          "1",
          "caf\xc3\xa9"
          "2",
          "caf\xc3\xa9"
          "3"},
         "[[\"caf\xc3\xa9\",1,1,3,\"\"]]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char **read;
        json_t *list;
        int count = 0;

        while (count < MOST && cases[i].texts[count])
            count++;
        list = host_table_write_texts(cases[i].texts, count);
        expect_text(list, cases[i].form);
        assert_int_equal(host_table_read_texts(&read, list, count), 0);
        for (int k = 0; k < count; k++)
            assert_string_equal(read[k], cases[i].texts[k]);
        assert_null(read[count]);
        free(read);
        json_decref(list);
    }
}

static void test_not_text(void **state)
{
    static const char *const odd[] = {"caf\xe9"};

    (void)state;
    assert_null(host_table_write_texts(odd, 1));
}

/* A text that is too long to be taken apart comes as it is. */
static void test_long_texts(void **state)
{
    char texts[3][400];
    const char *list[3];
    const char **read;
    json_t *form;

    (void)state;
    for (int i = 0; i < 3; i++) {
        memset(texts[i], 'x', sizeof(texts[i]));
        snprintf(texts[i] + 300, 100, "%d", i);
        list[i] = texts[i];
    }
    form = host_table_write_texts(list, 3);
    assert_int_equal(json_array_size(form), 3);
    assert_int_equal(host_table_read_texts(&read, form, 3), 0);
    assert_string_equal(read[2], texts[2]);
    free(read);
    json_decref(form);
}

static void test_numbers(void **state)
{
    static const struct {
        int count, numbers[MOST];
        const char *form;
    } cases[] = {
        {0, {0}, "[]"},
        {1, {7}, "[7]"},
        {4, {0, 0, 1, 1}, "[[0,2,2,1]]"},
        {5, {0, 0, 1, 1, 2}, "[[0,2,2,1],2]"},
        {6, {0, 1, 2, 0, 1, 2}, "[[0,3,1,2]]"},
        {7, {0, 1, 2, 0, 1, 2, 0}, "[[0,3,1,2],0]"},
        {8, {0, 0, 1, 1, 0, 0, 1, 1}, "[[0,2,2,2]]"},
        {3, {3, 1, 0}, "[3,1,0]"},
        {4, {2, 2, 2, 2}, "[[2,1,4,1]]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *list = host_table_write_numbers(cases[i].numbers, cases[i].count);
        int *read;

        expect_text(list, cases[i].form);
        assert_int_equal(host_table_read_numbers(&read, list, cases[i].count, 8), 0);
        assert_memory_equal(read, cases[i].numbers, sizeof(int) * (size_t)cases[i].count);
        free(read);
        json_decref(list);
    }
}

static void test_refused_texts(void **state)
{
    static const char *const forms[] = {
        "{}",
        "\"a\"",
        "null",
        "[\"a\"]",
        "[\"a\",\"b\",\"c\"]",
        "[\"a\",1]",
        "[\"a\",null]",
        "[[],[]]",
        "[[\"a\",3]]",
        "[[\"a\",-1],[\"a\",3]]",
        "[[\"a\",0],[\"a\",2]]",
        "[[\"a\",2],[\"a\",0]]",
        "[[\"a\",2.0]]",
        "[[2,2]]",
        "[[\"a\",2,2]]",
        "[[\"a\",1,1,2]]",
        "[[\"a\",1,1,2,3]]",
        "[[\"a\",1,1,2,\"\",0]]",
        "[[\"a\",-1,1,2,\"\"]]",
        "[[\"a\",1,0,2,\"\"]]",
        "[[\"a\",1,10,2,\"\"]]",
        "[[\"a\",1,1,3,\"\"]]",
        "[[\"a\",999999999,1,2,\"\"]]",
        "[[\"a\",1,1,4294967298,\"\"]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        json_t *list = json_loads(forms[i], JSON_DECODE_ANY, NULL);
        const char **read = NULL;

        if (host_table_read_texts(&read, list, 2) != ML_ERR_REFUSED || read)
            fail_msg("%s is not refused", forms[i]);
        json_decref(list);
    }
}

/* A short message must not make a long text for each of a million hosts. */
static void test_long_parts(void **state)
{
    char part[300];
    json_t *list;
    const char **read;

    (void)state;
    memset(part, 'x', sizeof(part));
    part[256] = '\0';
    for (int cut = 256; cut >= 255; cut--) {
        int expected = cut == 256 ? ML_ERR_REFUSED : 0;

        part[cut] = '\0';
        list = json_pack("[[s, i]]", part, 2);
        read = NULL;
        assert_int_equal(host_table_read_texts(&read, list, 2), expected);
        free(read);
        json_decref(list);
        list = json_pack("[[s, i, i, i, s]]", part, 8, 1, 2, part);
        read = NULL;
        assert_int_equal(host_table_read_texts(&read, list, 2), expected);
        free(read);
        json_decref(list);
    }
}

static void test_refused_numbers(void **state)
{
    static const char *const forms[] = {
        "{}",
        "0",
        "null",
        "[0,1,2]",
        "[0,1,2,3,4]",
        "[0,1,2,4]",
        "[0,1,2,-1]",
        "[0,1,2,\"3\"]",
        "[0,1,2,1.0]",
        "[[0,4,1]]",
        "[[0,4,1,1,1]]",
        "[[0,0,4,1],0,0,0,0]",
        "[[0,5,1,1]]",
        "[[1,4,1,1]]",
        "[[-1,4,1,1]]",
        "[[0,4,1,2]]",
        "[[0,1,5,1]]",
        "[[0,2,2,0],0,0,0,0]",
        "[[0,4294967296,4294967296,4]]",
        "[[0,2,2147483647,2147483647]]",
        "[0,1,2,3,[0,1,1,1]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        json_t *list = json_loads(forms[i], JSON_DECODE_ANY, NULL);
        int *read = NULL;

        if (host_table_read_numbers(&read, list, 4, 4) != ML_ERR_REFUSED || read)
            fail_msg("%s is not refused", forms[i]);
        json_decref(list);
    }
}

/* A thousand hosts take no more bytes than ten. */
static void test_size(void **state)
{
    char names[1000][16], *text;
    const char *list[1000];
    int host_of[8000];
    json_t *form;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof(names[i]), "node%04d", i);
        list[i] = names[i];
    }
    for (int i = 0; i < 8000; i++)
        host_of[i] = i / 8;
    form = json_pack("[o, o]", host_table_write_texts(list, 1000),
                     host_table_write_numbers(host_of, 8000));
    text = json_dumps(form, JSON_COMPACT);
    assert_string_equal(text, "[[[\"node\",0,4,1000,\"\"]],[[0,1000,8,1]]]");
    free(text);
    json_decref(form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),           cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_long_texts),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused_texts),   cmocka_unit_test(test_long_parts),
        cmocka_unit_test(test_refused_numbers), cmocka_unit_test(test_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
