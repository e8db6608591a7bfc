/* SPDX-License-Identifier: MIT */
/* install_path.h: where the other files of this build are, seen from the running mlaunch or
 * agent. */
#ifndef LAUNCHER_PROCESS_INSTALL_PATH_H
#define LAUNCHER_PROCESS_INSTALL_PATH_H

#include "common/fault.h"

#include <limits.h>

enum install_part {
    INSTALL_AGENT,   /* mlaunch-agent */
    INSTALL_SHIM,    /* libmlaunch.so.0, to be preloaded */
    INSTALL_RUNTIME, /* mlaunch-runtime.so, opened by the shim */
    INSTALL_MODULE,  /* mlaunch.py, whose directory is put into PYTHONPATH */
    INSTALL_RDMA,    /* mlaunch-rdma.so, opened by the runtime; a build without RDMA has none */
    INSTALL_PROBE,   /* mlaunch-probe, likewise */
    INSTALL_BENCH, /* the program of `mlaunch bench`, by whose bare name jobs mean the one beside the agent */
    INSTALL_SSH, /* mlaunch-ssh.so, which mlaunch opens when a host needs SSH */
};
#define BENCH_PROGRAM "mlaunch-bench"

/* Finds it from the place of /proc/self/exe: all files in one directory (as copied to a host), the
 * build tree, an installation (moved or not). The path is absolute, without links. ML_ERR_SYSTEM
 * names the file and where it was looked for. */
int install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why);

#endif
