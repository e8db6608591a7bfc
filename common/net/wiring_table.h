/* SPDX-License-Identifier: MIT */
/*
 * wiring_table.h: the matrix of RDMA devices, [host][host], in the short form in which JOB carries
 * it (doc/protocol.md, "Lists of hosts"). Where all hosts name the same devices towards all others,
 * it takes the same few bytes for any number of hosts.
 */
#ifndef COMMON_NET_WIRING_TABLE_H
#define COMMON_NET_WIRING_TABLE_H

#include <jansson.h>

enum { WIRING_HOSTS_MOST = 4096 };

/* The short form of a square matrix of lists or nulls. NULL: out of memory, or it is no square. */
json_t *wiring_table_write(const json_t *matrix);

/* Stores in *out the matrix of `hosts` rows, each with as many entries: null, or a list of texts.
 * Equal entries are one value. ML_ERR_REFUSED: it is not such a form, or has more than
 * WIRING_HOSTS_MOST hosts; ML_ERR_MEMORY. */
int wiring_table_read(json_t **out, const json_t *table, int hosts);

#endif
