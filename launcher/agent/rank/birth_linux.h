/* SPDX-License-Identifier: MIT */
/*
 * birth_linux.h: vfork() into a control group. The kernel takes some 10 ms to move a process into a
 * group, but no extra time to create it there. libc's vfork() cannot name a group; and its
 * syscall() cannot be used, because parent and child would return from it on the same stack.
 */
#ifndef LAUNCHER_AGENT_RANK_BIRTH_LINUX_H
#define LAUNCHER_AGENT_RANK_BIRTH_LINUX_H

#include "config.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* A sanitizer keeps track of the stack, and does not support two processes that share it. */
#ifdef SANITIZE
enum { BIRTH_SHARED = 0 };
#else
enum { BIRTH_SHARED = CLONE_VM };
#endif

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long birth_clone3(struct clone_args *args)
{
    long pid;

    __asm__ volatile("syscall"
                     : "=a"(pid)
                     : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args))
                     : "rcx", "r11", "memory");
    return pid;
}

/* The child makes one more call, exit, and touches no memory. */
static inline long birth_clone3_ended(struct clone_args *args)
{
    long pid;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(pid)
                     : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory", "cc");
    return pid;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long birth_clone3(struct clone_args *args)
{
    register long call __asm__("x8") = SYS_clone3;
    register long first __asm__("x0") = (long)args;
    register long second __asm__("x1") = sizeof(*args);

    __asm__ volatile("svc 0" : "+r"(first) : "r"(call), "r"(second) : "memory");
    return first;
}

static inline long birth_clone3_ended(struct clone_args *args)
{
    register long call __asm__("x8") = SYS_clone3;
    register long first __asm__("x0") = (long)args;
    register long second __asm__("x1") = sizeof(*args);

    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc 0\n"
                     "1:"
                     : "+r"(first), "+r"(call)
                     : "r"(second), [exit] "i"(SYS_exit)
                     : "memory");
    return first;
}
#else
static inline long birth_clone3(struct clone_args *args)
{
    (void)args;
    return -ENOSYS;
}

static inline long birth_clone3_ended(struct clone_args *args)
{
    return birth_clone3(args);
}
#endif

/* As vfork(), with all restrictions of vfork(2). Negative: not possible here, nothing has happened.
 * Must be inlined, because the child continues in the caller's stack frame. */
static inline __attribute__((always_inline)) pid_t birth_in_cgroup(int cgroup)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP | CLONE_VFORK | BIRTH_SHARED,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)cgroup};

    return (pid_t)birth_clone3(&args);
}

/* A child that ends at once. It shares what would have to be copied, and as it has nothing to do,
 * nobody waits for it now. No SIGCHLD comes: waitpid() finds it by __WALL. Negative: not possible
 * here. */
static inline pid_t birth_ended(void)
{
    struct clone_args args = {.flags = CLONE_FILES | CLONE_FS | BIRTH_SHARED};

    return (pid_t)birth_clone3_ended(&args);
}

#endif
