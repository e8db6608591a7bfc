/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_rule.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "IBTA" is the InfiniBand Architecture Specification, volume 1, release 1.4. */
static const struct {
    const char *text, *source;
} rules[RULES] = {
    [RULE_LIVES] = {"an object is not used after its destruction", "ibv_destroy_qp(3) and others"},
    [RULE_LIMIT] = {"a device has a limited number of each object", "ibv_query_device(3)"},
    [RULE_IN_USE] = {"an object is destroyed after all that use it",
                     "ibv_dealloc_pd(3), ibv_destroy_cq(3)"},
    [RULE_EVENTS_ACKED] = {"each event is acknowledged once, before its queue is destroyed",
                           "ibv_get_cq_event(3)"},
    [RULE_ONE_CONTEXT] = {"objects that work together are of one context", "ibv_create_qp(3)"},
    [RULE_ONE_DOMAIN] = {"a request's memory is of its queue pair's protection domain",
                         "IBTA 10.2.3, protection domains"},
    [RULE_MR_ACCESS] = {"remote writes and atomics need IBV_ACCESS_LOCAL_WRITE, too",
                        "ibv_reg_mr(3)"},
    [RULE_MR_LENGTH] = {"a region is not longer than max_mr_size", "ibv_query_device(3)"},
    [RULE_MR_MAPPED] = {"memory is mapped from its registration to its end", "ibv_reg_mr(3)"},
    [RULE_MR_KEY] = {"an element has the lkey of a region that is registered", "ibv_post_send(3)"},
    [RULE_MR_RANGE] = {"an element lies within its region", "IBTA 10.6.3, addressing"},
    [RULE_MR_LOCAL_WRITE] = {"memory that is received or read into has IBV_ACCESS_LOCAL_WRITE",
                             "ibv_reg_mr(3)"},
    [RULE_MR_REQUESTS] = {"a region stays until all requests that name it are completed",
                          "ibv_dereg_mr(3), ibv_post_send(3)"},
    [RULE_SEND_UNCHANGED] = {"what is sent is left alone until its completion", "ibv_post_send(3)"},
    [RULE_REMOTE_KEY] = {"the remote key is that of a region that is registered there",
                         "IBTA 9.7.4.1.5, R_Key violations"},
    [RULE_REMOTE_RANGE] = {"the remote range lies within the region",
                           "IBTA 9.7.4.1.5, R_Key violations"},
    [RULE_REMOTE_ACCESS] = {"the remote region allows that by its access flags", "ibv_reg_mr(3)"},
    [RULE_REMOTE_DOMAIN] = {"the remote region is of the queue pair's protection domain",
                            "IBTA 10.2.3, protection domains"},
    [RULE_REMOTE_QP_ACCESS] = {"the remote queue pair allows that by qp_access_flags",
                               "ibv_modify_qp(3)"},
    [RULE_ATOMIC_ALIGNED] = {"an atomic's address is a multiple of 8", "IBTA 9.4.5, atomics"},
    [RULE_ATOMIC_LENGTH] = {"an atomic has 8 bytes", "IBTA 9.4.5, atomics"},
    [RULE_READ_DEPTH] = {"no more reads and atomics are on their way than max_dest_rd_atomic there",
                         "ibv_modify_qp(3)"},
    [RULE_RECEIVE_LENGTH] =
        {"a receive has room for the whole message, and for the 40 bytes before "
         "a datagram",
         "ibv_post_recv(3)"},
    [RULE_RECEIVE_POSTED] = {"a receive is posted before a message for it comes",
                             "IBTA 9.7.5.2.8, RNR NAK"},
    [RULE_QP_CAPABILITY] = {"a queue pair's sizes are within the device's limits",
                            "ibv_create_qp(3)"},
    [RULE_QP_TYPE] = {"a device has some types of queue pairs only", "ibv_create_qp(3)"},
    [RULE_QP_TRANSITION] = {"a queue pair goes from RESET to INIT, RTR and RTS in turn",
                            "ibv_modify_qp(3)"},
    [RULE_QP_MASK_MISSING] = {"each transition needs its attributes", "ibv_modify_qp(3), table"},
    [RULE_QP_MASK_EXTRA] = {"each transition allows some attributes only",
                            "ibv_modify_qp(3), table"},
    [RULE_QP_PORT] = {"ports are numbered from 1", "ibv_query_port(3)"},
    [RULE_QP_PKEY] = {"a partition key's index is in the port's table", "ibv_query_pkey(3)"},
    [RULE_QP_MTU] = {"path_mtu is not above the port's active_mtu", "ibv_query_port(3)"},
    [RULE_QP_GID] = {"sgid_index is that of a GID in the port's table", "ibv_query_gid(3)"},
    [RULE_QP_GLOBAL] = {"an address on Ethernet is global: is_global = 1 and a dgid",
                        "RoCE, annex A16 of IBTA"},
    [RULE_QP_DEPTH] = {"reads and atomics on their way are within the device's limits",
                       "ibv_query_device(3)"},
    [RULE_QP_RANGE] = {"timers have 5 bits, and counts of retries 3", "ibv_modify_qp(3)"},
    [RULE_SEND_STATE] = {"sends are posted from RTS on", "ibv_post_send(3), IBTA 10.3.1"},
    [RULE_RECEIVE_STATE] = {"receives are posted from INIT on", "IBTA 10.3.1, queue pair states"},
    [RULE_RECEIVE_FULL] = {"no more receives are posted than the queue holds", "ibv_create_qp(3)"},
    [RULE_SEND_SIGNALED] = {"places of the send queue are free when a signaled request is polled",
                            "ibv_post_send(3), ibv_create_qp(3)"},
    [RULE_SGE_COUNT] = {"a request has no more elements than the queue's max_sge",
                        "ibv_create_qp(3)"},
    [RULE_OPCODE] = {"each type of queue pair has its opcodes, as far as the device has them",
                     "ibv_post_send(3), table"},
    [RULE_INLINE] = {"inline bytes are within max_inline_data", "ibv_post_send(3)"},
    [RULE_INLINE_READ] = {"only sends and writes can be inline", "ibv_post_send(3)"},
    [RULE_MESSAGE_LENGTH] = {"a message is not longer than max_msg_sz", "ibv_query_port(3)"},
    [RULE_UD_LENGTH] = {"a datagram is not longer than the port's MTU", "IBTA 9.8.3, UD"},
    [RULE_UD_ADDRESS] = {"an address handle is of the queue pair's domain and port",
                         "ibv_create_ah(3)"},
    [RULE_UD_QKEY] = {"a datagram has the queue key of its receiver", "IBTA 10.2.5, Q_Keys"},
    [RULE_SRQ_RECEIVE] = {"receives of a queue pair with a shared queue are posted there",
                          "ibv_create_qp(3)"},
    [RULE_CQ_FULL] = {"a completion queue has room for all that is posted", "ibv_create_cq(3)"},
    [RULE_SRQ_LIMIT] = {"a shared queue's limit is below its size", "ibv_modify_srq(3)"},
};

static atomic_int said[RULES];

/* One write, so that lines of several ranks do not mix. */
void standin_break(enum standin_rule rule, const struct standin_context *c, const char *object,
                   const char *format, ...)
{
    char asked[512], line[1024];
    va_list arguments;
    int n;

    if (c && c->arena.bytes)
        __atomic_fetch_add(&standin_objects_of(c)->broken, 1, __ATOMIC_RELAXED);
    if (atomic_fetch_add(&said[rule], 1) >= STANDIN_SAID)
        return;
    va_start(arguments, format);
    vsnprintf(asked, sizeof(asked), format, arguments);
    va_end(arguments);
    n = snprintf(line, sizeof(line), "libibverbs (stand-in): %s%s%s%s%s: %s: %s (%s)\n",
                 c ? c->device.host : "", c ? " " : "", c ? c->verbs.context.device->name : "",
                 c ? ": " : "", object, asked, rules[rule].text, rules[rule].source);
    (void)!write(STDERR_FILENO, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

bool standin_lives(const struct standin_context *c, const struct standin_object *o,
                   const char *call)
{
    if (!o->is_dead)
        return true;
    standin_break(RULE_LIVES, c, "an object that is destroyed", "%s", call);
    return false;
}
