/* SPDX-License-Identifier: MIT */
/*
 * host_table.h: lists about all hosts of a job, in the short form in which messages carry them
 * (doc/protocol.md, "Lists of hosts"). Names and addresses that count up, and ranks that are dealt
 * out evenly, take the same few bytes for any number of hosts. All numbers are below 10^9.
 */
#ifndef COMMON_NET_HOST_TABLE_H
#define COMMON_NET_HOST_TABLE_H

#include <jansson.h>

/* NULL: out of memory, or a text is not UTF-8. */
json_t *host_table_write_texts(const char *const *texts, int count);
json_t *host_table_write_numbers(const int *numbers, int count);

/* Stores in *out exactly `count` texts; free(*out) frees them, too. ML_ERR_REFUSED: it is not such
 * a list; ML_ERR_MEMORY. */
int host_table_read_texts(const char ***out, const json_t *list, int count);
/* Stores in *out, for the caller to free, exactly `count` numbers from 0 to limit - 1. The same
 * errors. */
int host_table_read_numbers(int **out, const json_t *list, int count, int limit);

#endif
