/* SPDX-License-Identifier: MIT */
/* names_refused.c: public names of verbs.h for what the stand-in's devices don't do. */
#include "rdma/standin/names/names_say.h"

#include <errno.h>
#include <stddef.h>

#define REFUSED(name, type, failure)                                                               \
    NAMES_REFUSE(name, #name, type, failure, EOPNOTSUPP, "is not provided here")

/* multicast */
REFUSED(ibv_attach_mcast, int, EOPNOTSUPP)
REFUSED(ibv_detach_mcast, int, EOPNOTSUPP)

/* objects of another process */
REFUSED(ibv_import_pd, void *, NULL)
REFUSED(ibv_unimport_pd, void, )
REFUSED(ibv_import_mr, void *, NULL)
REFUSED(ibv_unimport_mr, void, )
REFUSED(ibv_import_dm, void *, NULL)
REFUSED(ibv_unimport_dm, void, )

/* options of a vendor for a connection */
REFUSED(ibv_set_ece, int, EOPNOTSUPP)
REFUSED(ibv_query_ece, int, EOPNOTSUPP)

/* neighbours, by the kernel's table */
REFUSED(ibv_resolve_eth_l2_from_gid, int, EOPNOTSUPP)
