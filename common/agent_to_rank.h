/* SPDX-License-Identifier: MIT */
/*
 * agent_to_rank.h: what an agent tells and asks its ranks by files of the job directory.
 *
 * JOB_DIR/stop tells them that the job has been asked to stop (ml_should_stop): one uint32_t, 0 or
 * 1. The ranks map it, so looking at it is no system call. Whoever needs it first makes it, the
 * agent or a rank.
 *
 * JOB_DIR/python.PID.SIGNAL gets the stack of a Python program when the agent sends that signal,
 * even in the middle of a call into C. The handler is the preloaded library's
 * (runtime/shim_python.c), for which the agent makes the file; or, where that finds no way into the
 * interpreter, the package mlaunch's, which makes the file when it is imported.
 *
 * JOB_DIR/rank.RANK.error says why the rank has failed: {"message": "…"}. PyTorch writes it, by
 * TORCHELASTIC_ERROR_FILE, which is torchrun's convention; and runtime/shim_mpi.c.
 *
 * JOB_DIR/mpi-apart.RANK is there once a process of the rank has been an MPI program that was a job
 * of its own (runtime/shim_mpi.c).
 *
 * A process that has lost the environment of its rank knows by its parents that it belongs to one:
 * all processes of an agent have the same name, whatever its file is called.
 */
#ifndef COMMON_AGENT_TO_RANK_H
#define COMMON_AGENT_TO_RANK_H

#define STOP_MARK_FILE  "stop"
#define STOP_MARK_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)

#define PYTHON_STACK_PREFIX "python."
#define PYTHON_STACK_SIGNAL (SIGRTMAX - 3)

#define RANK_ERROR_FILE "rank.%d.error"

#define MPI_APART_PREFIX "mpi-apart."

#define AGENT_PROCESS_NAME "mlaunch-agent"

#endif
