/* SPDX-License-Identifier: MIT */
/* host_list_parse.h: hosts in one word each, as -H takes them. */
#ifndef LAUNCHER_INPUT_HOSTS_HOST_LIST_PARSE_H
#define LAUNCHER_INPUT_HOSTS_HOST_LIST_PARSE_H

#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/host_list.h"

/* Parses "a,b:4,[::1]:2,user@c,n[1-3,7]:2"; brackets are those of node_list.h. A host named twice
 * offers the slots of both entries. `option`, for messages: "--hosts". *out is set on success only.
 * ML_ERR_ARGUMENT for what host_name_parse() and node_list_expand() refuse. */
int host_list_parse(struct host_list **out, const char *option, const char *text,
                    struct fault *why);

/* Appends the entries that one with brackets stands for, or the entry itself. ML_ERR_ARGUMENT as of
 * node_list_expand(). */
int host_list_parse_range(struct string_list *out, const char *entry, struct fault *why);

/* Parses one "[user@]host[:slots]", as -H and text hostfiles have it, and warns of slots that look
 * like a port. *out is set on success only;
 * free it with host_list_clear_host(). */
int host_list_parse_host(struct host *out, const char *text, struct fault *why);

#endif
