/* SPDX-License-Identifier: MIT */
#include "common/net/auth.h"

#include "common/build_id.h"
#include "common/net/stranger_limits.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

static const uint8_t secret[AUTH_SECRET] = {1, 2, 3, 4};
static const uint8_t other_secret[AUTH_SECRET] = {1, 2, 3, 5};
static const struct auth_identity me = {
    .purpose = "mesh", .rank = 3, .generation = 4000000000, .group = 7};

struct pair {
    struct auth *client, *server;
};

static void pair_open(struct pair *p, const char *client_job, const uint8_t *client_secret)
{
    struct fault why;

    assert_int_equal(auth_create_connector(&p->client, client_job, client_secret, &me, &why), 0);
    assert_int_equal(auth_create_acceptor(&p->server, "job", secret, &why), 0);
}

static void pair_close(struct pair *p)
{
    auth_destroy(p->client);
    auth_destroy(p->server);
}

/* The output of `a` as a frame; its payload is copied to `payload`. */
static struct frame output(struct auth *a, uint8_t payload[2048])
{
    struct frame f = {0};
    size_t size;
    const uint8_t *bytes = auth_output(a, &size);

    if (size == 0)
        return f;
    assert_true(size >= FRAME_HEADER && size < 2048);
    f.type = bytes[5];
    f.size = (uint32_t)(size - FRAME_HEADER);
    memcpy(payload, bytes + FRAME_HEADER, f.size);
    payload[f.size] = 0;
    f.payload = payload;
    auth_output(a, &size);
    assert_int_equal(size, 0);
    return f;
}

/* Passes the output of `from` to `to`. */
static int pass(struct auth *from, struct auth *to, enum auth_progress *progress, struct fault *why)
{
    uint8_t payload[2048];
    struct frame f = output(from, payload);

    assert_int_not_equal(f.type, 0);
    return auth_input(to, &f, progress, why);
}

static int input_text(struct auth *to, uint8_t type, const char *text)
{
    struct frame f = {type, (uint32_t)strlen(text), (uint8_t *)(uintptr_t)text};
    enum auth_progress progress;
    struct fault why;
    int rc = auth_input(to, &f, &progress, &why);

    assert_int_equal(progress, AUTH_MORE);
    return rc;
}

/* `a` has refused: it tells the peer so and accepts no further frame. */
static void expect_refusal(struct auth *a, const char *word)
{
    uint8_t payload[2048];
    struct frame f = output(a, payload);

    assert_int_equal(f.type, AUTH_FRAME_REFUSED);
    if (!strstr((char *)payload, word))
        fail_msg("%s does not say \"%s\"", payload, word);
    assert_int_equal(input_text(a, AUTH_FRAME_HELLO, "{}"), ML_ERR_REFUSED);
}

static void test_success(void **state)
{
    enum auth_progress progress;
    struct fault why;
    struct pair p;

    (void)state;
    pair_open(&p, "job", secret);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    assert_int_equal(progress, AUTH_MORE);
    assert_int_equal(pass(p.server, p.client, &progress, &why), 0);
    assert_int_equal(progress, AUTH_DONE);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    assert_int_equal(progress, AUTH_DONE);
    assert_string_equal(auth_peer(p.server)->purpose, "mesh");
    assert_int_equal(auth_peer(p.server)->rank, 3);
    assert_true(auth_peer(p.server)->generation == 4000000000);
    assert_int_equal(auth_peer(p.server)->group, 7);
    pair_close(&p);
}

/* What one side sends with, the other receives with; no key is that of another direction or of
 * another connection. */
static void test_keys(void **state)
{
    enum { CONNECTIONS = 3 };
    struct auth_keys client[CONNECTIONS], server[CONNECTIONS];
    enum auth_progress progress;
    struct fault why;

    (void)state;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct pair p;

        pair_open(&p, "job", secret);
        assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
        assert_int_equal(pass(p.server, p.client, &progress, &why), 0);
        assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
        auth_derive_keys(p.client, &client[i]);
        auth_derive_keys(p.server, &server[i]);
        pair_close(&p);
        assert_memory_equal(client[i].send, server[i].receive, AUTH_KEY);
        assert_memory_equal(client[i].receive, server[i].send, AUTH_KEY);
        assert_memory_not_equal(client[i].send, client[i].receive, AUTH_KEY);
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(client[i].send, client[k].send, AUTH_KEY);
            assert_memory_not_equal(client[i].send, client[k].receive, AUTH_KEY);
            assert_memory_not_equal(client[i].receive, client[k].receive, AUTH_KEY);
        }
    }
}

