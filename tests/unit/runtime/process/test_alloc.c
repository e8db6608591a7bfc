/* SPDX-License-Identifier: MIT */
/*
 * test_alloc.c: a watcher of ml_alloc's memory hears of every piece, but not in a forked child of
 * the process that holds a rank: there, a thread that the child lacks may hold the watcher's lock.
 */
#include "runtime/process/alloc.h"

#include "runtime/process/fork_guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int added, dropped;

static void on_add(void *memory, size_t size)
{
    assert_non_null(memory);
    assert_true(size > 0);
    added++;
}

static void on_drop(void *memory)
{
    assert_non_null(memory);
    dropped++;
}

static void test_watcher(void **state)
{
    static const struct alloc_watcher w = {.add = on_add, .drop = on_drop};
    void *early, *late, *childs;
    int status;
    pid_t child;

    (void)state;
    assert_int_equal(alloc_take(1, &early, NULL), 0);
    alloc_watch(&w);
    assert_int_equal(added, 1);
    assert_int_equal(alloc_take(1, &late, NULL), 0);
    assert_int_equal(added, 2);
    fork_guard_start();
    child = fork();
    if (child == 0) {
        status = alloc_take(1, &childs, NULL);
        alloc_give(childs);
        alloc_give(late);
        _exit(status || added != 2 || dropped != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    alloc_give(late);
    alloc_give(early);
    assert_int_equal(dropped, 2);
    fork_guard_stop();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watcher),
    };

    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
