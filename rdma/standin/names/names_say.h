/* SPDX-License-Identifier: MIT */
/*
 * names_say.h: the names of libibverbs that this stand-in exports without a device behind them.
 *
 * Programs and providers bind every name at start if they were linked with -z now, as Debian links
 * them, so that a name that is missing stops a program that never calls it. names.map lists all of
 * them; the files names_*.c define those that need no device, and refuse those with nothing to do
 * here.
 */
#ifndef RDMA_STANDIN_NAMES_NAMES_SAY_H
#define RDMA_STANDIN_NAMES_NAMES_SAY_H

#include <stdatomic.h>
#include <stdint.h>

struct ibv_context;

/* The type of the GID with this index, in *type, an enum ibv_gid_type of verbs.h. Returns 0 or an
 * errno, ENODATA for an empty entry. Defined with the devices, not in names_*.c. */
int standin_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type);

/* Writes "libibverbs (stand-in): NAME WHY" and a newline to standard error, in one write() and
 * without allocation. Leaves errno alone. Any thread. */
void names_say(const char *name, const char *why);

/* What a refusal does before it returns: names_say() at the first call with this `said`, and errno
 * set to `err` at each. Any thread. */
void names_refuse(atomic_flag *said, const char *name, const char *why, int err);

/*
 * Defines `function` as a refusal, which says once why it does nothing, sets errno to `err` and
 * returns `failure` (empty if `type` is void). name: as callers know the function.
 *
 * It is defined without its parameters, because on every machine that we build for the caller
 * removes its own arguments. That keeps out of this tree the structs of rdma-core's private
 * headers; a file with refusals must not include verbs.h.
 */
#define NAMES_REFUSE(function, name, type, failure, err, why)                                      \
    type function(void);                                                                           \
    type function(void)                                                                            \
    {                                                                                              \
        static atomic_flag said = ATOMIC_FLAG_INIT;                                                \
                                                                                                   \
        names_refuse(&said, name, why, err);                                                       \
        return failure;                                                                            \
    }

#endif
