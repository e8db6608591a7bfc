/* SPDX-License-Identifier: MIT */
/* register_hosts.h: which hosts are asked about jobs, if the user has named none: this machine, and
 * the hosts of the jobs that were started on it (job_register.h). */
#ifndef LAUNCHER_ASK_REGISTER_HOSTS_H
#define LAUNCHER_ASK_REGISTER_HOSTS_H

#include "launcher/base/machine/job_register.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/input/options/options.h"

/* As plan_hosts_find(). *named: how many hosts of the list it would find; the jobs' are behind
 * them. Those are reached by the SSH configuration that the job's mlaunch had, unless the user has
 * given another; --agent and --agent-command are set in `o` as the job had them, if `job`, the one
 * that is asked about, or "", is the only one. Hosts that are reached otherwise are not in the
 * list. */
int register_hosts_find(struct host_list **out, int *named, struct options *o,
                        const struct register_list *here, const char *job, struct fault *why);

/* The only mlaunch of this machine whose job has that id or name; *out is NULL if there is none.
 * ML_ERR_ARGUMENT: there are several, whose ids the sentence lists. */
int register_hosts_only(const struct register_found **out, const struct register_list *here,
                        const char *job, struct fault *why);

/* Whether one of the entry's hosts is in the list, or no host was named by the user, who then asks
 * about all. */
bool register_hosts_has(const struct host_list *l, const struct options *o,
                        const struct register_found *f);

/* The hosts of the entry as text for -H, for the caller to free. ML_ERR_STATE: one has a port of
 * its own, which -H cannot say. */
int register_hosts_text(char **out, const struct register_found *f, struct fault *why);

/* Sets the options by which hosts are reached as the entry has them, where the user has given
 * none. */
int register_hosts_reach(struct options *o, const struct register_found *f, struct fault *why);

#endif
