/* SPDX-License-Identifier: MIT */
#include "common/net/auth.h"

#include "common/build_id.h"
#include "common/net/stranger_limits.h"
#include "common/text/number.h"
#include "common/text/parsed_json.h"

#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(AUTH_SECRET == crypto_auth_hmacsha256_KEYBYTES, "the secret is the key");
_Static_assert(AUTH_MAC == crypto_auth_hmacsha256_BYTES, "a proof is one HMAC");
_Static_assert(AUTH_NONCE == crypto_kx_PUBLICKEYBYTES, "a nonce can be a public key");
_Static_assert(AUTH_KEY == crypto_kx_SESSIONKEYBYTES, "one key a direction");

enum {
    OUTPUT_SIZE = 1024, /* bytes of the longest frame of a handshake, with JSON escapes */
    NONCE_TEXT = 2 * AUTH_NONCE + 1,
    MAC_TEXT = 2 * AUTH_MAC + 1,
};
_Static_assert((int)OUTPUT_SIZE < (int)STRANGER_FRAME, "the other side takes each frame");

/*
 *     connector: create ──HELLO──▶ WAIT_CHALLENGE ──PROOF──▶ DONE
 *     acceptor:  create ─────────▶ WAIT_HELLO ──CHALLENGE──▶ WAIT_PROOF ─▶ DONE
 *     anything unexpected ─▶ OVER, with a REFUSED to send
 */
enum auth_state { WAIT_HELLO, WAIT_CHALLENGE, WAIT_PROOF, DONE, OVER };

struct auth {
    enum auth_state state;
    bool is_connector;
    char job[AUTH_JOB];
    uint8_t secret[AUTH_SECRET];
    struct auth_identity peer; /* the connecting side's */
    char client_nonce[NONCE_TEXT];
    char server_nonce[NONCE_TEXT];
    uint8_t private_key[crypto_kx_SECRETKEYBYTES]; /* if `is_keyed`: of the own nonce */
    bool is_keyed;
    uint8_t output[FRAME_HEADER + OUTPUT_SIZE];
    size_t output_size;
};

/* Stores a frame as the output. Releases `payload`; NULL: it could not be made. */
static int auth_put_frame(struct auth *a, uint8_t type, json_t *payload, struct fault *why)
{
    size_t size;

    a->output_size = 0;
    if (!payload)
        return fault_set(why, ML_ERR_ARGUMENT, "a handshake's text is not UTF-8, or out of memory");
    size = json_dumpb(payload, (char *)a->output + FRAME_HEADER, OUTPUT_SIZE, JSON_COMPACT);
    json_decref(payload);
    if (size == 0 || size > OUTPUT_SIZE)
        return fault_set(why, ML_ERR_ARGUMENT, "the names in a handshake are too long");
    frame_header(a->output, type, (uint32_t)size);
    a->output_size = FRAME_HEADER + size;
    return 0;
}

/* Ends the handshake and sends `text` to the peer. The text must not help a peer that does not know
 * the secret. */
static void auth_refuse(struct auth *a, const char *text)
{
    a->state = OVER;
    auth_put_frame(a, AUTH_FRAME_REFUSED, json_pack("{s:s}", "text", text), NULL);
}

static void hmac_add_text(crypto_auth_hmacsha256_state *h, const char *text)
{
    crypto_auth_hmacsha256_update(h, (const unsigned char *)text, strlen(text) + 1);
}

/* Computes the HMAC of the handshake in a role. "hello", "client" and "server" are the proofs of
 * the three messages, which differ, so that none can be sent as another one; "client key" and
 * "server key" are the keys of what each side sends. In a HELLO the nonce of S is not known yet. */
static void make_mac(const struct auth *a, const char *role, uint8_t out[AUTH_MAC])
{
    crypto_auth_hmacsha256_state h;
    char numbers[3][16];

    snprintf(numbers[0], sizeof(numbers[0]), "%d", a->peer.rank);
    snprintf(numbers[1], sizeof(numbers[1]), "%u", a->peer.generation);
    snprintf(numbers[2], sizeof(numbers[2]), "%u", a->peer.group);
    crypto_auth_hmacsha256_init(&h, a->secret, AUTH_SECRET);
    hmac_add_text(&h, role);
    hmac_add_text(&h, build_id);
    hmac_add_text(&h, a->job);
    hmac_add_text(&h, a->peer.purpose);
    for (int i = 0; i < 3; i++)
        hmac_add_text(&h, numbers[i]);
    hmac_add_text(&h, a->client_nonce);
    crypto_auth_hmacsha256_update(&h, (const unsigned char *)a->server_nonce,
                                  strlen(a->server_nonce));
    crypto_auth_hmacsha256_final(&h, out);
    sodium_memzero(&h, sizeof(h));
}

