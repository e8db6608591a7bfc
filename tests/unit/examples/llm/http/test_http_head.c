/* SPDX-License-Identifier: MIT */
/* Which heads of requests are refused, and that it does not matter in which pieces they come. */
#include "examples/llm/http/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define POST "POST /v1/completions HTTP/1.1\r\n"
#define GET  "GET / HTTP/1.1\r\n"

static const struct {
    const char *head;
    int status; /* 0: it is whole */
} heads[] = {
    {GET "\r\n", 0},
    {"GET / HTTP/1.0\n\n", 0}, /* as people type it */
    {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 0},
    {"GET http://localhost/health HTTP/1.1\r\n\r\n", 0},
    {GET "Content-Length: 0\r\n\r\n", 0},
    {POST "Content-Length: 3\r\n\r\n", 0},
    {POST "content-length:\t3 \r\nHost: x\r\n\r\n", 0},
    {POST "Content-Length: 4194304\r\n\r\n", 0},
    {POST "Transfer-Encoding: Chunked\r\n\r\n", 0},
    {POST "Content-Length: 4194305\r\n\r\n", 413},
    {POST "Content-Length: 9223372036854775808\r\n\r\n", 413},
    {POST "Content-Length: 99999999999999999999999999\r\n\r\n", 413},
    {POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
    {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
    {POST "Content-Length: 3, 3\r\n\r\n", 400},
    {POST "Content-Length: +3\r\n\r\n", 400},
    {POST "Content-Length: -3\r\n\r\n", 400},
    {POST "Content-Length: 0x3\r\n\r\n", 400},
    {POST "Content-Length:\r\n\r\n", 400},
    {POST "Content-Length : 3\r\n\r\n", 400},
    {POST " Content-Length: 3\r\n\r\n", 400},
    {POST "Content-Length: 3\r\n : x\r\n\r\n", 400},
    {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {POST "Transfer-Encoding: xchunked\r\n\r\n", 501},
    {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
    {POST "\r\n", 411},
    {GET "Content-Length: 3\r\n\r\n", 400},
    {GET "Transfer-Encoding: chunked\r\n\r\n", 400},
    {GET "Host\r\n\r\n", 400},
    {GET ": x\r\n\r\n", 400},
    {GET "X: a\rb\r\n\r\n", 400},
    {GET "X: a\x01\r\n\r\n", 400},
    {"\r\n\r\n", 400},
    {"hello\r\n\r\n", 400},
    {"GET /\r\n\r\n", 400},
    {"GET / x HTTP/1.1\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\n\r\n", 400},
    {"GET x HTTP/1.1\r\n\r\n", 400},
    {"GET http://[::1]:80/x HTTP/1.1\r\n\r\n", 0},
    {"GET HTTPS://localhost HTTP/1.1\r\n\r\n", 0},
    {"GET http:// HTTP/1.1\r\n\r\n", 400},
    {"GET http://[::1/x HTTP/1.1\r\n\r\n", 400},
    {"GET http://[::1]x/ HTTP/1.1\r\n\r\n", 400},
    {"GET http://a:b/ HTTP/1.1\r\n\r\n", 400},
    {"GET http://a@b/ HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.a\r\n\r\n", 400},
    {POST "Content-Length: 3\r\nExpect: 100-Continue\r\n\r\n", 0},
    {POST "Content-Length: 3\r\nExpect: 200\r\n\r\n", 417},
    {"GET health HTTP/1.1\r\n\r\n", 400},
    {"GET http:x HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.11\r\n\r\n", 400},
    {"GET / FTP/1.1\r\n\r\n", 400},
    {"PRI * HTTP/2.0\r\n\r\n", 400},
    {"TRACE / HTTP/1.1\r\n\r\n", 501},
    {"get / HTTP/1.1\r\n\r\n", 501},
};

static void judge(const struct http_head *h, const char *head, int status)
{
    if (h->status != status || (!status && !h->is_whole))
        fail_msg("%s: status %d, %s", head, h->status, h->sentence ? h->sentence : "no sentence");
    assert_int_equal(h->sentence != NULL, status != 0);
}

static void test_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct http_head whole = {0}, pieces = {0};
        size_t size = strlen(heads[i].head), taken;

        taken = http_head_take(&whole, heads[i].head, size);
        judge(&whole, heads[i].head, heads[i].status);
        if (!heads[i].status)
            assert_int_equal(taken, size);
        for (size_t k = 0; k < size; k++)
            http_head_take(&pieces, heads[i].head + k, 1);
        judge(&pieces, heads[i].head, heads[i].status);
    }
}

/* The body, and what follows it, are not taken. */
static void test_end(void **state)
{
    static const char text[] = POST "Content-Length: 3\r\n\r\nabcGET /";
    struct http_head h = {0};

    (void)state;
    assert_int_equal(http_head_take(&h, text, strlen(text)), strlen(text) - strlen("abcGET /"));
    assert_true(h.is_whole);
    assert_int_equal(h.length, 3);
    assert_int_equal(http_head_take(&h, "x", 1), 0);
}

static void test_bytes(void **state)
{
    struct http_head h = {0}, nul = {0};

    (void)state;
    http_head_take(&nul, GET "X: \0\r\n\r\n", strlen(GET) + 8);
    assert_int_equal(nul.status, 400);
    http_head_take(&h, GET, strlen(GET));
    for (size_t i = 0; i < 1000 && !h.status; i++)
        http_head_take(&h, "X-Long: abcdefghijklmnop\r\n", 26);
    assert_int_equal(h.status, 431);
    assert_true(h.size <= HTTP_HEAD_MOST + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
