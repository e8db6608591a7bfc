/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/transfer_pair.h"

#include "common/clock.h"
#include "launcher/tools/bench/measure/measure.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Where things are in each rank's part. */
enum {
    ARRIVED = 0,   /* a signal: transfers that have come to this rank */
    ANSWERED = 8,  /* a signal: twice the transfers of this rank that were answered */
    DIGEST = 16,   /* for what comes, by its producer */
    LANDING = 4096 /* what comes */
};
enum { DIGEST_SIZE = crypto_generichash_BYTES };

int transfer_memory_open(struct transfer_memory *m, const struct bench_options *o, ml_group *world,
                         size_t size, struct fault *why)
{
    void *block = NULL;
    int rc;

    *m = (struct transfer_memory){.options = o, .size = size};
    rc = ml_pool_create(size, 0, &m->pool);
    if (!rc)
        rc = ml_pool_alloc(m->pool, size, &block);
    if (measure_call(why, rc))
        return rc;
    m->block = block;
    if (!o->is_zero_copy) {
        m->data = calloc(1, size);
        if (!m->data)
            return fault_set(why, ML_ERR_MEMORY, "out of memory for %zu bytes", size);
    }
    rc = measure_call(why, ml_window_create(world, NULL, LANDING + size, &m->window));
    if (rc)
        return rc;
    m->part = ml_window_memory(m->window, ml_rank(world), NULL);
    memset(m->block, 0, size); /* touched before anything is timed, as the landing place is */
    memset(m->part + LANDING, 0, size);
    return 0;
}

void transfer_memory_close(struct transfer_memory *m)
{
    (void)ml_window_free(m->window); /* an error of it has been seen in a call before */
    ml_pool_destroy(m->pool);
    free(m->data);
    *m = (struct transfer_memory){0};
}

static void transfer_fill(unsigned char *data, size_t size, int number)
{
    uint64_t word = (uint64_t)number * 0x9e3779b97f4a7c15U + 1;

    for (size_t at = 0; at < size; at += sizeof(word)) {
        word = word * 6364136223846793005U + 1442695040888963407U;
        memcpy(data + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
    }
}

static void digest_make(unsigned char out[DIGEST_SIZE], const unsigned char *data, size_t size)
{
    crypto_generichash(out, DIGEST_SIZE, data, size, NULL, 0);
}

static int transfer_send(struct transfer_memory *m, int to, double *seconds)
{
    int64_t begin = clock_ns();
    int rc;

    if (m->data)
        memcpy(m->block, m->data, m->size);
    rc = ml_put_signal(m->window, m->block, m->size, to, LANDING, ARRIVED, 1);
    if (!rc)
        rc = ml_wait_signal(m->window, ANSWERED, ++m->answered, -1);
    *seconds += (double)(clock_ns() - begin) / 1e9;
    return rc ? rc : ml_wait_signal(m->window, ANSWERED, ++m->answered, -1);
}

int transfer_pair_produce(struct transfer_memory *m, int to, double *seconds)
{
    unsigned char *source = m->data ? m->data : m->block, digest[DIGEST_SIZE];
    double first = 0; /* not told: both sides touch each other's memory for the first time */
    int rc = transfer_send(m, to, &first);

    for (int i = 0; i < m->options->transfers && !rc; i++) {
        transfer_fill(source, m->size, i);
        if (m->options->check) {
            digest_make(digest, source, m->size);
            rc = ml_put(m->window, digest, sizeof(digest), to, DIGEST);
        }
        if (!rc)
            rc = transfer_send(m, to, seconds);
    }
    return rc;
}

static int transfer_receive(struct transfer_memory *m, int from, bool check, uint64_t *failed)
{
    const unsigned char *got = m->part + LANDING;
    unsigned char digest[DIGEST_SIZE];
    int rc = ml_wait_signal(m->window, ARRIVED, ++m->arrived, -1);

    if (rc)
        return rc;
    if (m->data)
        got = memcpy(m->data, got, m->size);
    rc = ml_put_signal(m->window, NULL, 0, from, 0, ANSWERED, 1);
    if (rc)
        return rc;
    if (check) {
        digest_make(digest, got, m->size);
        *failed += memcmp(digest, m->part + DIGEST, sizeof(digest)) != 0;
    }
    return ml_put_signal(m->window, NULL, 0, from, 0, ANSWERED, 1);
}

int transfer_pair_consume(struct transfer_memory *m, int from, uint64_t *failed)
{
    int rc = transfer_receive(m, from, false, failed);

    for (int i = 0; i < m->options->transfers && !rc; i++)
        rc = transfer_receive(m, from, m->options->check, failed);
    return rc;
}