static void write_proof(const struct auth *a, const char *role, char out[MAC_TEXT])
{
    uint8_t mac[AUTH_MAC];

    make_mac(a, role, mac);
    hex_write(out, mac, AUTH_MAC);
}

/* Compares in constant time. */
static bool proof_is_right(const struct auth *a, const char *role, const char *proof)
{
    uint8_t expected[AUTH_MAC], given[AUTH_MAC];

    if (!hex_parse(proof, given, AUTH_MAC))
        return false;
    make_mac(a, role, expected);
    return sodium_memcmp(expected, given, AUTH_MAC) == 0;
}

static void make_nonce(struct auth *a, char out[NONCE_TEXT])
{
    uint8_t nonce[AUTH_NONCE];

    if (a->is_keyed)
        crypto_kx_keypair(nonce, a->private_key);
    else
        randombytes_buf(nonce, sizeof(nonce));
    hex_write(out, nonce, sizeof(nonce));
}

static bool nonce_take(const char *text, char out[NONCE_TEXT])
{
    uint8_t nonce[AUTH_NONCE];

    if (!hex_parse(text, nonce, sizeof(nonce)))
        return false;
    memcpy(out, text, NONCE_TEXT);
    return true;
}

static int auth_create(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                       struct fault *why)
{
    struct auth *a;

    if (strlen(job) >= AUTH_JOB)
        return fault_set(why, ML_ERR_ARGUMENT, "the job's id is longer than %d bytes",
                         AUTH_JOB - 1);
    if (sodium_init() < 0)
        return fault_set(why, ML_ERR_SYSTEM, "the system provides no random numbers");
    a = calloc(1, sizeof(*a));
    if (!a)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    memcpy(a->job, job, strlen(job) + 1);
    memcpy(a->secret, secret, AUTH_SECRET);
    *out = a;
    return 0;
}

static int put_hello(struct auth *a, struct fault *why)
{
    const struct auth_identity *me = &a->peer;
    char proof[MAC_TEXT];

    make_nonce(a, a->client_nonce);
    write_proof(a, "hello", proof);
    return auth_put_frame(a, AUTH_FRAME_HELLO,
                          json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:s}", "build", build_id,
                                    "job", a->job, "purpose", me->purpose, "rank", (int)me->rank,
                                    "generation", (json_int_t)me->generation, "group",
                                    (json_int_t)me->group, "nonce", a->client_nonce, "proof",
                                    proof),
                          why);
}

int auth_create_connector(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                          const struct auth_identity *me, struct fault *why)
{
    struct auth *a;
    int rc = auth_create(&a, job, secret, why);

    if (rc)
        return rc;
    a->state = WAIT_CHALLENGE;
    a->is_connector = true;
    a->peer = *me;
    rc = put_hello(a, why);
    if (rc) {
        auth_destroy(a);
        return rc;
    }
    *out = a;
    return 0;
}

int auth_create_acceptor(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                         struct fault *why)
{
    struct auth *a;
    int rc = auth_create(&a, job, secret, why);

    if (rc)
        return rc;
    a->state = WAIT_HELLO;
    *out = a;
    return 0;
}

int auth_exchange_keys(struct auth *a, struct fault *why)
{
    a->is_keyed = true;
    return a->is_connector ? put_hello(a, why) : 0;
}

void auth_destroy(struct auth *a)
{
    if (!a)
        return;
    sodium_memzero(a, sizeof(*a));
    free(a);
}

const void *auth_output(struct auth *a, size_t *size)
{
    *size = a->output_size;
    a->output_size = 0;
    return a->output;
}

