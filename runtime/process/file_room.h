/* SPDX-License-Identifier: MIT */
/* file_room.h: room for a file that is to be mapped: writing to a page that its file system has no
 * room for would end the process. */
#ifndef RUNTIME_PROCESS_FILE_ROOM_H
#define RUNTIME_PROCESS_FILE_ROOM_H

#include <sys/types.h>

/* As posix_fallocate, but the program's signals do not end it: they wait. */
int file_room_take(int fd, off_t offset, off_t size);

#endif
