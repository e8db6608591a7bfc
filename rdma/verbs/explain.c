/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/explain.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

static const char *const steps[EXPLAIN_STEPS] = {
    [EXPLAIN_OPEN] = "cannot open the RDMA device",
    [EXPLAIN_PORT] = "cannot query the port",
    [EXPLAIN_GIDS] = "cannot read the GID table",
    [EXPLAIN_DOMAIN] = "cannot allocate a protection domain",
    [EXPLAIN_MEMORY] = "cannot register memory",
    [EXPLAIN_QUEUE] = "cannot create a completion queue",
    [EXPLAIN_PAIR] = "cannot create a queue pair",
    [EXPLAIN_TO_INIT] = "cannot initialise the queue pair",
    [EXPLAIN_TO_RTR] = "cannot connect the queue pair",
    [EXPLAIN_TO_RTS] = "cannot start the queue pair",
    [EXPLAIN_POST] = "cannot post to the queue pair",
};

/* The most frequent causes and their remedies. The first matching row is used; -1 matches every
 * step or err. */
static const struct cause {
    int step, err;
    const char *text;
} causes[] = {
    {EXPLAIN_OPEN, EACCES,
     "/dev/infiniband/uverbs* is not open to this user: see its mode, or add the user to its "
     "group"},
    {EXPLAIN_OPEN, EPERM,
     "this container or user may not use /dev/infiniband: pass the device into the container"},
    {EXPLAIN_OPEN, ENOENT,
     "/dev/infiniband is not here: load ib_uverbs, or pass the device into the container"},
    {EXPLAIN_OPEN, ENODEV, "the device has gone away, or this container does not have it"},
    {EXPLAIN_MEMORY, ENOMEM,
     "the limit of locked memory is too low: raise it (ulimit -l unlimited; for ssh logins "
     "/etc/security/limits.conf)"},
    {EXPLAIN_MEMORY, EAGAIN, "the limit of locked memory is too low: ulimit -l unlimited"},
    {EXPLAIN_TO_RTR, EINVAL,
     "this GID index can't reach that GID: choose another one (--gid-index), or look at the "
     "addresses of both ends"},
    {EXPLAIN_TO_RTR, ETIMEDOUT,
     "the peer's address does not answer: are these two devices on one cable or fabric, as the "
     "hostfile says?"},
    {EXPLAIN_TO_RTR, ENETUNREACH,
     "there is no route from here to there: the devices are on different networks; compare the "
     "hostfile's wiring with the cables"},
    {EXPLAIN_TO_RTR, EHOSTUNREACH,
     "the peer's address does not answer: compare the hostfile's wiring with the cables"},
    {EXPLAIN_TO_RTR, ENODATA, "the peer's address does not answer: is its interface up?"},
    {-1, EBUSY,
     "an earlier process may still hold its resources: try again, or see `rdma resource`"},
    {-1, ENOMEM, "the device has run out of resources: see `rdma resource` for their owners"},
    {-1, EACCES, "this user may not use the device"},
    {-1, EPERM, "this user or container may not use the device"},
    {-1, ENODEV, "the device has gone away"},
};

static const char *cause_of(enum explain_step step, int err)
{
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
        if ((causes[i].step == -1 || causes[i].step == (int)step) &&
            (causes[i].err == -1 || causes[i].err == err))
            return causes[i].text;
    return NULL;
}

const char *explain_place(const struct explain_place *at, char text[EXPLAIN_PLACE])
{
    char mine[GID_TEXT], theirs[GID_TEXT];
    size_t used = 0;

    text[0] = '\0';
    if (at->device)
        used += (size_t)snprintf(text, EXPLAIN_PLACE, " on %.64s", at->device);
    if (at->port)
        used += (size_t)snprintf(text + used, EXPLAIN_PLACE - used, " port %d", at->port);
    if (at->gid)
        used += (size_t)snprintf(text + used, EXPLAIN_PLACE - used, " (GID %u, %s)", at->gid->index,
                                 gid_format(at->gid, mine));
    if (at->peer)
        used += (size_t)snprintf(text + used, EXPLAIN_PLACE - used, " towards %.120s", at->peer);
    if (at->peer_gid)
        snprintf(text + used, EXPLAIN_PLACE - used, " (GID %u, %s)", at->peer_gid->index,
                 gid_format(at->peer_gid, theirs));
    return text;
}

static int code_of(enum explain_step step, int err)
{
    if (step == EXPLAIN_TO_RTR)
        return ML_ERR_LINK;
    return err == ENOMEM ? ML_ERR_MEMORY : ML_ERR_DEVICE;
}

int explain(struct fault *why, enum explain_step step, int err, const struct explain_place *at)
{
    char place[EXPLAIN_PLACE];
    const char *cause = cause_of(step, err);

    return fault_set(why, code_of(step, err), "%s%s: %s%s%s", steps[step], explain_place(at, place),
                     strerror(err), cause ? "; " : "", cause ? cause : "");
}

int explain_completion(struct fault *why, int status, const char *word,
                       const struct explain_place *at)
{
    char place[EXPLAIN_PLACE];
    const char *cause = "the queue pair is lost";

    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        cause = "the other end has not answered for some 10 s: its host, its port or the cable is "
                "down";
        break;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        cause = "the other end had no receive posted";
        break;
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        cause = "the other end refuses what was written: is it of another build?";
        break;
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_GENERAL_ERR:
    case IBV_WC_FATAL_ERR:
        cause = "the device failed; the port may be down: see `rdma link` and the kernel's log";
        break;
    default:
        break;
    }
    return fault_set(why, ML_ERR_LINK, "the link%s failed: %s; %s", explain_place(at, place), word,
                     cause);
}
