/* SPDX-License-Identifier: MIT */
/* name_ranges.h: a short form of several host names. */
#ifndef LAUNCHER_BASE_TEXT_NAME_RANGES_H
#define LAUNCHER_BASE_TEXT_NAME_RANGES_H

#include "common/fault.h"

#include <stddef.h>

/* Stores in *out, for the caller to free: "login,n[1-3,07]-ib" for n1-ib n2-ib n3-ib n07-ib and
 * login, in alphabetical order; names of one letter as "a,c-h". Neighbours that differ in one
 * number are taken together: in the last number before the first dot, or of an address in the
 * last one. ML_ERR_MEMORY. */
int name_ranges_format(char **out, const char *const *names, size_t count, struct fault *why);

#endif
