/* SPDX-License-Identifier: MIT */
/*
 * pmix_protocol.h: the frames (common/net/frame.h) between an agent and its mlaunch-pmix, which
 * serves PMIx to the ranks of this host. doc/protocol.md describes them ("PMIx"). Numbers are in
 * network byte order, ranks are those of the whole job.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_PMIX_PROTOCOL_H
#define LAUNCHER_WIRE_PROTOCOL_PMIX_PROTOCOL_H

enum help_frame {               /* from the agent */
                  HELP_JOB = 1, /* JSON, the first frame: the job */
                  HELP_FENCED,  /* u32 number, bytes: what all hosts have brought to a fence */
                  HELP_PASSED,  /* u32 host, bytes: PASS of that host's mlaunch-pmix */
                  HELP_ENDED,   /* u32 rank, u32 1 if it exited with status 0 */
                  HELP_PING,    /* empty, for HELPER_PONG */
};

enum helper_frame { /* from mlaunch-pmix */
                    HELPER_READY =
                        32,        /* JSON {env: [[NAME=VALUE, …] for each rank of this host]} */
                    HELPER_FAILED, /* JSON {text}: it cannot serve */
                    HELPER_FENCE,  /* u32 number, from 1, bytes: all ranks of this host have come */
                    HELPER_PASS,   /* u32 host, bytes: for the mlaunch-pmix of that host */
                    HELPER_ABORT,  /* JSON {rank, status}: it has called MPI_Abort */
                    HELPER_FAULT,  /* JSON {rank, text}: the job cannot go on because of it */
                    HELPER_NOTE,   /* JSON {rank, text}: a warning */
                    HELPER_PONG,   /* empty, for HELP_PING */
};

#endif
