/* SPDX-License-Identifier: MIT */
#include "runtime/process/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>

/* Trying again alone would not do: tmpfs gives back what it had taken by the signal, and a timer of
 * the program may be faster each time. */
int file_room_take(int fd, off_t offset, off_t size)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    do
        err = posix_fallocate(fd, offset, size);
    while (err == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}
