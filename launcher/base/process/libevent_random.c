/* SPDX-License-Identifier: MIT */
/*
 * libevent_random.c: lets what is copied start on hosts with a glibc before 2.36. Debian's
 * libevent_core.a is compiled for a libc that has arc4random; these functions take its place.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) void arc4random_buf(void *out, size_t size);
__attribute__((visibility("hidden"))) uint32_t arc4random(void);

/* From the kernel, which never refuses so few bytes once it has started. */
void arc4random_buf(void *out, size_t size)
{
    char *at = out;

    while (size > 0) {
        ssize_t n = getrandom(at, size, 0);

        if (n < 0)
            continue; /* a signal came before its first random bytes */
        at += n;
        size -= (size_t)n;
    }
}

uint32_t arc4random(void)
{
    uint32_t number;

    arc4random_buf(&number, sizeof(number));
    return number;
}
