/* SPDX-License-Identifier: MIT */
/*
 * framework_variables.h: the variables by which programs that were written for torchrun, MLX, JAX
 * or mpirun find their rank and each other (mlaunch(1), "FRAMEWORKS"). What a framework chooses its
 * data path by is set so that it chooses the job's: MLX's ring over TCP, JACCL over RDMA.
 */
#ifndef LAUNCHER_AGENT_RANK_FRAMEWORK_VARIABLES_H
#define LAUNCHER_AGENT_RANK_FRAMEWORK_VARIABLES_H

#include "launcher/agent/rank/variable_list.h"
#include "launcher/wire/protocol/job_spec.h"

/* The ports of a job lie in blocks, so that two jobs on a host rarely use the same. */
enum { FRAMEWORK_PORTS = 16 };

struct framework_config {
    const struct job_spec *job;
    const char *coordinator; /* "addr:port" or "" */
    const char *ibv_devices; /* file of framework_ibv_devices, or NULL */
    const char *ring_hosts;  /* file of framework_ring_hosts, or NULL */
};

/* Those that all ranks of the host share, then those of one rank. */
void framework_variables_add(struct variable_list *l, const struct framework_config *c);
void framework_variables_add_rank(struct variable_list *l, const struct job_spec *job,
                                  const struct job_rank *rank, const char *job_dir);

/* Whether `variable`, a NAME=VALUE, tells a rank which rank it is. */
bool framework_variables_is_identity(const char *variable);

/* The address of rank 0's host, without a port: the coordinator's or, if `coordinator` is "", what
 * the launcher knows. */
void framework_head(char *out, size_t size, const struct job_spec *job, const char *coordinator);

/* A port that is announced to programs (MASTER_PORT is `index` 0; there are more): the same on all
 * hosts without any message between them, outside of the kernel's ephemeral range, and none that
 * mlaunch listens on. */
int framework_port(const struct job_spec *job, int index);

/* The files for MLX as JSON: device names, [rank][rank], and addresses by rank. The caller frees
 * the result. NULL: the job's data goes another way, an address is unknown, or out of memory. */
char *framework_ibv_devices(const struct job_spec *job);
char *framework_ring_hosts(const struct job_spec *job);

#endif
