/* SPDX-License-Identifier: MIT */
/* names_words.c: the words for verbs' enums, the same as rdma-core's, which programs print and
 * tests look for. */
#include <infiniband/verbs.h>

static const char *const node_types[] = {
    [IBV_NODE_CA] = "InfiniBand channel adapter",
    [IBV_NODE_SWITCH] = "InfiniBand switch",
    [IBV_NODE_ROUTER] = "InfiniBand router",
    [IBV_NODE_RNIC] = "iWARP NIC",
    [IBV_NODE_USNIC] = "usNIC",
    [IBV_NODE_USNIC_UDP] = "usNIC UDP",
    [IBV_NODE_UNSPECIFIED] = "unspecified",
};

static const char *const port_states[] = {
    [IBV_PORT_NOP] = "no state change (NOP)",
    [IBV_PORT_DOWN] = "down",
    [IBV_PORT_INIT] = "init",
    [IBV_PORT_ARMED] = "armed",
    [IBV_PORT_ACTIVE] = "active",
    [IBV_PORT_ACTIVE_DEFER] = "active defer",
};

static const char *const event_types[] = {
    [IBV_EVENT_CQ_ERR] = "CQ error",
    [IBV_EVENT_QP_FATAL] = "local work queue catastrophic error",
    [IBV_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
    [IBV_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
    [IBV_EVENT_COMM_EST] = "communication established",
    [IBV_EVENT_SQ_DRAINED] = "send queue drained",
    [IBV_EVENT_PATH_MIG] = "path migrated",
    [IBV_EVENT_PATH_MIG_ERR] = "path migration request error",
    [IBV_EVENT_DEVICE_FATAL] = "local catastrophic error",
    [IBV_EVENT_PORT_ACTIVE] = "port active",
    [IBV_EVENT_PORT_ERR] = "port error",
    [IBV_EVENT_LID_CHANGE] = "LID change",
    [IBV_EVENT_PKEY_CHANGE] = "P_Key change",
    [IBV_EVENT_SM_CHANGE] = "SM change",
    [IBV_EVENT_SRQ_ERR] = "SRQ catastrophic error",
    [IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
    [IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
    [IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
    [IBV_EVENT_GID_CHANGE] = "GID table change",
    [IBV_EVENT_WQ_FATAL] = "WQ fatal",
};

static const char *const wc_statuses[] = {
    [IBV_WC_SUCCESS] = "success",
    [IBV_WC_LOC_LEN_ERR] = "local length error",
    [IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
    [IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
    [IBV_WC_LOC_PROT_ERR] = "local protection error",
    [IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
    [IBV_WC_MW_BIND_ERR] = "memory management operation error",
    [IBV_WC_BAD_RESP_ERR] = "bad response error",
    [IBV_WC_LOC_ACCESS_ERR] = "local access error",
    [IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
    [IBV_WC_REM_ACCESS_ERR] = "remote access error",
    [IBV_WC_REM_OP_ERR] = "remote operation error",
    [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
    [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
    [IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
    [IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
    [IBV_WC_REM_ABORT_ERR] = "aborted error",
    [IBV_WC_INV_EECN_ERR] = "invalid EE context number",
    [IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
    [IBV_WC_FATAL_ERR] = "fatal error",
    [IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
    [IBV_WC_GENERAL_ERR] = "general error",
    [IBV_WC_TM_ERR] = "TM error",
    [IBV_WC_TM_RNDV_INCOMPLETE] = "TM software rendezvous",
};

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

/* A negative value arrives here as a large one. */
static const char *word(const char *const *words, size_t count, unsigned value)
{
    return value < count && words[value] ? words[value] : "unknown";
}

const char *ibv_node_type_str(enum ibv_node_type node_type)
{
    return word(node_types, COUNT(node_types), (unsigned)node_type);
}

const char *ibv_port_state_str(enum ibv_port_state port_state)
{
    return word(port_states, COUNT(port_states), (unsigned)port_state);
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
    return word(event_types, COUNT(event_types), (unsigned)event);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return word(wc_statuses, COUNT(wc_statuses), (unsigned)status);
}
