/* SPDX-License-Identifier: MIT */
/*
 * beyond: rank 0 sends rank 1 a message of more than 4 GiB, out of a few MiB of memory that are mapped again and
 * again, and rank 1 gets it into such. Their length doesn't divide 4 GiB: had an offset lost its upper half, the bytes
 * that are written last would be those of another place. Status 1 if they are.
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

/* At least `total` bytes of addresses, `period` bytes of memory. */
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

/* Each place of the memory was written last by the last of the bytes that are mapped to it. */
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
