/* SPDX-License-Identifier: MIT */
/* rdma_wiring.h: JOB_DIR/rdma.json: which devices lead from host to host, and what the user has
 * chosen for all of them. */
#ifndef RUNTIME_TRANSPORT_RDMA_WIRING_H
#define RUNTIME_TRANSPORT_RDMA_WIRING_H

#include "common/fault.h"

struct rdma_wiring;

int rdma_wiring_read(struct rdma_wiring **out, const char *job_dir, struct fault *why);
void rdma_wiring_destroy(struct rdma_wiring *w); /* takes NULL */

/* The devices by which host `from` reaches host `to`, NULL-terminated, owned by the wiring until
 * the next call. *count of them. ML_ERR_ARGUMENT if there is none. */
int rdma_wiring_devices(struct rdma_wiring *w, int from, int to, const char *const **out,
                        int *count, struct fault *why);

/* "port", "gid_index", "mtu", "qp": `otherwise` where the user has not chosen. */
int rdma_wiring_choice(const struct rdma_wiring *w, const char *name, int otherwise);

#endif
