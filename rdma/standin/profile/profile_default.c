/* SPDX-License-Identifier: MIT */
#include "rdma/standin/profile/profile_default.h"

#include <stdio.h>

enum {
    RXE_MOST = 1 << 20,
    RXE_CAPABILITIES = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                       IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_CHANGE_PHY_PORT |
                       IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
                       IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
                       IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_MGT_EXTENSIONS,
    SDR = 1,
    WIDTH_1X = 1,
    LINK_UP = 5,
};

static const struct ibv_device_attr rxe = {
    .fw_ver = "0.0.0",
    .max_mr_size = UINT64_MAX,
    .page_size_cap = 0xfffff000,
    .vendor_id = 0xffffff,
    .max_qp = RXE_MOST - 16,
    .max_qp_wr = RXE_MOST,
    .device_cap_flags = RXE_CAPABILITIES,
    .max_sge = 32,
    .max_sge_rd = 32,
    .max_cq = RXE_MOST,
    .max_cqe = (1 << 15) - 1,
    .max_mr = RXE_MOST - 1,
    .max_pd = RXE_MOST,
    .max_qp_rd_atom = 128,
    .max_res_rd_atom = 0x3f000,
    .max_qp_init_rd_atom = 128,
    .atomic_cap = IBV_ATOMIC_HCA,
    .max_ah = RXE_MOST,
    .max_srq = RXE_MOST - 1,
    .max_srq_wr = RXE_MOST,
    .max_srq_sge = 27,
    .max_pkeys = 1,
    .local_ca_ack_delay = 15,
    .phys_port_cnt = 1,
};

static const struct ibv_port_attr rxe_port = {
    .state = IBV_PORT_ACTIVE,
    .max_mtu = IBV_MTU_4096,
    .active_mtu = IBV_MTU_1024,
    .gid_tbl_len = FABRIC_GIDS_MOST,
    .port_cap_flags = IBV_PORT_CM_SUP,
    .max_msg_sz = 0x800000,
    .pkey_tbl_len = 1,
    .max_vl_num = 1,
    .active_width = WIDTH_1X,
    .active_speed = SDR,
    .phys_state = LINK_UP,
    .link_layer = IBV_LINK_LAYER_ETHERNET,
};

void profile_default_kind(struct profile_kind *k)
{
    k->is.attr = rxe;
    k->is.qp_types = 1U << IBV_QPT_RC | 1U << IBV_QPT_UC | 1U << IBV_QPT_UD;
    k->is.opcodes = 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM | 1U << IBV_WR_RDMA_WRITE |
                    1U << IBV_WR_RDMA_WRITE_WITH_IMM | 1U << IBV_WR_RDMA_READ |
                    1U << IBV_WR_ATOMIC_CMP_AND_SWP | 1U << IBV_WR_ATOMIC_FETCH_AND_ADD;
    k->is.max_inline = 512;
    k->is.has_events = true;
    k->port.attr = rxe_port;
    snprintf(k->hca_type, sizeof(k->hca_type), "standin");
    snprintf(k->board_id, sizeof(k->board_id), "standin");
}

void profile_default_device(struct profile_device *d, int number)
{
    d->gid_types = 1U << IBV_GID_TYPE_ROCE_V1 | 1U << IBV_GID_TYPE_ROCE_V2;
    d->node_guid = 0x020000fffe000001 + ((uint64_t)number << 8);
}