/* The keys of a connection between two sides that know the secret, of which `client` and `server`
 * exchange keys. True: they fit. */
static bool exchanged_fit(bool client, bool server, struct auth_keys *keys)
{
    enum auth_progress progress;
    struct auth_keys other;
    struct fault why;
    struct pair p;

    pair_open(&p, "job", secret);
    assert_int_equal(client ? auth_exchange_keys(p.client, &why) : 0, 0);
    assert_int_equal(server ? auth_exchange_keys(p.server, &why) : 0, 0);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    assert_int_equal(pass(p.server, p.client, &progress, &why), 0);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    auth_derive_keys(p.client, keys);
    auth_derive_keys(p.server, &other);
    pair_close(&p);
    return memcmp(keys->send, other.receive, AUTH_KEY) == 0 &&
           memcmp(keys->receive, other.send, AUTH_KEY) == 0;
}

/* Keys that depend on an exchange, and are not those that follow from secret and nonces alone. */
static void test_exchanged_keys(void **state)
{
    struct auth_keys keys[2];

    (void)state;
    assert_true(exchanged_fit(true, true, &keys[0]));
    assert_true(exchanged_fit(true, true, &keys[1]));
    assert_memory_not_equal(keys[0].send, keys[0].receive, AUTH_KEY);
    assert_memory_not_equal(keys[0].send, keys[1].send, AUTH_KEY);
    assert_false(exchanged_fit(true, false, &keys[0]));
    assert_false(exchanged_fit(false, true, &keys[0]));
}

/* The proof of a HELLO for host 0 with this nonce, as doc/protocol.md says. */
static void hello_proof(const char *nonce, char out[2 * AUTH_MAC + 1])
{
    static const char *const words[] = {"job", "join", "0", "0", "0"};
    crypto_auth_hmacsha256_state h;
    uint8_t mac[AUTH_MAC];

    crypto_auth_hmacsha256_init(&h, secret, AUTH_SECRET);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)"hello", 6);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)build_id, strlen(build_id) + 1);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        crypto_auth_hmacsha256_update(&h, (const uint8_t *)words[i], strlen(words[i]) + 1);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)nonce, strlen(nonce) + 1);
    crypto_auth_hmacsha256_final(&h, mac);
    sodium_bin2hex(out, 2 * AUTH_MAC + 1, mac, sizeof(mac));
}

/* A public key by which both would agree on a key that everybody knows. */
static void test_weak_public_key(void **state)
{
    static const char weak[] = "{\"build\":\"%s\",\"job\":\"job\",\"purpose\":\"join\",\"rank\":0,"
                               "\"generation\":0,\"group\":0,\"nonce\":\"%s\",\"proof\":\"%s\"}";
    struct auth_keys keys[2];
    char hello[512], nonce[2 * AUTH_NONCE + 1], proof[2 * AUTH_MAC + 1];
    struct fault why;
    struct pair p;

    (void)state;
    snprintf(nonce, sizeof(nonce), "%064d", 0);
    hello_proof(nonce, proof);
    snprintf(hello, sizeof(hello), weak, build_id, nonce, proof);
    pair_open(&p, "job", secret);
    assert_int_equal(auth_exchange_keys(p.server, &why), 0);
    assert_int_equal(input_text(p.server, AUTH_FRAME_HELLO, hello), 0);
    for (int i = 0; i < 2; i++)
        auth_derive_keys(p.server, &keys[i]);
    assert_memory_not_equal(keys[0].send, keys[1].send, AUTH_KEY);
    pair_close(&p);
}

static void test_wrong_secret(void **state)
{
    enum auth_progress progress;
    struct fault why;
    struct pair p;

    (void)state;
    pair_open(&p, "job", other_secret);
    assert_int_equal(pass(p.client, p.server, &progress, &why), ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "could not prove"));
    assert_int_equal(pass(p.server, p.client, &progress, &why), ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "it refused the connection: the proof"));
    pair_close(&p);
}

static void test_other_job(void **state)
{
    enum auth_progress progress;
    struct fault why;
    struct pair p;

    (void)state;
    pair_open(&p, "another", secret);
    assert_int_equal(pass(p.client, p.server, &progress, &why), ML_ERR_REFUSED);
    expect_refusal(p.server, "belongs to another job");
    pair_close(&p);
}

