/* SPDX-License-Identifier: MIT */
/* plan_spares.h: --spare-hosts: hosts that take the places of lost ones: in a restart, or with
 * --elastic while the ranks of others run. */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_SPARES_H
#define LAUNCHER_INPUT_PLAN_PLAN_SPARES_H

#include "common/fault.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"

#include <stdbool.h>

/* Once the ranks have their hosts: puts the spare hosts of p->list behind the used ones in
 * p->hosts. ML_ERR_ARGUMENT: nothing would use them, or a spare host has fewer slots than each of
 * the others has ranks, and cannot take a part of them (--elastic). Warns if it has fewer than
 * some. */
int plan_spares_settle(struct plan *p, const struct options *o, struct fault *why);

/* Before each run: all spare hosts may be tried, each once. */
void plan_spares_renew(struct plan *p);

/* The most ranks that host `index` takes. */
int plan_spares_room(const struct plan *p, int index);

/* How many ranks the next spare host takes: the first that has slots for `ranks`, or without one
 * the first that has any. 0: there is none. */
int plan_spares_offer(const struct plan *p, int ranks);

/* Gives the place of host `index`, which cannot be used, to the first spare host that has not been
 * tried in this restart, is not unfit and has slots for `ranks`, or with 0 for all ranks there. The
 * host that had the place becomes the last of the spare ones: it may be back in a later restart.
 * Returns false if there is none. */
bool plan_spares_take(struct plan *p, int index, int ranks);

#endif
