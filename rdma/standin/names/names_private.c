/* SPDX-License-Identifier: MIT */
/*
 * names_private.c: what libibverbs exports to providers, under version IBVERBS_PRIVATE_34.
 *
 * A provider is the user's half of a driver, such as libmlx5. Programs link libmlx5 for its own
 * calls, so it must load beside the stand-in; but it finds no device of its own here, so nothing
 * below is called, but for the registration at load. Return values are those of rdma-core 44: an
 * errno, unless the table says otherwise.
 */
#include "rdma/standin/names/names_say.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define WHY "is private to providers and not provided here"

#define REFUSED(name, type, failure) NAMES_REFUSE(name, #name, type, failure, EOPNOTSUPP, WHY)
#define COMMAND(name)                REFUSED(name, int, EOPNOTSUPP)

/* Called by each provider's constructor, at load and before main(), so it must be silent. */
void verbs_register_driver_34(const void *ops);
void verbs_register_driver_34(const void *ops)
{
    (void)ops;
}

/* Read by providers after a device is gone, and never true here. */
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;

/* the life of a device's context */
REFUSED(verbs_open_device, void *, NULL)
REFUSED(_verbs_init_and_alloc_context, void *, NULL)
REFUSED(verbs_uninit_context, void, )
REFUSED(verbs_set_ops, void, )
REFUSED(verbs_init_cq, void, )
REFUSED(__verbs_log, void, )
REFUSED(ibv_read_ibdev_sysfs_file, int, -1)

/* Room for a command with `count` attributes; link: further ones, never gathered here. Answered, so
 * that a caller has room for its own until execute_ioctl() fails. */
unsigned __ioctl_final_num_attrs(unsigned count, void *link);
unsigned __ioctl_final_num_attrs(unsigned count, void *link)
{
    (void)link;
    return count;
}

COMMAND(execute_ioctl)

/* devices */
COMMAND(ibv_cmd_get_context)
COMMAND(ibv_cmd_query_context)
COMMAND(ibv_cmd_query_device_any)
COMMAND(ibv_cmd_query_port)

/* memory */
COMMAND(ibv_cmd_alloc_pd)
COMMAND(ibv_cmd_dealloc_pd)
COMMAND(ibv_cmd_reg_mr)
COMMAND(ibv_cmd_reg_dmabuf_mr)
COMMAND(ibv_cmd_reg_dm_mr)
COMMAND(ibv_cmd_rereg_mr)
COMMAND(ibv_cmd_query_mr)
COMMAND(ibv_cmd_advise_mr)
COMMAND(ibv_cmd_dereg_mr)
COMMAND(ibv_cmd_alloc_mw)
COMMAND(ibv_cmd_dealloc_mw)
COMMAND(ibv_cmd_alloc_dm)
COMMAND(ibv_cmd_free_dm)

/* completions */
COMMAND(ibv_cmd_create_cq)
COMMAND(ibv_cmd_create_cq_ex)
COMMAND(ibv_cmd_modify_cq)
COMMAND(ibv_cmd_resize_cq)
COMMAND(ibv_cmd_req_notify_cq)
REFUSED(ibv_cmd_poll_cq, int, -1)
COMMAND(ibv_cmd_destroy_cq)

/* queues */
COMMAND(ibv_cmd_create_srq)
COMMAND(ibv_cmd_create_srq_ex)
COMMAND(ibv_cmd_modify_srq)
COMMAND(ibv_cmd_query_srq)
COMMAND(ibv_cmd_post_srq_recv)
COMMAND(ibv_cmd_destroy_srq)
COMMAND(ibv_cmd_create_qp)
COMMAND(ibv_cmd_create_qp_ex)
COMMAND(ibv_cmd_create_qp_ex2)
COMMAND(ibv_cmd_open_qp)
COMMAND(ibv_cmd_modify_qp)
COMMAND(ibv_cmd_modify_qp_ex)
COMMAND(ibv_cmd_query_qp)
COMMAND(ibv_cmd_post_send)
COMMAND(ibv_cmd_post_recv)
COMMAND(ibv_cmd_destroy_qp)
COMMAND(ibv_cmd_create_wq)
COMMAND(ibv_cmd_modify_wq)
COMMAND(ibv_cmd_destroy_wq)
COMMAND(ibv_cmd_create_rwq_ind_table)
COMMAND(ibv_cmd_destroy_rwq_ind_table)
COMMAND(ibv_cmd_open_xrcd)
COMMAND(ibv_cmd_close_xrcd)

/* addresses */
COMMAND(ibv_cmd_create_ah)
COMMAND(ibv_cmd_destroy_ah)
COMMAND(ibv_cmd_attach_mcast)
COMMAND(ibv_cmd_detach_mcast)

/* flows and counters */
COMMAND(ibv_cmd_create_flow)
COMMAND(ibv_cmd_destroy_flow)
COMMAND(ibv_cmd_create_flow_action_esp)
COMMAND(ibv_cmd_modify_flow_action_esp)
COMMAND(ibv_cmd_destroy_flow_action)
COMMAND(ibv_cmd_create_counters)
COMMAND(ibv_cmd_read_counters)
COMMAND(ibv_cmd_destroy_counters)
