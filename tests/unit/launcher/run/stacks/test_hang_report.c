/* SPDX-License-Identifier: MIT */
/* test_hang_report.c: what is said of ranks in calls, in places, and of hostile answers; and which
 * line of a stack is a rank's place. */
#include "launcher/run/stacks/hang_report.h"
#include "launcher/run/stacks/stack_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 8 };

/* The text of a report of ranks 0, 1, … that say `said`, JSON texts of which NULL is the end. */
static void expect(const char *const *said, const char *text)
{
    struct hang_rank ranks[RANKS] = {{0}};
    json_t *parsed[RANKS], *report;
    size_t count = 0;
    char *found;

    for (; said[count]; count++) {
        parsed[count] = json_loads(said[count], 0, NULL);
        assert_non_null(parsed[count]);
        ranks[count] = (struct hang_rank){(long long)count, count < 2 ? "a" : "b", parsed[count]};
    }
    report = hang_report_make(ranks, count);
    found = hang_report_text(report, " ", 1);
    assert_string_equal(found, text);
    free(found);
    json_decref(report);
    while (count > 0)
        json_decref(parsed[--count]);
}
#define EXPECT(text, ...) expect((const char *const[]){__VA_ARGS__, NULL}, text)

#define CALL(number, group, algorithm, from)                                                       \
    "{\"waits\": [{\"name\": \"all_reduce\", \"text\": \"t\", \"call\": " #number                  \
    ", \"group\": " #group ", \"algorithm\": \"" algorithm "\", \"receives_from\": " from          \
    ", \"members\": [1, 2, 3]}]}"
#define PYTHON(file, line, name)                                                                   \
    "{\"stacks\": [{\"pid\": 7, \"python\": [\"File \\\"/x/" file "\\\", line " #line " in " name  \
    "\", \"File \\\"/x/t.py\\\", line 3 in <module>\"]}]}"

static void test_calls(void **state)
{
    (void)state;
    EXPECT("\n 0,1 wait in all_reduce #1041 (ring) for 2\n 2 is in dataloader.py:88 read"
           "\n stack of rank 2 on host b (pid 7):\n     /x/dataloader.py:88 in read"
           "\n     /x/t.py:3 in <module>",
           CALL(1041, 0, "ring", "[2]"), CALL(1041, 0, "ring", "[0]"),
           PYTHON("dataloader.py", 88, "read"));
    /* On shared memory nobody is named. */
    EXPECT("\n 0 waits in all_reduce #2 for 1-3\n 1 has ended\n 2: no stack can be read",
           CALL(2, 0, "", "[]"), "{\"state\": \"ended\"}", "{}");
    EXPECT("\n 0: no stack can be read\n 1,3 wait in all_reduce #2 of group 5 for 2"
           "\n 2 waits in all_reduce #3 of group 5 for 1,3",
           "{}", CALL(2, 5, "", "[]"), CALL(3, 5, "", "[]"), CALL(2, 5, "", "[]"));
    /* Two calls under one number never end. */
    EXPECT("\n 0 waits in all_reduce #4 for 1\n 1 waits in barrier #4 for 0"
           "\n deadlock: rank 0 waits for rank 1, which waits for rank 0",
           CALL(4, 0, "", "[1]"),
           "{\"waits\": [{\"name\": \"barrier\", \"call\": 4, \"receives_from\": [0]}]}");
    /* A rank in a barrier waits for all that are not in it, also if it names nobody; one in a
     * broadcast for its root alone. */
#define IN(call) "{\"waits\": [{\"name\": \"" call "\", \"call\": 2, \"receives_from\": []}]}"
#define RECV     "{\"waits\": [{\"text\": \"recv from rank 1\", \"receives_from\": [1]}]}"
    EXPECT("\n 0 waits in recv from rank 1\n 1,2 wait in barrier #2 for 0"
           "\n deadlock: rank 0 waits for rank 1, which waits for rank 0",
           RECV, IN("barrier"), IN("barrier"));
    EXPECT("\n 0 waits in recv from rank 1\n 1,2 wait in broadcast #2 for 0", RECV, IN("broadcast"),
           IN("broadcast"));
#define ALONE "{\"waits\": [{\"name\": \"barrier\", \"call\": 2}]}"
    EXPECT("\n 0,1 wait in barrier #2 for each other", ALONE, ALONE);
    /* A window has a group of its own, and one call for all. */
#define FREE(window, from)                                                                         \
    "{\"waits\": [{\"name\": \"window_free\", \"call\": 1, \"window\": true, "                     \
    "\"group\": " #window ", \"receives_from\": [" #from "], \"members\": [0, 1]}], "              \
    "\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x12 in main (x=1) at w.c:7\"]}]}"
    EXPECT("\n 0 waits in window_free of window 3 at w.c:7 main for 1"
           "\n 1 waits in window_free of window 4 at w.c:7 main for 0"
           "\n deadlock: rank 0 waits for rank 1, which waits for rank 0",
           FREE(3, 1), FREE(4, 0));
}

