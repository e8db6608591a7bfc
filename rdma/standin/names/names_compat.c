/* SPDX-License-Identifier: MIT */
/*
 * names_compat.c: the names of old versions, which only programs linked long ago ask for.
 *
 * Version IBVERBS_1.0 is that of 2006, with other structs behind the same names. The linker takes
 * its version from the name itself ("ibv_open_device@IBVERBS_1.0"), not from names.map.
 */
#include "rdma/standin/names/names_say.h"

#include <errno.h>
#include <stddef.h>

/* Versions are set by an attribute in gcc, and by assembler text in clang 14, which lacks the
 * attribute. gcc's link-time optimization may part such text from its function. */
#if __has_attribute(symver)
#define VERSION(function, versioned)                                                               \
    __attribute__((symver(versioned))) __typeof__(function) function
#else
#define VERSION(function, versioned) __asm__(".symver " #function ", " versioned)
#endif

#define WHY "of version IBVERBS_1.0 is not provided: link the program anew"

#define OLD(name, type, failure)                                                                   \
    type old_##name(void);                                                                         \
    VERSION(old_##name, #name "@IBVERBS_1.0");                                                     \
    NAMES_REFUSE(old_##name, #name, type, failure, ENOSYS, WHY)

/* devices */
OLD(ibv_get_device_list, void *, NULL)
OLD(ibv_free_device_list, void, )
OLD(ibv_get_device_name, void *, NULL)
OLD(ibv_get_device_guid, uint64_t, 0)
OLD(ibv_open_device, void *, NULL)
OLD(ibv_close_device, int, -1)
OLD(ibv_get_async_event, int, -1)
OLD(ibv_ack_async_event, void, )
OLD(ibv_query_device, int, ENOSYS)
OLD(ibv_query_port, int, ENOSYS)
OLD(ibv_query_gid, int, -1)
OLD(ibv_query_pkey, int, -1)

/* memory */
OLD(ibv_alloc_pd, void *, NULL)
OLD(ibv_dealloc_pd, int, ENOSYS)
OLD(ibv_reg_mr, void *, NULL)
OLD(ibv_dereg_mr, int, ENOSYS)

/* completions */
OLD(ibv_create_cq, void *, NULL)
OLD(ibv_resize_cq, int, ENOSYS)
OLD(ibv_destroy_cq, int, ENOSYS)
OLD(ibv_get_cq_event, int, -1)
OLD(ibv_ack_cq_events, void, )

/* queues */
OLD(ibv_create_srq, void *, NULL)
OLD(ibv_modify_srq, int, ENOSYS)
OLD(ibv_query_srq, int, ENOSYS)
OLD(ibv_destroy_srq, int, ENOSYS)
OLD(ibv_create_qp, void *, NULL)
OLD(ibv_query_qp, int, ENOSYS)
OLD(ibv_modify_qp, int, ENOSYS)
OLD(ibv_destroy_qp, int, ENOSYS)

/* addresses */
OLD(ibv_create_ah, void *, NULL)
OLD(ibv_destroy_ah, int, ENOSYS)
OLD(ibv_attach_mcast, int, ENOSYS)
OLD(ibv_detach_mcast, int, ENOSYS)

/* Silent, as in rdma-core since its release 13: old modules of libfabric call it at load, only to
 * keep a still older libibverbs from complaining. */
void old_ibv_register_driver(const char *name, void *start);
VERSION(old_ibv_register_driver, "ibv_register_driver@IBVERBS_1.1");
void old_ibv_register_driver(const char *name, void *start)
{
    (void)name;
    (void)start;
}
