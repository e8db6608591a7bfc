/* SPDX-License-Identifier: MIT */
/*
 * sync_engine.h: what mlaunch-copier does. It gets the stream from mlaunch or from the host
 * before it, passes it on to the next one, and writes what its own host lacks.
 *
 *     BEGIN ──▶ READY ──LINK──▶ LINKED ──stream──▶ LOOKED ──GO, files, END──▶ DONE
 *                 ▲                │                  │                         │
 *                 └── LINK ────────┴── CUT, or LINK ──┴─────────────────────────┘
 */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_ENGINE_H
#define LAUNCHER_TOOLS_COPIER_SYNC_ENGINE_H

/* Does what is ordered on `fd`, a socket, until it is closed. Never returns. */
_Noreturn void sync_engine_run(int fd);

#endif
