/* SPDX-License-Identifier: MIT */
/* rdma_wiring.h: JOB_DIR/rdma.json: which devices lead from host to host, and what the user has chosen
 * for all of them. */
#ifndef RUNTIME_TRANSPORT_RDMA_WIRING_H
#define RUNTIME_TRANSPORT_RDMA_WIRING_H

#include "common/fault.h"
#include "common/rdma_choice.h"

struct wiring;

int wiring_read(struct wiring **out, const char *job_dir, struct fault *why);
void wiring_destroy(struct wiring *w); /* takes NULL */

/* The devices by which host `from` reaches host `to`, NULL-terminated, owned by the wiring until
 * the next call. *count of them. ML_ERR_ARGUMENT if there is none. */
int wiring_devices(struct wiring *w, int from, int to, const char *const **out, int *count,
                   struct fault *why);

/* For all of these devices. */
struct rdma_choice wiring_choice(const struct wiring *w);

#endif
