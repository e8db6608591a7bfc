/* SPDX-License-Identifier: MIT */
/* topology_sentence.h: what is wrong with a wiring, in words. Each returns the code that it sets in
 * *why. *host becomes the host that the sentence is about; the caller puts its name in front. */
#ifndef LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_SENTENCE_H
#define LAUNCHER_RUN_RDMA_TOPOLOGY_TOPOLOGY_SENTENCE_H

#include "launcher/run/rdma_topology/topology_end.h"

/* This end, whose port may be left open, was stated to lead to host j and doesn't. Host j's entry
 * for this host has the same number of ends. */
int topology_sentence_astray(const struct topology_facts *f, struct topology_end e, int j,
                             int *host, struct fault *why);
/* No port of host i reaches host j. */
int topology_sentence_no_wire(const struct topology_facts *f, int i, int j, int *host,
                              struct fault *why);
/* Short datagrams come through from a to b, long ones don't. */
int topology_sentence_narrow(const struct topology_facts *f, struct topology_end a,
                             struct topology_end b, int *host, struct fault *why);
/* --mtu is more than the port's active one. */
int topology_sentence_mtu(const struct topology_facts *f, struct topology_end e, int *host,
                          struct fault *why);
/* The stated lists of devices from host i to host j and back differ in length. */
int topology_sentence_uneven(const struct topology_facts *f, int j, int there, int back,
                             struct fault *why);
/* Not each device that is stated from one host to another one has an active port, or none is
 * stated. */
int topology_sentence_unusable(const struct topology_facts *f, int from, int to, struct fault *why);
/* The host has no port that could join its own ranks. */
int topology_sentence_no_port(const struct topology_facts *f, int host, struct fault *why);

#endif
