/* SPDX-License-Identifier: MIT */
/* notation.h: how profiles and the control socket's commands write rates, times, losses, addresses
 * and ports. Each reader returns false if `text` is no such thing, and then changes nothing. */
#ifndef RDMA_STANDIN_PROFILE_NOTATION_H
#define RDMA_STANDIN_PROFILE_NOTATION_H

#include "rdma/standin/fabric_message.h"

/* What is allowed, for sentences: "a rate is " and so on. */
#define NOTATION_RATE    "a number and bit, kbit, mbit or gbit, as in 10gbit, or 0 for no limit"
#define NOTATION_DELAY   "a number and ns, us, ms or s up to 100 s, as in 20us, or 0"
#define NOTATION_LOSS    "a share of all packets from 0% to 100%, as in 0.1%"
#define NOTATION_ADDRESS "an address of IPv4 (Ethernet alone) or IPv6, as in 10.0.0.1 or fe80::1"
#define NOTATION_PORT    "HOST/DEVICE:PORT, as in a/rxe0:1"
#define NOTATION_NAME    "1 to 63 letters, digits, '-', '_' and '.', not first a '.'"

bool notation_rate(const char *text, uint64_t *bits_per_second);
bool notation_delay(const char *text, int64_t *ns);
bool notation_loss(const char *text, double *share);

/* An address of IPv4 is taken only if `has_ipv4`, and becomes ::ffff:a.b.c.d. */
bool notation_address(const char *text, bool has_ipv4, union ibv_gid *gid);

/* Whether a host or a device can have this name. */
bool notation_is_name(const char *text);

/* Splits "HOST/DEVICE". */
bool notation_device(const char *text, char host[FABRIC_NAME], char device[FABRIC_NAME]);

/* Splits "HOST/DEVICE:PORT". */
bool notation_port(const char *text, char host[FABRIC_NAME], char device[FABRIC_NAME], int *port);

#endif