/* The connector's HELLO with one member replaced. */
static json_t *hello_of(struct pair *p, const char *key, json_t *value)
{
    uint8_t payload[2048];
    json_t *hello;

    output(p->client, payload);
    hello = json_loads((char *)payload, 0, NULL);
    assert_non_null(hello);
    if (value)
        json_object_set_new(hello, key, value);
    else
        json_object_del(hello, key);
    return hello;
}

static void send_json(struct pair *p, uint8_t type, json_t *message, int expected)
{
    char *text = json_dumps(message, 0);

    assert_int_equal(input_text(p->server, type, text), expected);
    free(text);
    json_decref(message);
}

static void test_other_build(void **state)
{
    struct pair p;

    (void)state;
    pair_open(&p, "job", secret);
    send_json(&p, AUTH_FRAME_HELLO, hello_of(&p, "build", json_string("0123456789abcdef")),
              ML_ERR_REFUSED);
    expect_refusal(p.server, "not 0123456789abcdef; both must be the same build");
    pair_close(&p);
}

static void test_malformed_hello(void **state)
{
    static const struct {
        const char *key, *value;
    } bad[] = {
        {"build", "\"\\u001b[2J\""},
        {"build", "7"},
        {"job", "null"},
        {"purpose", "\"0123456789012345678901234567890123\""},
        {"purpose", "\"two words\""},
        {"rank", "-1"},
        {"rank", "2147483648"},
        {"rank", "\"3\""},
        {"rank", "1.5"},
        {"generation", "-1"},
        {"generation", "4294967296"},
        {"group", "4294967296"},
        {"nonce", "\"abcd\""},
        {"nonce", "\"zz\""},
        {"proof", "\"\""},
        {"proof", "7"},
    };
    static const char *const keys[] = {"build",      "job",   "purpose", "rank",
                                       "generation", "group", "nonce",   "proof"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pair p;

        pair_open(&p, "job", secret);
        send_json(&p, AUTH_FRAME_HELLO,
                  hello_of(&p, bad[i].key, json_loads(bad[i].value, JSON_DECODE_ANY, NULL)),
                  ML_ERR_REFUSED);
        expect_refusal(p.server, "");
        pair_close(&p);
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct pair p;

        pair_open(&p, "job", secret);
        send_json(&p, AUTH_FRAME_HELLO, hello_of(&p, keys[i], NULL), ML_ERR_REFUSED);
        expect_refusal(p.server, "malformed");
        pair_close(&p);
    }
}

/* The whole identity is covered by the proof of the HELLO: a change on the way is noticed. */
static void test_tampered_identity(void **state)
{
    static const struct {
        const char *key, *value;
    } changes[] = {
        {"purpose", "\"rank\""},
        {"rank", "4"},
        {"generation", "3999999999"},
        {"group", "8"},
        {"nonce", "\"0000000000000000000000000000000000000000000000000000000000000000\""},
        {"proof", "\"0000000000000000000000000000000000000000000000000000000000000000\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct pair p;

        pair_open(&p, "job", secret);
        send_json(&p, AUTH_FRAME_HELLO,
                  hello_of(&p, changes[i].key, json_loads(changes[i].value, JSON_DECODE_ANY, NULL)),
                  ML_ERR_REFUSED);
        expect_refusal(p.server, "proof of the job's secret is wrong");
        pair_close(&p);
    }
}

/* The proof of a HELLO, a CHALLENGE and a PROOF, at its first digit and at its last. */
static void test_tampered_proof(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        enum auth_progress progress;
        uint8_t payload[2048];
        struct fault why;
        struct frame f;
        struct pair p;
        struct auth *from, *to;
        char *digit;

        pair_open(&p, "job", secret);
        from = p.client, to = p.server;
        for (int k = 0; k < i / 2; k++) {
            assert_int_equal(pass(from, to, &progress, &why), 0);
            from = to, to = from == p.client ? p.server : p.client;
        }
        f = output(from, payload);
        digit = strstr((char *)payload, "\"proof\":\"") + 9 + (i % 2 ? 63 : 0);
        *digit = *digit == 'a' ? 'b' : 'a';
        assert_int_equal(auth_input(to, &f, &progress, &why), ML_ERR_REFUSED);
        assert_int_equal(progress, AUTH_MORE);
        assert_non_null(strstr(why.text, "could not prove"));
        expect_refusal(to, "proof of the job's secret is wrong");
        pair_close(&p);
    }
}

