/* SPDX-License-Identifier: MIT */
/* exit_dump: in a build with --coverage every program and library has this _exit(), which writes
 * the counts first, and begins anew, because a child of vfork() shares them with its parent. */
void __gcov_dump(void);
void __gcov_reset(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
    __gcov_dump();
    __gcov_reset();
    __real__exit(status);
}
