/* SPDX-License-Identifier: MIT */
/* query_format.h: numbers of an agent's answer as cells of a table. */
#ifndef LAUNCHER_QUERY_QUERY_FORMAT_H
#define LAUNCHER_QUERY_QUERY_FORMAT_H

enum { QUERY_FORMAT = 32 };

/* "12s", "5:04", "3:05:04", "2d04h" */
void query_format_age(char out[QUERY_FORMAT], long long s);
/* "812K", "3.4M", "12G" */
void query_format_size(char out[QUERY_FORMAT], double bytes);

#endif
