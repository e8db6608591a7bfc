/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_qp.h"

#include <stdio.h>

uint32_t standin_mtu_bytes(enum ibv_mtu mtu)
{
    return 128U << mtu;
}

uint32_t standin_packets(uint64_t length, uint32_t mtu)
{
    return length ? (uint32_t)((length + mtu - 1) / mtu) : 1;
}

uint32_t standin_segment_grow(uint32_t size)
{
    return size < FABRIC_SLOT_SIZE ? 2 * size : size;
}

const char *standin_name_qp(const struct standin_qp *q, char text[STANDIN_TEXT])
{
    snprintf(text, STANDIN_TEXT, "queue pair 0x%x", q->verbs.qp_base.qp_num);
    return text;
}

/* --- segments --------------------------------------------------------------------------------- */

void standin_segment_address(struct fabric_segment *s, const struct ibv_ah_attr *to)
{
    s->port = to->port_num;
    s->sl = to->sl;
    s->to_lid = to->dlid;
    if (to->is_global) {
        s->to = to->grh.dgid;
        s->sgid_index = to->grh.sgid_index;
        s->flags |= FABRIC_HAS_GRH;
    }
}

struct fabric_segment standin_segment(const struct standin_qp *q, enum fabric_segment_type type)
{
    struct fabric_segment s = {.kind = FABRIC_SEGMENT,
                               .type = (uint8_t)type,
                               .qp_type = (uint8_t)q->init.qp_type,
                               .slot = FABRIC_NO_SLOT,
                               .packets = 1,
                               .from_qp = q->verbs.qp_base.qp_num,
                               .to_qp = q->attr.dest_qp_num};

    standin_segment_address(&s, &q->attr.ah_attr);
    return s;
}
