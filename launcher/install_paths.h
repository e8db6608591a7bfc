/* SPDX-License-Identifier: MIT */
/* install_paths.h: where the other files of this build are, seen from the running mlaunch or agent.
 */
#ifndef LAUNCHER_INSTALL_PATHS_H
#define LAUNCHER_INSTALL_PATHS_H

#include "common/fault.h"

#include <limits.h>

struct install_paths {
    char agent[PATH_MAX];   /* mlaunch-agent */
    char shim[PATH_MAX];    /* libmlaunch.so.0, to be preloaded */
    char runtime[PATH_MAX]; /* mlaunch-runtime.so, opened by the shim */
    char module[PATH_MAX];  /* mlaunch.py, whose directory is put into PYTHONPATH */
    char rdma[PATH_MAX];    /* mlaunch-rdma.so; "": built without RDMA */
    char probe[PATH_MAX];   /* mlaunch-probe, likewise */
};

/* Finds all of them from the place of /proc/self/exe: everything in one directory (as copied to a
 * host), the build tree, an installation (moved or not). Paths are absolute, without links.
 * ML_ERR_SYSTEM names the file that is missing and where it was looked for. */
int install_paths_find(struct install_paths *out, struct fault *why);

/* The program of `mlaunch bench`, by whose bare name jobs mean the one beside the agent. */
#define BENCH_PROGRAM "mlaunch-bench"
int install_paths_find_bench(char out[PATH_MAX], struct fault *why);

/* mlaunch-ssh.so, which mlaunch opens when a host needs SSH. */
int install_paths_find_ssh(char out[PATH_MAX], struct fault *why);

#endif
