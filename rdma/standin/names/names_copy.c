/* SPDX-License-Identifier: MIT */
/* names_copy.c: copies between the kernel's structs and those of verbs, for librdmacm. The names
 * are private to rdma-core, whose header marshall.h is not installed. */
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);

/* Field by field, where both structs have the name: the caller's padding stays as it is. */
#define COPY(field) to->field = from->field

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from)
{
    memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof(from->grh.dgid));
    COPY(grh.flow_label);
    COPY(grh.sgid_index);
    COPY(grh.hop_limit);
    COPY(grh.traffic_class);
    COPY(dlid);
    COPY(sl);
    COPY(src_path_bits);
    COPY(static_rate);
    COPY(is_global);
    COPY(port_num);
}

/* All but qp_state, the state to enter, which librdmacm sets itself before it asks the kernel. */
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
{
    COPY(cur_qp_state);
    COPY(path_mtu);
    COPY(path_mig_state);
    COPY(qkey);
    COPY(rq_psn);
    COPY(sq_psn);
    COPY(dest_qp_num);
    COPY(qp_access_flags);
    to->cap.max_send_wr = from->max_send_wr;
    to->cap.max_recv_wr = from->max_recv_wr;
    to->cap.max_send_sge = from->max_send_sge;
    to->cap.max_recv_sge = from->max_recv_sge;
    to->cap.max_inline_data = from->max_inline_data;
    ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
    ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
    COPY(pkey_index);
    COPY(alt_pkey_index);
    COPY(en_sqd_async_notify);
    COPY(sq_draining);
    COPY(max_rd_atomic);
    COPY(max_dest_rd_atomic);
    COPY(min_rnr_timer);
    COPY(port_num);
    COPY(timeout);
    COPY(retry_cnt);
    COPY(rnr_retry);
    COPY(alt_port_num);
    COPY(alt_timeout);
}

/* The fields of a path record, without its GIDs, have the same names on both sides. */
#define COPY_PATH_REC()                                                                            \
    do {                                                                                           \
        COPY(dlid);                                                                                \
        COPY(slid);                                                                                \
        COPY(raw_traffic);                                                                         \
        COPY(flow_label);                                                                          \
        COPY(hop_limit);                                                                           \
        COPY(traffic_class);                                                                       \
        COPY(reversible);                                                                          \
        COPY(numb_path);                                                                           \
        COPY(pkey);                                                                                \
        COPY(sl);                                                                                  \
        COPY(mtu_selector);                                                                        \
        COPY(mtu);                                                                                 \
        COPY(rate_selector);                                                                       \
        COPY(rate);                                                                                \
        COPY(packet_life_time_selector);                                                           \
        COPY(packet_life_time);                                                                    \
        COPY(preference);                                                                          \
    } while (0)

void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from)
{
    memcpy(to->dgid.raw, from->dgid, sizeof(from->dgid));
    memcpy(to->sgid.raw, from->sgid, sizeof(from->sgid));
    COPY_PATH_REC();
}

void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from)
{
    memcpy(to->dgid, from->dgid.raw, sizeof(to->dgid));
    memcpy(to->sgid, from->sgid.raw, sizeof(to->sgid));
    COPY_PATH_REC();
}
