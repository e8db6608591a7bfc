/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_identity.h"

#include <sodium.h>
#include <stdio.h>
#include <time.h>

/* Crockford's base 32: digits sort before letters, and no two characters look alike. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

static char *digits_put(char *at, uint64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--, value >>= 5)
        at[i] = digits[value & 31];
    return at + count;
}

static int randomness_start(struct fault *why)
{
    return sodium_init() < 0
               ? fault_set(why, ML_ERR_SYSTEM, "libsodium cannot start: no source of randomness")
               : 0;
}

int job_identity_name(char id[JOB_ID_SIZE], struct fault *why)
{
    char *at = id;
    int rc = randomness_start(why);

    if (rc)
        return rc;
    at = digits_put(at, (uint64_t)time(NULL), 7);
    *at++ = '-';
    at = digits_put(at, randombytes_random(), 6);
    *at = 0;
    return 0;
}

int job_identity_make(struct job_identity *out, const char *id, int restart, struct fault *why)
{
    int rc = randomness_start(why);

    if (rc)
        return rc;
    snprintf(out->id, sizeof(out->id), "%s", id);
    out->restart = restart;
    randombytes_buf(out->secret, sizeof(out->secret));
    return 0;
}

void job_identity_wipe(struct job_identity *j)
{
    sodium_memzero(j->secret, sizeof(j->secret));
}
