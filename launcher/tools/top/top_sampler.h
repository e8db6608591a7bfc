/* SPDX-License-Identifier: MIT */
/* top_sampler.h: the hosts, which are asked every few seconds, and what they have said last. */
#ifndef LAUNCHER_TOOLS_TOP_TOP_SAMPLER_H
#define LAUNCHER_TOOLS_TOP_TOP_SAMPLER_H

#include "launcher/ask/query_command.h"
#include "launcher/tools/top/top_host.h"

struct event_base;
struct top_sampler;

/* Called from the loop when a host has said something or has failed. `is_whole`: all hosts have
 * been heard of since they were asked. */
typedef void top_sampler_on_change(bool is_whole, void *arg);

/* Begins to ask the command's hosts: at once, a second later, so that there are rates soon, and
 * then every `every_s`. `c` must outlive it. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int top_sampler_open(struct top_sampler **out, struct event_base *base,
                     const struct query_command *c, int every_s, top_sampler_on_change *on_change,
                     void *arg, struct fault *why);
void top_sampler_close(struct top_sampler *s); /* takes NULL */

/* As many as the command has, in their order. */
const struct top_host *top_sampler_hosts(const struct top_sampler *s);

#endif
