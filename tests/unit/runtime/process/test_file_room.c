/* SPDX-License-Identifier: MIT */
/* test_file_room.c: room for a file, in a program that has a fast timer, on a kernel whose tmpfs
 * gives up at a signal (until Linux 6.1 at least). */
#include "runtime/process/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TRIES_MOST = 5 };

static int tries;

static bool is_blocked(int signal)
{
    sigset_t now;

    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, signal);
}

/* The first signal was there before the call could block it. */
int __wrap_posix_fallocate64(int fd, off_t offset, off_t size);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t size)
{
    if (fd < 0)
        return EBADF;
    assert_int_equal(offset, 4096);
    assert_int_equal(size, 100);
    assert_true(++tries < TRIES_MOST);
    return tries > 1 && is_blocked(SIGALRM) && is_blocked(SIGPROF) ? 0 : EINTR;
}

static void test_timer(void **state)
{
    (void)state;
    assert_int_equal(file_room_take(0, 4096, 100), 0);
    assert_int_equal(tries, 2);
    assert_false(is_blocked(SIGALRM)); /* the program's signals come again */
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(file_room_take(-1, 0, 1), EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
