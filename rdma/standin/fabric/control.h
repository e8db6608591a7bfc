/* SPDX-License-Identifier: MIT */
/*
 * control.h: the socket DIR/control, by which a test changes the network while it runs. A line is a
 * command, and is answered by a line: "ok", or "error: " and a sentence.
 *
 *     unplug HOST/DEVICE:PORT       its cable: both ends of a wire go down, of a switch only this
 *     plug HOST/DEVICE:PORT
 *     down HOST/DEVICE:PORT         the port alone
 *     up HOST/DEVICE:PORT
 *     oneway HOST/DEVICE:PORT       what it sends vanishes; nobody is told
 *     bothways HOST/DEVICE:PORT
 *     gone HOST                     all its ports are silent; nobody is told
 *     back HOST
 *     loss HOST/DEVICE:PORT 5%      of the wire, both ways; also delay 20ms, rate 1gbit
 *     longest HOST/DEVICE:PORT 2048 packets of more bytes vanish, both ways; 0: none is too long
 *     counters HOST/DEVICE:PORT     answered by "ok" and each counter's name and value
 *     objects HOST/DEVICE           answered by "ok" and, for each program that has opened it, its
 *                                   pid and name, and how many pd, cq, qp and mr it has there
 *     gid HOST/DEVICE:PORT INDEX ADDRESS    :: for none
 *     mtu HOST/DEVICE:PORT 1024     the active MTU
 *     fatal HOST/DEVICE             programs get the event that the device has failed
 */
#ifndef RDMA_STANDIN_FABRIC_CONTROL_H
#define RDMA_STANDIN_FABRIC_CONTROL_H

#include "rdma/standin/fabric/contexts.h"
#include "rdma/standin/fabric/ports.h"
#include "rdma/standin/fabric/sysfs_tree.h"

#include <event2/event.h>

struct control;

/* What commands change; all outlive the control. */
struct control_of {
    struct event_base *base;
    struct ports *ports;
    struct contexts *contexts;
    struct sysfs_tree *tree;
};

/* ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int control_open(struct control **out, const struct control_of *of, const char *dir,
                 struct fault *why);
void control_close(struct control *c); /* takes NULL */

#endif
