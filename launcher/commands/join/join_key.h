/* SPDX-License-Identifier: MIT */
/* join_key.h: the key of a host that joins; what is wrong with its file is logged. */
#ifndef LAUNCHER_COMMANDS_JOIN_JOIN_KEY_H
#define LAUNCHER_COMMANDS_JOIN_JOIN_KEY_H

#include "common/net/auth.h"

#include <stdbool.h>

bool join_key_read(uint8_t out[AUTH_SECRET], const char *path); /* the caller wipes it */
bool join_key_write(const char *path);

#endif
