/* SPDX-License-Identifier: MIT */
/* info_list.h: an array of pmix_info_t that grows; all values are copied. */
#ifndef LAUNCHER_PMIX_INFO_LIST_H
#define LAUNCHER_PMIX_INFO_LIST_H

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct info_list {
    pmix_info_t *list;
    size_t count, room;
    bool failed; /* out of memory: something is missing */
};

void info_list_text(struct info_list *l, const char *key, const char *value);
void info_list_flag(struct info_list *l, const char *key, bool value);
void info_list_u32(struct info_list *l, const char *key, uint32_t value);
void info_list_u16(struct info_list *l, const char *key, uint16_t value);
void info_list_rank(struct info_list *l, const char *key, pmix_rank_t value);
/* An expression of PMIx_generate_regex() or PMIx_generate_ppn(). */
void info_list_expression(struct info_list *l, const char *key, const char *value);
/* The list `inner` as one value, which takes it over. */
void info_list_array(struct info_list *l, const char *key, struct info_list *inner);
void info_list_free(struct info_list *l);

#endif
