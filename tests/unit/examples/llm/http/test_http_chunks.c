/* SPDX-License-Identifier: MIT */
/* test_http_chunks.c: which bodies in chunks are refused, where each ends, and that it does not
 * matter in which pieces they come. */
#include "examples/llm/http/http_chunks.h"

#include "examples/llm/http/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    int status;      /* 0: nothing is wrong */
    int behind;      /* bytes that are not its own; -1: it has no end yet */
    uint64_t length; /* the body's */
} bodies[] = {
    {"0\r\n\r\n", 0, 0, 0},
    {"0\n\n", 0, 0, 0},
    {"2\r\n{}\r\n0\r\n\r\nGET /", 0, 5, 2},
    {"2\n{}\n0\n\nG", 0, 1, 2},
    {"1\r\na\r\na\r\n0123456789\r\n00\r\n\r\n", 0, 0, 11},
    {"A\r\n0123456789\r\n0000000000000000\r\n\r\n", 0, 0, 10},
    {"2\r\n\r\n\r\n0\r\n\r\n", 0, 0, 2},
    {"400000\r\n", 0, -1, 0},
    {"", 0, -1, 0},
    {"2", 0, -1, 0},
    {"2\r\n{", 0, -1, 0},
    {"2\r\n{}\r\n0\r\n", 0, -1, 0},
    {"2\r\n{}\r\n0\r\n\r", 0, -1, 0},
    {"400001\r\n", 413, 2, 0},
    {"7fffffffffffffff\r\n", 413, -1, 0},
    {"ffffffffffffffffffff\r\n", 413, -1, 0},
    {"00000000000000002\r\n", 400, 2, 0},
    {"-2\r\n", 400, 3, 0},
    {"+2\r\n", 400, 3, 0},
    {"0x2\r\n", 400, 3, 0},
    {" 2\r\n", 400, 3, 0},
    {"2 \r\n", 400, 2, 0},
    {"2;a=b\r\n", 400, 5, 0},
    {"g\r\n", 400, 2, 0},
    {"\r\n", 400, 1, 0},
    {"\n", 400, 0, 0},
    {"2\r2\n", 400, 1, 0},
    {"2\r\r\n", 400, 1, 0},
    {"2\r\n{}x\r\n", 400, 2, 0},
    {"2\r\n{}\r\r\n", 400, 1, 0},
    {"2\r\n{}\r\n\r\n", 400, 1, 0},
    {"0\r\nX: y\r\n\r\n", 400, 7, 0},
    {"0\r\n\r\r\n", 400, 1, 0},
};

static void judge(const struct http_chunks *c, size_t i, size_t taken)
{
    size_t size = strlen(bodies[i].text);

    if (c->status != bodies[i].status || (c->status != 0) != (c->sentence != NULL))
        fail_msg("%s: status %d, %s", bodies[i].text, c->status, c->sentence ? c->sentence : "");
    if (bodies[i].behind >= 0)
        assert_int_equal(size - taken, bodies[i].behind);
    assert_int_equal(c->is_whole, !c->status && bodies[i].behind >= 0);
    if (c->is_whole)
        assert_int_equal(c->size, bodies[i].length);
}

static void bodies_are_taken_to_their_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct http_chunks whole = {0}, pieces = {0};
        size_t size = strlen(bodies[i].text), taken = 0;

        judge(&whole, i, http_chunks_take(&whole, bodies[i].text, size));
        for (size_t k = 0; k < size; k++)
            taken += http_chunks_take(&pieces, bodies[i].text + k, 1);
        judge(&pieces, i, taken);
    }
}

static void all_chunks_together_have_a_bound(void **state)
{
    static const char chunk[] = "10000\r\n";
    static char bytes[0x10000];
    struct http_chunks c = {0};

    (void)state;
    for (int i = 0; i < 64; i++) {
        assert_int_equal(http_chunks_take(&c, chunk, 7), 7);
        assert_int_equal(http_chunks_take(&c, bytes, sizeof(bytes)), sizeof(bytes));
        assert_int_equal(http_chunks_take(&c, "\r\n", 2), 2);
    }
    assert_int_equal(c.status, 0);
    assert_int_equal(c.size, HTTP_BODY_MOST);
    http_chunks_take(&c, "1", 1);
    assert_int_equal(c.status, 413);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_taken_to_their_end),
        cmocka_unit_test(all_chunks_together_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
