/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/forwarder.h"

#include "launcher/wire/protocol/pmix_protocol.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 4 };

/* The words in front of the bytes. In a frame the other host's number is in front of them. */
enum {
    WORD_KIND,
    WORD_NUMBER, /* the question's, by the host that asks */
    WORD_RANK,   /* in an answer: 0 if it is known */
    WORDS
};

/* A question that is under way. */
struct forwarder_ask {
    uint32_t number, host;
    char *name;            /* that is looked up, or NULL */
    pmix_status_t refusal; /* what `over` gets if it cannot be done */
    pmix_modex_cbfunc_t answer;
    pmix_lookup_cbfunc_t found;
    pmix_op_cbfunc_t over;
    void *cbdata;
    struct forwarder_ask *next;
};

/* One for the process, as the server is. */
static struct {
    const struct served_job *job;
    int fd;
    int (*question)(const struct forwarder_question *q, struct fault *why);
    struct forwarder_ask *asks;
    uint32_t ask_count; /* so far */
} forwarder;

void forwarder_open(const struct served_job *job, int fd,
                    int (*question)(const struct forwarder_question *q, struct fault *why))
{
    forwarder.job = job;
    forwarder.fd = fd;
    forwarder.question = question;
}

/* libpmix copies the bytes on another thread, and then calls this. */
static void on_released(void *bytes)
{
    free(bytes);
}

/* With a NUL behind them. */
static char *bytes_copy(const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);

    if (!copy)
        return NULL;
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

static void modex_finish(const struct forwarder_ask *ask, bool is_known, const void *bytes,
                         size_t size)
{
    char *copy = is_known ? bytes_copy(bytes, size) : NULL;

    ask->answer(copy ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, copy, copy ? size : 0, ask->cbdata,
                on_released, copy);
}

/* libpmix copies what it is given within the call. */
static void lookup_finish(const struct forwarder_ask *ask, bool is_known, const void *bytes,
                          size_t size)
{
    const size_t skip = NUMBER + 1;
    char *value =
        is_known && size >= skip ? bytes_copy((const char *)bytes + skip, size - skip) : NULL;
    pmix_pdata_t data = {0};
    uint32_t owner;

    if (!value) {
        ask->found(PMIX_ERR_NOT_FOUND, NULL, 0, ask->cbdata);
        return;
    }
    memcpy(&owner, bytes, NUMBER);
    PMIX_LOAD_PROCID(&data.proc, forwarder.job->space, ntohl(owner));
    PMIX_LOAD_KEY(data.key, ask->name);
    if (((const char *)bytes)[NUMBER] == FORWARDER_TEXT) {
        data.value.type = PMIX_STRING;
        data.value.data.string = value;
    } else {
        data.value.type = PMIX_BYTE_OBJECT;
        data.value.data.bo = (pmix_byte_object_t){.bytes = value, .size = size - skip};
    }
    ask->found(PMIX_SUCCESS, &data, 1, ask->cbdata);
    free(value);
}

static void ask_finish(struct forwarder_ask *ask, bool is_known, const void *bytes, size_t size)
{
    if (ask->answer)
        modex_finish(ask, is_known, bytes, size);
    else if (ask->found)
        lookup_finish(ask, is_known, bytes, size);
    else
        ask->over(is_known ? PMIX_SUCCESS : ask->refusal, ask->cbdata);
    free(ask->name);
    free(ask);
}

/* An answer to no question is ignored. */
static void answer_take(uint32_t host, uint32_t number, bool is_known, const void *bytes,
                        size_t size)
{
    struct forwarder_ask **at = &forwarder.asks, *ask;

    while (*at && ((*at)->host != host || (*at)->number != number))
        at = &(*at)->next;
    ask = *at;
    if (!ask)
        return;
    *at = ask->next;
    ask_finish(ask, is_known, bytes, size);
}

/* What has come from `host`, perhaps this one. */
static int words_take(uint32_t host, const uint32_t words[WORDS], const void *bytes, size_t size,
                      struct fault *why)
{
    const struct forwarder_question q = {
        host, words[WORD_NUMBER], (enum forwarder_kind)words[WORD_KIND], words[WORD_RANK], bytes,
        size};

    if (q.kind != FORWARDER_ANSWER)
        return forwarder.question(&q, why);
    answer_take(host, q.number, q.rank == 0, bytes, size);
    return 0;
}

static int words_send(uint32_t host, const uint32_t words[WORDS], const void *bytes, size_t size,
                      struct fault *why)
{
    uint32_t head[1 + WORDS] = {htonl(host)};
    char *all;
    int rc;

    if (host == (uint32_t)forwarder.job->host)
        return words_take(host, words, bytes, size, why);
    all = size <= FRAME_LIMIT - sizeof(head) ? malloc(sizeof(head) + size) : NULL;
    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "out of memory for what a rank has put");
    for (int i = 0; i < WORDS; i++)
        head[1 + i] = htonl(words[i]);
    memcpy(all, head, sizeof(head));
    if (size)
        memcpy(all + sizeof(head), bytes, size);
    rc = frame_send(forwarder.fd, HELPER_PASS, all, (uint32_t)(sizeof(head) + size), -1, why);
    free(all);
    return rc;
}

int forwarder_ask(const struct main_queue_item *item, struct fault *why)
{
    const uint32_t words[] = {item->question, ++forwarder.ask_count, item->rank};
    struct forwarder_ask *ask = malloc(sizeof(*ask));

    if (!ask)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *ask = (struct forwarder_ask){
        .number = forwarder.ask_count,
        .host = item->host,
        .refusal = item->question == FORWARDER_UNPUBLISH ? PMIX_ERR_NOT_FOUND : PMIX_EXISTS,
        .answer = item->answer,
        .found = item->found,
        .over = item->over,
        .cbdata = item->cbdata,
        .next = forwarder.asks};
    if (item->found)
        ask->name = strndup(item->bytes, item->size);
    if (item->found && !ask->name) {
        free(ask);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    forwarder.asks = ask;
    return words_send(item->host, words, item->bytes, item->size, why);
}

int forwarder_answer(uint32_t host, uint32_t number, bool is_known, const void *bytes, size_t size,
                     struct fault *why)
{
    const uint32_t words[] = {FORWARDER_ANSWER, number, !is_known};

    return words_send(host, words, bytes, size, why);
}

int forwarder_take(const struct frame *f, struct fault *why)
{
    uint32_t head[1 + WORDS];

    if (f->size < sizeof(head))
        return fault_set(why, ML_ERR_REFUSED, "the agent's PASSED is malformed");
    memcpy(head, f->payload, sizeof(head));
    for (int i = 0; i < 1 + WORDS; i++)
        head[i] = ntohl(head[i]);
    if (head[0] >= (uint32_t)forwarder.job->hosts || head[1 + WORD_KIND] < FORWARDER_MODEX ||
        head[1 + WORD_KIND] > FORWARDER_AWAIT)
        return fault_set(why, ML_ERR_REFUSED, "the agent's PASSED is malformed");
    return words_take(head[0], head + 1, f->payload + sizeof(head), f->size - sizeof(head), why);
}
