/* SPDX-License-Identifier: MIT */
/* processor.h: what differs between processors. */
#ifndef RUNTIME_PROCESS_PROCESSOR_H
#define RUNTIME_PROCESS_PROCESSOR_H

/* For a loop that polls memory: lets the sibling thread run, and saves power. */
#if defined(__x86_64__) || defined(__i386__)
#define processor_pause() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define processor_pause() __asm__ volatile("isb" ::: "memory")
#else
#define processor_pause() __asm__ volatile("" ::: "memory")
#endif

enum { PROCESSOR_LINE = 128 /* two cache lines: processors prefetch adjacent ones in pairs */ };

#endif