static void test_messages(void **state)
{
    (void)state;
    EXPECT("\n 0 waits in recv of 8 bytes from rank 1\n 1 waits in recv of 8 bytes from rank 0"
           "\n deadlock: rank 0 waits for rank 1, which waits for rank 0",
           "{\"waits\": [{\"text\": \"recv of 8 bytes from rank 1\", \"receives_from\": [1]}]}",
           "{\"waits\": [{\"text\": \"recv of 8 bytes from rank 0\", \"receives_from\": [0]}]}");
    EXPECT("\n 0 waits in recv of 8 bytes from rank 1, called at w.c:7 main",
           "{\"waits\": [{\"text\": \"recv of 8 bytes from rank 1\"}], \"stacks\": [{\"by\": "
           "\"gdb\", \"stack\": [\"#0  0x12 in main (x=1) at w.c:7\"]}]}");
    EXPECT("\n 0 waits in send of 8 bytes to rank 1, called at t.py:3",
           "{\"waits\": [{\"text\": \"send of 8 bytes to rank 1, called at t.py:3\", \"place\": "
           "\"t.py:3\"}], \"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x12 in main (x=1) at "
           "w.c:7\"]}]}");
}

/* Equal stacks are one line, whatever their addresses are. */
static void test_places(void **state)
{
    (void)state;
    EXPECT("\n 0,2 are in the system call read\n 1 is running, in no system call",
           "{\"stacks\": [{\"by\": \"kernel\", \"stack\": [\"in the system call read\"]}]}",
           "{\"stacks\": [{\"by\": \"kernel\", \"stack\": [\"running, in no system call\"]}]}",
           "{\"stacks\": [{\"by\": \"kernel\", \"stack\": [\"in the system call read\"]}]}");
    EXPECT(
        "\n 0,1 are in f\n stack of rank 0 on host a (pid 0):\n     f\n     main",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x12 in f (x=1)\", \"#1  main ()\"]}]}",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x34 in f (x=2)\", \"#1  main ()\"]}]}");
}

/* Ranks in the same call of MPI are one line, wherever in MPI they are. */
static void test_foreign_calls(void **state)
{
    (void)state;
    EXPECT(
        "\n 0-2 are in MPI_Allreduce, called at p.c:41 step\n 3 is in p.c:7 load"
        "\n stack of rank 0 on host a (pid 0):\n     poll (libc)\n     progress (libmpi.so)"
        "\n     PMPI_Allreduce (libmpi.so)\n     p.c:41 step",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x12 in __poll () at ../sysdeps/p.c:2\","
        " \"#1  0x13 in progress () from /x/libmpi.so\", \"#2  0x14 in PMPI_Allreduce () from "
        "/x/libmpi.so\", \"#3  0x15 in step (n=3) at /x/p.c:41\"]}]}",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x14 in PMPI_Allreduce () from "
        "/x/libmpi.so\", \"#1  0x15 in step (n=3) at /x/p.c:41\"]}]}",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x16 in other () from /x/libmpi.so\","
        " \"#1  0x17 in MPI_Wait () from /x/libmpi.so\", \"#2  0x14 in PMPI_Allreduce () from "
        "/x/libmpi.so\", \"#3  0x15 in step (n=3) at /x/p.c:41\"]}]}",
        "{\"stacks\": [{\"by\": \"gdb\", \"stack\": [\"#0  0x19 in load () at p.c:7\"]}]}");
}

static void test_hostile(void **state)
{
    (void)state;
    EXPECT("\n 0 waits in ?[2J #1 for 1\n 1: no stack can be read",
           "{\"waits\": [{\"name\": \"\\u001b[2J\", \"call\": 1}]}", "{\"waits\": 7}");
    EXPECT("\n 0 waits in \n 0 waits in ?", "{\"waits\": [3, {\"text\": \"\\n\"}]}");
    EXPECT("\n 0 waits in \n 1 waits in s"
           "\n deadlock: rank 1 waits for rank 1",
           "{\"waits\": [{\"receives_from\": {}, \"sends_to\": [\"0\", null, 1.5, -1, 1e9]}]}",
           "{\"waits\": [{\"text\": \"s\", \"sends_to\": [\"0\", 1, 99999999999]}]}");
    EXPECT("\n 0: no stack can be read",
           "{\"stacks\": [3, {\"stack\": [1, \"#\"], \"python\": [{}, \"File \\\"\"]}]}");
    EXPECT("\n 0,1 are in (", "{\"stacks\": [{\"by\": \"kernel\", \"stack\": [\"in (\"]}]}",
           "{\"stacks\": [{\"by\": \"kernel\", \"stack\": [\"in (\"]}]}");
}

static void place(const char *stack, const char *expected)
{
    json_t *process = json_pack("{s:s, s:o}", "by", "gdb", "stack", json_loads(stack, 0, NULL));
    struct stack_view v;

    stack_view_make(&v, process);
    assert_string_equal(v.place, expected);
    stack_view_clear(&v);
    json_decref(process);
}

