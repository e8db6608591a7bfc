/* SPDX-License-Identifier: MIT */
/*
 * beyond: rank 0 sends rank 1 a message of more than 4 GiB from a few MiB of memory that are mapped
 * over and over, and rank 1 receives it into such memory. The length of the memory doesn't divide 4
 * GiB, so if an offset lost its upper half, the bytes that are written last would be those of
 * another place. Then the status is 1.
 */
#include "common/mlaunch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t total = ((size_t)4 << 30) + 5000011;

static unsigned char byte_of(size_t index)
{
    return (unsigned char)((index >> 12) * 37 + index * 11);
}

/* Maps `period` bytes of memory over and over, at `total` addresses or more. */
static unsigned char *map_again_and_again(size_t period)
{
    size_t room = (total / period + 1) * period;
    int fd = memfd_create("beyond", MFD_CLOEXEC);
    unsigned char *all;

    if (fd < 0 || ftruncate(fd, (off_t)period))
        return NULL;
    all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t at = 0; all != MAP_FAILED && at < room; at += period)
        if (mmap(all + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            return NULL;
    close(fd);
    return all == MAP_FAILED ? NULL : all;
}

/* Each byte of the memory must be the last of those that are mapped to its place. */
static size_t count_wrong(const unsigned char *memory, size_t period)
{
    size_t wrong = 0;

    for (size_t i = 0; i < period; i++)
        wrong += memory[i] != byte_of(i);
    return wrong;
}

int main(void)
{
    size_t period = 767 * (size_t)sysconf(_SC_PAGESIZE), wrong = 0;
    unsigned char *memory = map_again_and_again(period);
    ml_group *w;
    int rc;

    if (!memory) {
        perror("beyond: cannot map the memory");
        return 1;
    }
    if (ml_init(&w)) {
        fprintf(stderr, "beyond: %s\n", ml_error());
        return 1;
    }
    if (ml_rank(w) == 0) {
        for (size_t i = 0; i < period; i++)
            memory[i] = byte_of(i);
        rc = ml_send(w, memory, total, 1);
    } else {
        rc = ml_recv(w, memory, total, 0);
        wrong = count_wrong(memory, period);
    }
    if (rc || ml_finalize()) {
        fprintf(stderr, "beyond: %s\n", ml_error());
        return 1;
    }
    if (wrong)
        fprintf(stderr, "beyond: %zu bytes of %zu are wrong\n", wrong, period);
    else
        printf("%zu bytes are right\n", total);
    return wrong != 0;
}
