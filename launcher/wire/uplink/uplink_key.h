/* SPDX-License-Identifier: MIT */
/* uplink_key.h: the file with the key that lets hosts join: 64 hexadecimal digits. */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_KEY_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_KEY_H

#include "common/net/auth.h"

/* Writes a new key to a file of mode 0600, which must not be there yet. ML_ERR_SYSTEM. */
int uplink_key_create(const char *path, struct fault *why);

/* Reads a key, also through a link, and whoever owns the file; the caller wipes it. *warning, to be
 * freed, says that others can read it; else it is NULL. ML_ERR_SYSTEM, ML_ERR_ARGUMENT. */
int uplink_key_read(uint8_t out[AUTH_SECRET], const char *path, char **warning, struct fault *why);

#endif