static void test_place(void **state)
{
    (void)state;
    place("[]", "");
    place(
        "[\"Thread 2 (LWP 8):\", \"#0  other () at o.c:1\", \"Thread 1 (LWP 7):\","
        " \"#0  0x07 in __GI___poll (fds=0x1) at ../sysdeps/unix/poll.c:29\","
        " \"#1  0x08 in wait_sleep (g=0x5) at ../runtime/group/wait.c:260\","
        " \"#2  0x09 in ml_barrier (g=0x5) at ../runtime/shim.c:9\","
        " \"#3  0x0a in step (n=3) at /home/me/prog.c:41\", \"#4  main () at /home/me/prog.c:50\"]",
        "in prog.c:41 step");
    place("[\"#0  0x07 in __GI___libc_read (fd=0) at ../read.c:26\", \"#1  0x08 in ?? ()\","
          " \"#2  load () from /x/libdata.so\", \"#3  main ()\"]",
          "in main");
    place("[\"#0  0x07 in __GI___libc_read (fd=0) at ../read.c:26\", \"#1  0x08 in ?? ()\"]",
          "in read (libc)");
    place("[\"#0  0x07 in usleep (n=3) at ../sysdeps/posix/usleep.c:31\","
          " \"#1  compute (n=9) at c.c:3\"]",
          "in c.c:3 compute");
    place("[\"#0  0x07 in __GI___libc_read (fd=0) at ../read.c:26\", \"#1  0x08 in ?? ()\","
          " \"#2  0x09 in _PyEval_EvalFrameDefault ()\", \"#3  0x0a in main ()\"]",
          "in read (libc), called by Python");
    place("[\"#0  0x07 in poll () from /x/libc.so.6\", \"#1  0x08 in MPI_Recv () from /x/m.so\","
          " \"#2  0x09 in main ()\"]",
          "in MPI_Recv, called by main");
    place("[\"#0  0x07 in poll () from /x/libc.so.6\", \"#1  0x08 in PMPI_Recv () from /x/m.so\","
          " \"#2  0x09 in mpi_recv_ () from /x/m.so\", \"#3  0x0a in solve () at s.f90:3\"]",
          "in mpi_recv_, called at s.f90:3 solve");
    place("[\"#0  0x08 in MPI_Recv () from /x/m.so\", \"#1  0x09 in ?? ()\","
          " \"#2  0x09 in _PyEval_EvalFrameDefault ()\", \"#3  0x0a in main ()\"]",
          "in MPI_Recv, called by Python");
    place("[\"#0  0x07 in f () from /x/t.so\","
          " \"#1  0x08 in c10d::Work::wait(long) () from /x/t.so\", \"#2  run () at r.cc:9\"]",
          "in c10d::Work::wait(long), called at r.cc:9 run");
    place("[\"#0  0x08 in MPIR_Wait () from /x/m.so\", \"#1  main () at r.c:9\"]", "in r.c:9 main");
    place("[\"#0  0x09 in _PyObject_MakeTpCall ()\", \"#1  0x0a in Py_BytesMain ()\"]",
          "in Python");
    place("[\"TID 7:\", \"#0  0x07 f at /x/a.c:3:1\", \"TID 8:\", \"#0  0x07 g\"]", "in a.c:3:1 f");
}

/* The interpreter's own functions are counted. */
static void test_interpreter(void **state)
{
    json_t *process =
        json_loads("{\"by\": \"gdb\", \"stack\": [\"#0  0x07 in wait_all () from /x/libgloo.so\","
                   " \"#1  0x08 in _PyEval_EvalFrameDefault ()\", \"#2  0x08 in ?? ()\","
                   " \"#3  0x09 in Py_RunMain ()\", \"#4  0x0a in main ()\"]}",
                   0, NULL);
    struct stack_view v;

    (void)state;
    stack_view_make(&v, process);
    assert_int_equal(json_array_size(v.frames), 3);
    assert_string_equal(json_string_value(json_array_get(v.frames, 1)),
                        "Python, 3 frames (import mlaunch in the script shows lines)");
    assert_string_equal(v.place, "in wait_all (libgloo.so), called by Python");
    stack_view_clear(&v);
    json_decref(process);
}

/* A shell that waits for its child is not where the rank is. */
static void test_choose(void **state)
{
    json_t *stacks =
        json_loads("[{\"pid\": 1, \"by\": \"kernel\", \"stack\": [\"in the system call wait4\"]},"
                   " {\"pid\": 2, \"by\": \"kernel\", \"stack\": [\"in the system call read\"]}]",
                   0, NULL);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(stack_view_choose(stacks), "pid")), 2);
    json_decref(stacks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),       cmocka_unit_test(test_messages),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_foreign_calls),
        cmocka_unit_test(test_hostile),     cmocka_unit_test(test_place),
        cmocka_unit_test(test_interpreter), cmocka_unit_test(test_choose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
