/* SPDX-License-Identifier: MIT */
/* test_arrival.c: the stand-in's network closes the connection of a context that sends nonsense,
 * and says why. The others' connections are as they were.
 * TEST_TIER=quick */
#include "tests/standin/fabric_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int begin(void **state)
{
    (void)state;
    network_begin(1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return network_end(0);
}

#define SEGMENT(member, width, value, text)                                                        \
    {                                                                                              \
        offsetof(struct fabric_segment, member), width, value, sizeof(struct fabric_segment), text \
    }
#define FREE(member, value, text)                                                                  \
    {                                                                                              \
        offsetof(struct fabric_free, member), 4, value, sizeof(struct fabric_free), text           \
    }

static void test_nonsense(void **state)
{
    static const struct nonsense {
        size_t at, width;
        uint32_t value;
        size_t size;
        const char *text;
    } all[] = {
        SEGMENT(kind, 4, FABRIC_PORT, "sends a message that the protocol does not have"),
        SEGMENT(type, 1, 9, "sends a segment of an unknown type;"),
        SEGMENT(qp_type, 1, 9, "sends a segment of an unknown type of queue pairs"),
        SEGMENT(port, 1, 2, "sends from a port that its device does not have"),
        SEGMENT(sgid_index, 1, FABRIC_GIDS_MOST, "sends from a GID beyond its port's table"),
        SEGMENT(slot, 4, FABRIC_SLOTS + 1, "sends a slot beyond its arena"),
        SEGMENT(slot, 4, FABRIC_NO_SLOT, "sends more bytes than its slot has"),
        SEGMENT(length, 4, FABRIC_SLOT_SIZE + 1, "sends more bytes than its slot has"),
        SEGMENT(packets, 4, 0, "sends a segment of no packets"),
        SEGMENT(packets, 4, 257, "or of more than its slot has bytes for"),
        SEGMENT(from_qp, 4, 1, "sends from another context's queue pair"),
        SEGMENT(to_qp, 4, 1 << 24, "sends to a queue pair's number of more than 24 bits"),
        {0, 4, FABRIC_SEGMENT, sizeof(struct fabric_segment) - 1, "that the protocol does not"},
        {0, 4, FABRIC_SEGMENT, 2 * sizeof(struct fabric_segment), "that the protocol does not"},
        {0, 4, FABRIC_HELLO, sizeof(struct fabric_hello), "that the protocol does not have"},
        FREE(context, 0, "frees a slot of a context that cannot be"),
        FREE(slot, FABRIC_SLOTS, "frees a slot beyond an arena"),
    };
    struct context *a, *b, *x;

    (void)state;
    contexts_meet(&a, &b);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        unsigned char bytes[2 * sizeof(struct fabric_segment)] = {0};
        struct fabric_segment s;
        struct fabric_free f = {FABRIC_FREE, 1, 1};
        char who[64];

        x = context_open("a/dev/uverbs0.socket");
        s = segment_of(x, b);
        if (all[i].size == sizeof(f))
            memcpy(bytes, &f, sizeof(f));
        else
            memcpy(bytes, &s, sizeof(s));
        memcpy(bytes + all[i].at, &all[i].value, all[i].width);
        put(x, bytes, all[i].size);
        assert_int_equal(receive(x->fd), 0);
        snprintf(who, sizeof(who), ": a/r0: context %u ", x->number);
        expect_said(who, all[i].text);
        context_close(x);
        expect(a, FABRIC_GONE);
        expect(b, FABRIC_GONE);
    }
    flush(a);
}

static void test_first_messages(void **state)
{
    int arena = memfd_create("arena", MFD_CLOEXEC), small = memfd_create("small", MFD_CLOEXEC);
    int device = open("/dev/null", O_RDWR | O_CLOEXEC), two[2] = {arena, arena};
    const struct {
        uint32_t version;
        const int *fds;
        size_t count;
        const char *text;
    } all[] = {
        {FABRIC_VERSION + 1, &arena, 1, "is of a library of another build"},
        {FABRIC_VERSION, NULL, 0, "sends no arena, or more than one"},
        {FABRIC_VERSION, two, 2, "sends no arena, or more than one"},
        {FABRIC_VERSION, &device, 1, "sends an arena that is no memfd"},
        {FABRIC_VERSION, &small, 1, "sends an arena of another size"},
    };
    int fd;

    (void)state;
    assert_int_equal(ftruncate(arena, FABRIC_ARENA_SIZE), 0);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        fd = dial("a/dev/uverbs0.socket", SOCK_SEQPACKET);
        hello(fd, all[i].version, all[i].fds, all[i].count);
        assert_int_equal(receive(fd), 0);
        expect_said(": a/r0: a caller ", all[i].text);
        close(fd);
    }
    fd = dial("a/dev/uverbs0.socket", SOCK_SEQPACKET);
    assert_int_equal(send(fd, "no hello", 8, MSG_NOSIGNAL), 8);
    assert_int_equal(receive(fd), 0);
    expect_said(": a/r0: a caller ", "does not begin with FABRIC_HELLO");
    close(fd);
    close(arena);
    close(small);
    close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nonsense, begin, end),
        cmocka_unit_test_setup_teardown(test_first_messages, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
