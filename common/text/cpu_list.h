/* SPDX-License-Identifier: MIT */
/*
 * cpu_list.h: the CPUs or memory nodes of several ranks as users write them, and of one as Linux
 * does. "0-3,8+10-11" is 0 to 3 for the first rank, and 8, 10 and 11 for the second.
 */
#ifndef COMMON_TEXT_CPU_LIST_H
#define COMMON_TEXT_CPU_LIST_H

#include <sched.h>
#include <stddef.h>

enum { CPU_LIST_TEXT = 4096 };

/* How many ranks it is for; -1: it is none, or names a number beyond CPU_SETSIZE - 1. */
int cpu_list_count(const char *text);

/* The share of rank `turn`, counted from 0 and beginning again after the last; `text` is valid. */
void cpu_list_share(cpu_set_t *out, const char *text, int turn);

/* "0-3,8", or "" for the empty set; cut off after a whole number if it is too long. */
const char *cpu_list_format(char *out, size_t size, const cpu_set_t *set);

#endif
