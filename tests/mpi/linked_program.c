/* SPDX-License-Identifier: MIT */
/*
 * linked_program.c: stands in for a program that has an MPI linked into it statically, as far as
 * mlaunch looks at it. INNER is a function of that MPI, compiled in with -DINNER=…; it opens what
 * MPI_Init opens. All ranks wait for ever.
 */
#include <sys/epoll.h>
#include <unistd.h>

int INNER(void);

int INNER(void)
{
    return epoll_create1(0);
}

int main(void)
{
    if (INNER() < 0)
        return 2;
    for (;;)
        pause();
}
