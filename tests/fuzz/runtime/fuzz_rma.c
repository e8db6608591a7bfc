/* SPDX-License-Identifier: MIT */
/*
 * fuzz_rma.c: any bytes as what the peer of a window publishes of its RDMA devices
 * (rdma/rma/). The first byte of the input says how many of them are missing, or, from 128 on,
 * are too many; the others change what the peer published, each by exclusive or. What is left as it
 * was connects, and a put arrives. The verbs are stand-ins.
 */
#include "rdma/rma/rma.h"
#include "rdma/verbs/rail_end.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <stdlib.h>
#include <string.h>

enum { RAILS = 2, PUBLISHED = RAILS * sizeof(struct rail_end), MORE = 128, PART = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PORT(address)                                                                              \
    {                                                                                              \
        IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, address                            \
    }
static const struct mock_device devices[] = {
    {"m", {PORT("::ffff:10.1.0.1"), PORT("::ffff:10.2.0.1")}, MOCK_ALL},
    {"n", {PORT("::ffff:10.1.0.2"), PORT("::ffff:10.2.0.2")}, MOCK_ALL},
    {NULL, {PORT(NULL), PORT(NULL)}, MOCK_ALL}};
static const char *const names[][RAILS] = {{"m:1", "m:2"}, {"n:1", "n:2"}};
static _Alignas(64) unsigned char part[PART];

static int check(void *arg, struct fault *why)
{
    (void)arg, (void)why;
    return 0;
}

static struct rma *rma_of(int rank)
{
    const struct rma_config c = {.peers = 2,
                                 .rank = rank,
                                 .memory = rank ? part : NULL,
                                 .size = rank ? PART : 0,
                                 .choice = {.gid_index = -1, .qp = RDMA_PAIRS_OFFERED},
                                 .check = check};
    const struct rma_peer_config peer = {
        .rank = !rank, .name = "rank 1 on host b", .devices = names[rank], .device_count = RAILS};
    struct rma *r;
    struct fault why;

    if (rma_open(&r, &c, &why) || !rma_add(r, !rank, &peer, &why))
        abort();
    return r;
}

/* Changes `published` as the input says; returns its size. */
static size_t damage(unsigned char *published, const uint8_t *data, size_t size)
{
    if (!size)
        return PUBLISHED;
    for (size_t i = 1; i < size && i <= PUBLISHED; i++)
        published[i - 1] ^= data[i];
    return data[0] < MORE ? PUBLISHED - data[0] : PUBLISHED + data[0] - MORE;
}

static void put(struct rma *r)
{
    static const char bytes[] = "some bytes";
    struct fault why;

    memset(part, 0, sizeof(bytes));
    if (!rma_has(r, 1) || rma_put(r, 1, bytes, sizeof(bytes), 0, &why) || rma_flush(r, 1, &why) ||
        memcmp(part, bytes, sizeof(bytes)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char published[PUBLISHED + MORE] = {0}, whole[sizeof(published)] = {0};
    struct fault why = {0};
    struct rma *mine, *theirs;
    size_t left, ours, its;
    const void *my_own;
    int rc;

    mock_verbs_begin(devices);
    mine = rma_of(0);
    theirs = rma_of(1);
    memcpy(whole, rma_publish(theirs, 0, &its), PUBLISHED);
    my_own = rma_publish(mine, 1, &ours);
    if (its != PUBLISHED || rma_connect(theirs, 0, my_own, ours, &why))
        abort();
    memcpy(published, whole, sizeof(whole));
    left = damage(published, data, size);
    rc = rma_connect(mine, 1, published, left, &why);
    if (rc && (why.code >= 0 || !why.text[0]))
        abort();
    if (left == PUBLISHED && memcmp(published, whole, PUBLISHED) == 0)
        put(mine); /* elsewhere the stand-ins must not write */
    rma_close(mine);
    rma_close(theirs);
    return 0;
}