/* A peer without the secret has an old connection's HELLO, and sends back the acceptor's own proof,
 * or that of the old connection. */
static void test_reflected_and_replayed(void **state)
{
    enum auth_progress progress;
    uint8_t payload[2048], proof[2048];
    const char *mac;
    struct fault why;
    struct frame f;
    struct pair p, q;
    json_t *j;

    (void)state;
    pair_open(&p, "job", secret);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    output(p.server, payload);
    j = json_loads((char *)payload, 0, NULL);
    assert_int_equal(json_unpack(j, "{s:s}", "proof", &mac), 0);
    send_json(&p, AUTH_FRAME_PROOF, json_pack("{s:s}", "proof", mac), ML_ERR_REFUSED);
    json_decref(j);
    pair_close(&p);

    pair_open(&p, "job", secret);
    assert_int_equal(pass(p.client, p.server, &progress, &why), 0);
    assert_int_equal(pass(p.server, p.client, &progress, &why), 0);
    f = output(p.client, proof);
    pair_open(&q, "job", secret);
    assert_int_equal(pass(q.client, q.server, &progress, &why), 0);
    assert_int_equal(auth_input(q.server, &f, &progress, &why), ML_ERR_REFUSED);
    pair_close(&p);
    pair_close(&q);
}

static void test_out_of_order(void **state)
{
    static const char *const texts[] = {
        "", "{", "[]", "3", "{}", "{\"proof\": 3}", "{\"a\": 1, \"a\": 2}"};

    (void)state;
    for (uint8_t type = 0; type < 20; type++) {
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
            struct pair p;

            pair_open(&p, "job", secret);
            assert_int_equal(input_text(p.server, type, texts[i]), ML_ERR_REFUSED);
            assert_int_equal(input_text(p.client, type, texts[i]), ML_ERR_REFUSED);
            pair_close(&p);
        }
    }
}

static void test_truncated(void **state)
{
    uint8_t payload[2048];
    struct frame f;
    struct pair p;

    (void)state;
    pair_open(&p, "job", secret);
    f = output(p.client, payload);
    for (uint32_t size = 0; size < f.size; size++) {
        struct frame cut = {f.type, size, payload};
        enum auth_progress progress;
        struct auth *server;
        struct fault why;

        assert_int_equal(auth_create_acceptor(&server, "job", secret, &why), 0);
        assert_int_equal(auth_input(server, &cut, &progress, &why), ML_ERR_REFUSED);
        auth_destroy(server);
    }
    pair_close(&p);
}

static void test_oversize(void **state)
{
    static char text[STRANGER_FRAME + 2];
    struct fault why;
    struct pair p;
    char job[AUTH_JOB + 1];
    struct auth *a = NULL;

    (void)state;
    memset(text, ' ', sizeof(text) - 1);
    text[0] = '{';
    text[1] = '}';
    pair_open(&p, "job", secret);
    assert_int_equal(input_text(p.server, AUTH_FRAME_HELLO, text), ML_ERR_REFUSED);
    pair_close(&p);
    memset(job, 'j', AUTH_JOB);
    job[AUTH_JOB] = '\0';
    assert_int_equal(auth_create_connector(&a, job, secret, &me, &why), ML_ERR_ARGUMENT);
    assert_null(a);
}

/* The peer's text is shown to the user, without characters that could control the terminal. */
static void test_refusal_is_plain(void **state)
{
    struct frame f = {AUTH_FRAME_REFUSED, 0, NULL};
    enum auth_progress progress;
    struct fault why;
    struct pair p;

    (void)state;
    pair_open(&p, "job", secret);
    f.payload = (uint8_t *)"{\"text\": \"no\\u001b[2J\\n\"}";
    f.size = (uint32_t)strlen((char *)f.payload);
    assert_int_equal(auth_input(p.client, &f, &progress, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "it refused the connection: no?[2J?");
    pair_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_exchanged_keys),
        cmocka_unit_test(test_weak_public_key),
        cmocka_unit_test(test_wrong_secret),
        cmocka_unit_test(test_other_job),
        cmocka_unit_test(test_other_build),
        cmocka_unit_test(test_malformed_hello),
        cmocka_unit_test(test_tampered_identity),
        cmocka_unit_test(test_tampered_proof),
        cmocka_unit_test(test_reflected_and_replayed),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_oversize),
        cmocka_unit_test(test_refusal_is_plain),
    };

    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
