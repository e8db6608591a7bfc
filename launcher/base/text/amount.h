/* SPDX-License-Identifier: MIT */
/* amount.h: times and sizes as cells of a table. */
#ifndef LAUNCHER_BASE_TEXT_AMOUNT_H
#define LAUNCHER_BASE_TEXT_AMOUNT_H

enum { AMOUNT = 32 };

/* Each returns `out`. "12s", "5:04", "3:05:04", "2d04h" */
const char *amount_age(char out[AMOUNT], long long s);
/* "812K", "3.4M", "12G" */
const char *amount_size(char out[AMOUNT], double bytes);
/* The same with a figure more: "0.8 MiB", "3.40 GiB" */
const char *amount_bytes(char out[AMOUNT], long long bytes);
/* "0.25 s" */
const char *amount_seconds(char out[AMOUNT], long long ms);

#endif
