/* SPDX-License-Identifier: MIT */
/* tuning_file.h: --tuning FILE, the algorithms that were measured to be the fastest on some hosts,
 * as `mlaunch bench --tune --save FILE` writes them. */
#ifndef LAUNCHER_INPUT_PLAN_TUNING_FILE_H
#define LAUNCHER_INPUT_PLAN_TUNING_FILE_H

#include "common/fault.h"

struct tuning_job {
    int ranks, hosts;
    const char *backend; /* "shm", "tcp" or "rdma"; "shm" if all ranks share memory */
};

/* Reads the file. Each line is a part of MLAUNCH_ALGO, and behind it, each in any place, the jobs
 * for which it is: "ranks=4", "hosts=2", "backend=tcp"; what is not stated fits any job. '#' begins
 * a comment. Stores in *out, owned by the caller, the parts that fit the job, joined by commas, in
 * the order of the file. If none fits, *out is NULL, and a warning is logged unless the file is
 * empty. The algorithms' names are checked by the library. ML_ERR_ARGUMENT names file and line. */
int tuning_file_read(char **out, const char *path, const struct tuning_job *job, struct fault *why);

#endif
