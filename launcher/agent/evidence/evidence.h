/* SPDX-License-Identifier: MIT */
/*
 * evidence.h: what other libraries say of ranks that hang in them: NCCL by its RAS subsystem
 * (NCCL_RAS_ADDR), torch by its flight recorder, which dumps to a file or answers at its worker
 * server (TORCH_WORKER_SERVER_SOCKET, or that of torch.distributed.debug). Asked is what the
 * environment of a rank's first process names, or the process has, and what is there. Who says
 * nothing for 1 s is given up, and whoever is slow after 2 s.
 */
#ifndef LAUNCHER_AGENT_EVIDENCE_EVIDENCE_H
#define LAUNCHER_AGENT_EVIDENCE_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct evidence;

struct evidence *evidence_open(void); /* NULL: out of memory, which the others take */
void evidence_close(struct evidence *e);

/* Asks whatever is there, without waiting. NCCL answers for the whole job, so that it is asked only
 * with `asks_nccl`. */
void evidence_ask(struct evidence *e, int rank, pid_t pid, bool asks_nccl);

/* Waits for the answers, at most until the deadline (clock_ms), and adds "evidence" (see
 * doc/protocol.md) to those of the objects `ranks` whose "rank" has any. */
void evidence_gather(struct evidence *e, int64_t deadline_ms, json_t *ranks);

#endif
