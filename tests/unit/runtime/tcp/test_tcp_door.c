/* SPDX-License-Identifier: MIT */
/* test_tcp_door.c: strangers at a rank's listener, in a process that has other uses for copies of
 * its descriptors. */
#include "runtime/tcp/tcp_door.h"

#include "common/clock.h"
#include "runtime/group/world.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { DESCRIPTORS = 256, PATIENCE_MS = 30000 };

static struct world world = {.is_launched = true, .size = 2, .hosts = 1};
static struct door *door;

static int set_up(void **state)
{
    struct fault why;

    (void)state;
    return tcp_door_open(&door, &world, &why);
}

static int tear_down(void **state)
{
    (void)state;
    tcp_door_close(door);
    return 0;
}

static int stranger_connect(void)
{
    struct address to;
    struct fault why;
    int fd = -1;

    assert_int_equal(address_parse(&to, tcp_door_where(door), &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    return fd;
}

static bool door_is_due(int patience_ms)
{
    struct pollfd p = {.fd = door->fd, .events = POLLIN};

    return poll(&p, 1, patience_ms) > 0;
}

static void door_look(void)
{
    struct fault why;

    assert_true(door_is_due(PATIENCE_MS));
    assert_int_equal(door->look(door, NULL, &why), 0);
}

/* Copies all connections to the door that this process holds, as a child has them between vfork()
 * and exec(). Returns how many. */
static int connections_copy(int copies[DESCRIPTORS])
{
    int count = 0;

    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof(from);
        char where[ADDRESS_TEXT];
        struct address own = {.length = sizeof(own.storage)};

        if (getpeername(fd, (struct sockaddr *)&from, &size) != 0 ||
            getsockname(fd, (struct sockaddr *)&own.storage, &own.length) != 0)
            continue;
        address_format(&own, where);
        if (strcmp(where, tcp_door_where(door)) == 0)
            copies[count++] = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTORS);
    }
    return count;
}

/* The kernel goes on to watch a connection that is closed while a copy of it is open. */
static void test_a_copy_outlives_a_stranger(void **state)
{
    int copies[DESCRIPTORS], fd = stranger_connect(), count;
    char byte;

    (void)state;
    door_look(); /* accepts it */
    count = connections_copy(copies);
    assert_int_equal(count, 1);
    assert_int_equal(send(fd, "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
    door_look(); /* refuses and forgets it */
    assert_int_equal(send(fd, "\r\n", 2, MSG_NOSIGNAL), 2);
    assert_true(poll(&(struct pollfd){.fd = copies[0], .events = POLLIN}, 1, PATIENCE_MS) > 0);
    assert_int_equal(recv(copies[0], &byte, 1, MSG_PEEK), 1);
    assert_false(door_is_due(0));
    close(copies[0]);
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_copy_outlives_a_stranger, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("tcp_door", tests, NULL, NULL);
}
