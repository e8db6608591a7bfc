/* SPDX-License-Identifier: MIT */
/*
 * tcp_farewell_linux.h: how connections are closed on which data may still be under way. A close()
 * resets a connection that has unread bytes, or gets some later, and what its peer has not received
 * by then is lost.
 */
#ifndef RUNTIME_TCP_FAREWELL_LINUX_H
#define RUNTIME_TCP_FAREWELL_LINUX_H

/* Closes the `count` connections at `fds`, which have been shut down for sending, each once its
 * peer's system has acknowledged all, or its peer has closed its end, or nothing has moved on any
 * of them for FAREWELL_MS. What comes meanwhile is dropped. */
void tcp_farewell_run(int *fds, int count);

#endif
