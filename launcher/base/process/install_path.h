/* SPDX-License-Identifier: MIT */
/* install_path.h: finds the other files of this build from the running program. */
#ifndef LAUNCHER_BASE_PROCESS_INSTALL_PATH_H
#define LAUNCHER_BASE_PROCESS_INSTALL_PATH_H

#include "common/fault.h"

#include <limits.h>
#include <stdbool.h>

/* The files of the Python package mlaunch; the first one is the package's own. */
/* clang-format off */
#define INSTALL_PYTHON_ROWS(row)                                                                   \
    row(INSTALL_MODULE, "__init__.py"),                                                            \
    row(INSTALL_ARGUMENT, "_argument.py"),                                                         \
    row(INSTALL_BUFFER, "_buffer.py"),                                                             \
    row(INSTALL_CALL, "_call.py"),                                                                 \
    row(INSTALL_GROUP, "_group.py"),                                                               \
    row(INSTALL_LIBRARY, "_library.py"),                                                           \
    row(INSTALL_OPERATOR, "_operator.py"),                                                         \
    row(INSTALL_WINDOW, "_window.py"),                                                             \
    row(INSTALL_ELASTIC, "elastic.py"),                                                            \
    row(INSTALL_GPU, "gpu.py"),                                                                    \
    row(INSTALL_TORCH, "torch.py"),                                                                \
    row(INSTALL_TRANSFER, "transfer.py")
/* clang-format on */
#define INSTALL_PYTHON_PART(part, file) part

enum install_part {
    INSTALL_AGENT,   /* mlaunch-agent */
    INSTALL_SHIM,    /* libmlaunch.so.0, to be preloaded */
    INSTALL_RUNTIME, /* mlaunch-runtime.so, opened by the shim */
    INSTALL_PYTHON_ROWS(INSTALL_PYTHON_PART),
    INSTALL_RDMA,    /* mlaunch-rdma.so, opened by the runtime; missing in a build without RDMA */
    INSTALL_PROBE,   /* mlaunch-probe, likewise */
    INSTALL_BENCH,   /* the program of bench's jobs, which they name without a path */
    INSTALL_PMIX,    /* mlaunch-pmix, a child of the agent; missing in a build without libpmix */
    INSTALL_ENTRY,   /* mlaunch-entry, the first program in a rank's container */
    INSTALL_COPIER,  /* mlaunch-copier, a child of the agent for `mlaunch sync` */
    INSTALL_METRICS, /* what mlaunch becomes for `mlaunch metrics` */
    INSTALL_SYNC,    /* … for sync */
    INSTALL_TOP,     /* … for top */
    INSTALL_VERIFY,  /* … for info, status and verify */
    INSTALL_BENCH_COMMAND, /* … for bench */
    INSTALL_HOSTS,         /* the directory of host sets (host_set.h); there may be none */
    INSTALL_SSH,           /* mlaunch-ssh.so, which mlaunch opens when a host needs SSH */
    INSTALL_MLAUNCH,       /* the command mlaunch */
    INSTALL_MAN,           /* the tree of man pages */
    INSTALL_PKG_CONFIG,    /* what pkg-config reads */
};
enum { INSTALL_PYTHON_FILES = INSTALL_TRANSFER - INSTALL_MODULE + 1 };
#define BENCH_PROGRAM "mlaunch-bench"

/* Finds it relative to /proc/self/exe: in the same directory (files that were copied to a host), in
 * the build tree, or in an installation (moved or not). The path is absolute, without ".." and
 * without links to folders.
 * ML_ERR_SYSTEM names the file and where it was searched for; ML_ERR_STATE says that it belongs to
 * this build and is not made yet, as after `./bootstrap demo`. */
int install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why);

/* What a copy of one of these files is called on another host while it is not whole, made of two
 * random numbers; and whether a name is such a one. */
#define INSTALL_PARTIAL ".%08x%08x"
bool install_path_is_partial(const char *name);

/* Finds the directory that a search path names for it. The file itself may be a link there. */
int install_path_find_directory(char out[PATH_MAX], enum install_part part, struct fault *why);

#endif
