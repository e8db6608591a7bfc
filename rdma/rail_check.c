/* SPDX-License-Identifier: MIT */
#include "rdma/rail_check.h"

#include "rdma/verbs/explain.h"

#include <string.h>

static const uint64_t check_magic = 0x6d6c61756e636834; /* "mlaunch4" */

struct rail_check rail_check_make(uint64_t tag, int from, int to, int rail, int rails)
{
    return (struct rail_check){check_magic, tag, from, to, rail, rails};
}

int rail_check_compare(const struct rail *r, const struct rail *over,
                       const struct rail_check *wanted, const void *came, size_t size,
                       struct fault *why)
{
    struct explain_place at = rail_place(r);
    char place[EXPLAIN_PLACE];
    struct rail_check c;

    if (size != sizeof(c))
        return fault_set(why, ML_ERR_LINK, "a check from %s is damaged", r->fit.peer);
    memcpy(&c, came, sizeof(c));
    if (over == r && memcmp(&c, wanted, sizeof(c)) == 0)
        return 0;
    if (c.magic != wanted->magic || c.tag != wanted->tag)
        return fault_set(why, ML_ERR_LINK,
                         "the link%s leads to something that does not belong to this job",
                         explain_place(&at, place));
    return fault_set(why, ML_ERR_LINK,
                     "the link%s leads from rank %d to rank %d instead: the hostfile's wiring does "
                     "not fit the cables",
                     explain_place(&at, place), c.from, c.to);
}

int rail_check_late(const struct rail *r, struct fault *why)
{
    struct explain_place at = rail_place(r);
    char place[EXPLAIN_PLACE];

    return fault_set(why, ML_ERR_LINK,
                     "the link%s was set up on both ends, but nothing comes through: are these two "
                     "devices on one cable, as the hostfile's wiring says?",
                     explain_place(&at, place));
}
