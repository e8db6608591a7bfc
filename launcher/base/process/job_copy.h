/* SPDX-License-Identifier: MIT */
/* job_copy.h: how many files a host gets from mlaunch's machine (--stage), and the hash of each. */
#ifndef LAUNCHER_BASE_PROCESS_JOB_COPY_H
#define LAUNCHER_BASE_PROCESS_JOB_COPY_H

enum {
    JOB_COPY_HASH = 32, /* bytes of crypto_generichash */
    JOB_COPIES_MOST = 4096,
};

#endif
