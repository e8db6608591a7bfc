/* SPDX-License-Identifier: MIT */
#include "launcher/ask/port_counter.h"

#include <stddef.h>

/* What makers call the same. InfiniBand counts bytes in words of four (IBTA 16.1.3.5). */
static const struct known_counter {
    enum port_counter which;
    const char *name;
    int unit;
} known[] = {
    {PORT_COUNTER_RECEIVED, "port_rcv_data", 4},
    {PORT_COUNTER_RECEIVED, "rx_bytes", 1},
    {PORT_COUNTER_RECEIVED, "rcvd_bytes", 1},
    {PORT_COUNTER_SENT, "port_xmit_data", 4},
    {PORT_COUNTER_SENT, "tx_bytes", 1},
    {PORT_COUNTER_SENT, "sent_bytes", 1},
    {PORT_COUNTER_PACKETS_RECEIVED, "port_rcv_packets", 1},
    {PORT_COUNTER_PACKETS_RECEIVED, "rx_pkts", 1},
    {PORT_COUNTER_PACKETS_RECEIVED, "rcvd_pkts", 1},
    {PORT_COUNTER_PACKETS_SENT, "port_xmit_packets", 1},
    {PORT_COUNTER_PACKETS_SENT, "tx_pkts", 1},
    {PORT_COUNTER_PACKETS_SENT, "sent_pkts", 1},
};

/* The first one that a driver has is taken. */
bool port_counter_read(const json_t *counters, enum port_counter which, double *out)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        const json_t *value = json_object_get(counters, known[i].name);

        if (known[i].which == which && json_is_integer(value)) {
            *out = json_number_value(value) * known[i].unit;
            return true;
        }
    }
    return false;
}

/* Those of InfiniBand's ports, of mlx5 and bnxt_re, and of Soft-RoCE. */
const char *const port_counter_errors[] = {"symbol_error",
                                           "link_error_recovery",
                                           "link_downed",
                                           "port_rcv_errors",
                                           "local_link_integrity_errors",
                                           "excessive_buffer_overrun_errors",
                                           "VL15_dropped",
                                           "port_xmit_discards",
                                           "out_of_sequence",
                                           "packet_seq_err",
                                           "local_ack_timeout_err",
                                           "rnr_nak_retry_err",
                                           "duplicate_request",
                                           "out_of_seq_request",
                                           "rcvd_seq_err",
                                           "retry_exceeded_err",
                                           "send_err",
                                           NULL};