static bool is_plain(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

static int proof_refuse(struct auth *a, struct fault *why)
{
    auth_refuse(a, "the proof of the job's secret is wrong");
    return fault_set(why, ML_ERR_REFUSED, "it could not prove that it belongs to this job");
}

static int input_hello(struct auth *a, json_t *message, struct fault *why)
{
    const char *build, *job, *purpose, *nonce, *proof;
    json_int_t rank, generation, group;
    char mine[MAC_TEXT], text[128];

    if (json_unpack(message, "{s:s}", "build", &build) || !is_plain(build) || strlen(build) > 32) {
        auth_refuse(a, "the HELLO is malformed");
        return fault_set(why, ML_ERR_REFUSED, "it sent a malformed HELLO");
    }
    if (strcmp(build, build_id)) {
        snprintf(text, sizeof(text),
                 "this is build %s of mlaunch, not %s; both must be the same build", build_id,
                 build);
        auth_refuse(a, text);
        return fault_set(why, ML_ERR_REFUSED, "it is build %s, but this is build %s", build,
                         build_id);
    }
    if (json_unpack(message, "{s:s, s:s, s:I, s:I, s:I, s:s, s:s}", "job", &job, "purpose",
                    &purpose, "rank", &rank, "generation", &generation, "group", &group, "nonce",
                    &nonce, "proof", &proof) ||
        strlen(purpose) >= AUTH_PURPOSE || !is_plain(purpose) || rank < 0 || rank > INT32_MAX ||
        generation < 0 || generation > UINT32_MAX || group < 0 || group > UINT32_MAX ||
        !nonce_take(nonce, a->client_nonce)) {
        auth_refuse(a, "the HELLO is malformed");
        return fault_set(why, ML_ERR_REFUSED, "it sent a malformed HELLO");
    }
    if (strcmp(job, a->job)) {
        auth_refuse(a, "this port belongs to another job");
        return fault_set(why, ML_ERR_REFUSED, "it belongs to another job");
    }
    memcpy(a->peer.purpose, purpose, strlen(purpose) + 1);
    a->peer.rank = (int32_t)rank;
    a->peer.generation = (uint32_t)generation;
    a->peer.group = (uint32_t)group;
    if (!proof_is_right(a, "hello", proof))
        return proof_refuse(a, why);
    make_nonce(a, a->server_nonce);
    write_proof(a, "server", mine);
    a->state = WAIT_PROOF;
    return auth_put_frame(a, AUTH_FRAME_CHALLENGE,
                          json_pack("{s:s, s:s}", "nonce", a->server_nonce, "proof", mine), why);
}

static int input_challenge(struct auth *a, json_t *message, enum auth_progress *progress,
                           struct fault *why)
{
    const char *nonce, *proof;
    char mine[MAC_TEXT];

    if (json_unpack(message, "{s:s, s:s}", "nonce", &nonce, "proof", &proof) ||
        !nonce_take(nonce, a->server_nonce)) {
        auth_refuse(a, "the CHALLENGE is malformed");
        return fault_set(why, ML_ERR_REFUSED, "it sent a malformed CHALLENGE");
    }
    if (!proof_is_right(a, "server", proof))
        return proof_refuse(a, why);
    write_proof(a, "client", mine);
    a->state = DONE;
    *progress = AUTH_DONE;
    return auth_put_frame(a, AUTH_FRAME_PROOF, json_pack("{s:s}", "proof", mine), why);
}

static int input_proof(struct auth *a, json_t *message, enum auth_progress *progress,
                       struct fault *why)
{
    const char *proof;

    if (json_unpack(message, "{s:s}", "proof", &proof) || !proof_is_right(a, "client", proof))
        return proof_refuse(a, why);
    a->state = DONE;
    *progress = AUTH_DONE;
    return 0;
}

/* The peer's text is not authenticated, so it is cut, and characters that could control the user's
 * terminal are replaced. */
static int input_refused(struct auth *a, json_t *message, struct fault *why)
{
    const char *text;
    char plain[160];
    size_t n = 0;

    a->state = OVER;
    if (json_unpack(message, "{s:s}", "text", &text))
        return fault_set(why, ML_ERR_REFUSED, "it refused the connection without a reason");
    for (; *text && n < sizeof(plain) - 1; text++)
        plain[n++] = (char)(*text >= ' ' && *text <= '~' ? *text : '?');
    plain[n] = '\0';
    return fault_set(why, ML_ERR_REFUSED, "it refused the connection: %s", plain);
}

int auth_input(struct auth *a, const struct frame *f, enum auth_progress *progress,
               struct fault *why)
{
    json_t *message;
    int rc;

    *progress = AUTH_MORE;
    a->output_size = 0;
    message = f->size <= STRANGER_FRAME && f->type <= AUTH_FRAME_REFUSED
                  ? stranger_json((const char *)f->payload, f->size)
                  : NULL;
    if (message && f->type == AUTH_FRAME_REFUSED && a->state <= DONE) {
        rc = input_refused(a, message, why);
    } else if (message && f->type == AUTH_FRAME_HELLO && a->state == WAIT_HELLO) {
        rc = input_hello(a, message, why);
    } else if (message && f->type == AUTH_FRAME_CHALLENGE && a->state == WAIT_CHALLENGE) {
        rc = input_challenge(a, message, progress, why);
    } else if (message && f->type == AUTH_FRAME_PROOF && a->state == WAIT_PROOF) {
        rc = input_proof(a, message, progress, why);
    } else {
        auth_refuse(a, "this is not the handshake of mlaunch");
        rc = fault_set(why, ML_ERR_REFUSED, "it does not speak mlaunch's handshake");
    }
    json_decref(message);
    return rc;
}

const struct auth_identity *auth_peer(const struct auth *a)
{
    return &a->peer;
}

/* A peer that has the secret but sends no proper public key gets keys that fit nothing. */
static void mix_exchanged(const struct auth *a, struct auth_keys *keys)
{
    uint8_t mine[AUTH_NONCE], theirs[AUTH_NONCE];
    struct auth_keys agreed;
    int rc;

    hex_parse(a->is_connector ? a->client_nonce : a->server_nonce, mine, sizeof(mine));
    hex_parse(a->is_connector ? a->server_nonce : a->client_nonce, theirs, sizeof(theirs));
    rc = a->is_connector ? crypto_kx_client_session_keys(agreed.receive, agreed.send, mine,
                                                         a->private_key, theirs)
                         : crypto_kx_server_session_keys(agreed.receive, agreed.send, mine,
                                                         a->private_key, theirs);
    if (rc)
        randombytes_buf(&agreed, sizeof(agreed));
    crypto_auth_hmacsha256(keys->send, agreed.send, sizeof(agreed.send), keys->send);
    crypto_auth_hmacsha256(keys->receive, agreed.receive, sizeof(agreed.receive), keys->receive);
    sodium_memzero(&agreed, sizeof(agreed));
}

void auth_derive_keys(const struct auth *a, struct auth_keys *keys)
{
    make_mac(a, "client key", a->is_connector ? keys->send : keys->receive);
    make_mac(a, "server key", a->is_connector ? keys->receive : keys->send);
    if (a->is_keyed)
        mix_exchanged(a, keys);
}

static int send_output(struct auth *a, int fd, int64_t deadline_ms, struct fault *why)
{
    size_t size;
    const uint8_t *frame = auth_output(a, &size);

    if (size == 0)
        return 0;
    return frame_send(fd, frame[5], frame + FRAME_HEADER, (uint32_t)(size - FRAME_HEADER),
                      deadline_ms, why);
}

static int handshake_run(struct auth *a, int fd, struct frame_reader *r, int64_t deadline_ms,
                         struct fault *why)
{
    enum auth_progress progress = AUTH_MORE;
    struct frame f;
    int rc = send_output(a, fd, deadline_ms, why);

    while (!rc && progress != AUTH_DONE) {
        rc = frame_recv(fd, r, &f, deadline_ms, why);
        if (rc)
            break;
        rc = auth_input(a, &f, &progress, why);
        if (rc)
            send_output(a, fd, deadline_ms, NULL); /* tells the peer why, if it is still there */
        else
            rc = send_output(a, fd, deadline_ms, why);
    }
    return rc;
}

int auth_connect_keyed(int fd, struct frame_reader *r, const char *job,
                       const uint8_t secret[AUTH_SECRET], const struct auth_identity *me,
                       int64_t deadline_ms, struct auth_keys *keys, struct fault *why)
{
    struct auth *a = NULL;
    int rc;

    frame_reader_limit(r, FRAME_LIMIT_SMALL);
    rc = auth_create_connector(&a, job, secret, me, why);
    if (!rc && keys)
        rc = auth_exchange_keys(a, why);
    if (!rc)
        rc = handshake_run(a, fd, r, deadline_ms, why);
    if (!rc && keys)
        auth_derive_keys(a, keys);
    auth_destroy(a);
    frame_reader_limit(r, FRAME_LIMIT);
    return rc;
}

int auth_connect(int fd, struct frame_reader *r, const char *job, const uint8_t secret[AUTH_SECRET],
                 const struct auth_identity *me, int64_t deadline_ms, struct fault *why)
{
    return auth_connect_keyed(fd, r, job, secret, me, deadline_ms, NULL, why);
}

int auth_accept_keyed(int fd, const char *job, const uint8_t secret[AUTH_SECRET],
                      int64_t deadline_ms, struct auth_identity *peer, struct auth_keys *keys,
                      struct fault *why)
{
    struct frame_reader *r = NULL;
    struct auth *a = NULL;
    int rc = frame_reader_create(&r, STRANGER_FRAME, why);

    if (!rc)
        rc = auth_create_acceptor(&a, job, secret, why);
    if (!rc && keys)
        rc = auth_exchange_keys(a, why);
    if (!rc)
        rc = handshake_run(a, fd, r, deadline_ms, why);
    if (!rc)
        *peer = *auth_peer(a);
    if (!rc && keys)
        auth_derive_keys(a, keys);
    auth_destroy(a);
    frame_reader_destroy(r);
    return rc;
}
