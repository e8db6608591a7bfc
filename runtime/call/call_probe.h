/* SPDX-License-Identifier: MIT */
/*
 * call_probe.h: USDT probes at the beginning and the end of each recorded call, for perf, bpftrace
 * and systemtap (mlaunch.h(3), "PROBES"). While nobody looks, each is a nop. A build without
 * <sys/sdt.h> has none.
 */
#ifndef RUNTIME_CALL_CALL_PROBE_H
#define RUNTIME_CALL_CALL_PROBE_H

#include "runtime/group/group.h"

#include "config.h"

#if HAVE_USDT
#include <sys/sdt.h>
#else
#define DTRACE_PROBE4(provider, name, a, b, c, d) ((void)0)
#define DTRACE_PROBE3(provider, name, a, b, c)    ((void)0)
#endif

/* The call's name, its group, its number there (0: a message), its elements or bytes. */
#define call_probe_begin(g)                                                                        \
    DTRACE_PROBE4(mlaunch, call_begin, (g)->words.name, (g)->id, (g)->call.seq, (g)->call.count)

/* The same group and number, and the result: 0 or ML_ERR_*. */
#define call_probe_end(g, code) DTRACE_PROBE3(mlaunch, call_end, (g)->id, (g)->call.seq, code)

#endif
