/* SPDX-License-Identifier: MIT */
/* test_container_door.c: each rank's descriptors are handed out once, to whoever calls for them;
 * callers that say something else get nothing. */
#include "launcher/agent/container/container_door.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    struct event_base *base;
    struct container_door *door;
    char directory[64];
};

static int begin(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    struct fault why = {0};

    *state = s;
    if (!s)
        return -1;
    s->base = event_base_new();
    strcpy(s->directory, "/tmp/test_container_door.XXXXXX");
    if (!mkdtemp(s->directory))
        return -1;
    return container_door_open(&s->door, s->base, s->directory, 2, &why);
}

static int end(void **state)
{
    struct scene *s = *state;
    char path[96];

    container_door_close(s->door);
    event_base_free(s->base);
    snprintf(path, sizeof(path), "%s/" ENTRY_DOOR, s->directory);
    unlink(path);
    rmdir(s->directory);
    free(s);
    return 0;
}

/* Until nothing happens any more. */
static void turn(struct scene *s)
{
    for (int i = 0; i < 4; i++)
        event_base_loop(s->base, EVLOOP_NONBLOCK);
}

/* Calls, and says `size` bytes. */
static int call(struct scene *s, const void *bytes, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/" ENTRY_DOOR, s->directory);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
    turn(s);
    return fd;
}

/* How many descriptors came, which are closed; -1: the end. */
static int descriptors(int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * ENTRY_DESCRIPTORS)];
        struct cmsghdr align;
    } control;
    int fds[ENTRY_DESCRIPTORS], count;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};

    if (recvmsg(fd, &m, MSG_DONTWAIT) != 1)
        return -1;
    assert_non_null(CMSG_FIRSTHDR(&m));
    count = (int)((CMSG_FIRSTHDR(&m)->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        close(fds[i]);
    return count;
}

static void keep(struct scene *s, int index, int pmi)
{
    const int streams[ENTRY_STREAMS] = {0, 1, 2};
    struct fault why = {0};

    assert_int_equal(container_door_keep(s->door, index, streams, pmi, &why), 0);
}

static void test_handed_out_once(void **state)
{
    struct scene *s = *state;
    uint32_t rank = 1;
    int first, second;

    keep(s, 0, -1);
    keep(s, 1, 2);
    assert_int_equal(container_door_process(s->door, 1), 0);
    first = call(s, &rank, sizeof(rank));
    assert_int_equal(descriptors(first), ENTRY_DESCRIPTORS);
    assert_int_equal(container_door_process(s->door, 1), getpid());
    second = call(s, &rank, sizeof(rank));
    assert_int_equal(descriptors(second), -1);
    close(second);
    rank = 0;
    second = call(s, &rank, sizeof(rank));
    assert_int_equal(descriptors(second), ENTRY_STREAMS);
    close(second);
    close(first);
    turn(s);
    assert_null(container_door_answer(s->door, 1)); /* its program was executed */
}

static void test_answer(void **state)
{
    struct scene *s = *state;
    struct entry_answer said = {.step = ENTRY_LOADER, .error = 2};
    uint32_t rank = 0;
    int fd;

    memset(said.found, 'x', sizeof(said.found)); /* no zero byte */
    keep(s, 0, -1);
    fd = call(s, &rank, sizeof(rank));
    assert_int_equal(descriptors(fd), ENTRY_STREAMS);
    assert_int_equal(send(fd, &said, sizeof(said), 0), sizeof(said));
    close(fd);
    container_door_end(s->door, 0); /* before the loop has seen it */
    assert_non_null(container_door_answer(s->door, 0));
    assert_int_equal(container_door_answer(s->door, 0)->step, ENTRY_LOADER);
    assert_int_equal(strlen(container_door_answer(s->door, 0)->found), ENTRY_FOUND - 1);
}

static void test_strangers(void **state)
{
    struct scene *s = *state;
    uint32_t rank = 2, last = UINT32_MAX;
    int fds[40];

    keep(s, 0, -1);
    fds[0] = call(s, &rank, sizeof(rank));
    fds[1] = call(s, &last, sizeof(last));
    fds[2] = call(s, "xy", 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(descriptors(fds[i]), -1);
        close(fds[i]);
    }
    /* More of them than are kept; then they leave. */
    for (int i = 0; i < 40; i++)
        fds[i] = call(s, "", 0);
    for (int i = 0; i < 40; i++)
        close(fds[i]);
    turn(s);
    turn(s);
    rank = 0;
    fds[0] = call(s, &rank, sizeof(rank));
    assert_int_equal(descriptors(fds[0]), ENTRY_STREAMS);
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_handed_out_once, begin, end),
        cmocka_unit_test_setup_teardown(test_answer, begin, end),
        cmocka_unit_test_setup_teardown(test_strangers, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
