/* SPDX-License-Identifier: MIT */
#include "launcher/run/identity/job_identity.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

/* Crockford's base 32: digits sort before letters, and no two characters look alike. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

static char *digits_put(char *at, uint64_t value, int count)
{
    for (int i = count - 1; i >= 0; i--, value >>= 5)
        at[i] = digits[value & 31];
    return at + count;
}

/* From the kernel, because libsodium begins by asking the processor what it can, which takes long
 * in a virtual machine. So few bytes are never cut short by a signal. */
static int randomness_take(void *out, size_t size, struct fault *why)
{
    if (getrandom(out, size, 0) == (ssize_t)size)
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, errno, "there is no source of randomness");
}

int job_identity_name(char id[JOB_ID_SIZE], struct fault *why)
{
    char *at = id;
    uint32_t random;
    int rc = randomness_take(&random, sizeof(random), why);

    if (rc)
        return rc;
    at = digits_put(at, (uint64_t)time(NULL), 7);
    *at++ = '-';
    at = digits_put(at, random, 6);
    *at = 0;
    return 0;
}

int job_identity_make(struct job_identity *out, const char *id, int restart, struct fault *why)
{
    snprintf(out->id, sizeof(out->id), "%s", id);
    out->restart = restart;
    return randomness_take(out->secret, sizeof(out->secret), why);
}

void job_identity_wipe(struct job_identity *j)
{
    sodium_memzero(j->secret, sizeof(j->secret));
}
