/* SPDX-License-Identifier: MIT */
/*
 * window_number.h: atomic operations of windows whose numbers are changed by devices alone
 * (has_device_numbers, window_device.h). Then a rank changes even its own numbers by its device.
 *
 * A device wakes no thread. So before the threads of a rank sleep for a number the first time, it
 * tells the others (FRAME_SLEEP), and each sends word (FRAME_RING) after each change of that number
 * from then on. What they have changed before they knew is there when their replies come, which
 * make the sleepers look again. A signal is a request all the same, as its target has to be woken
 * up most often; the target's device does the addition.
 */
#ifndef RUNTIME_WINDOW_WINDOW_NUMBER_H
#define RUNTIME_WINDOW_WINDOW_NUMBER_H

#include "runtime/window/window.h"

#include <stdint.h>

/* The arguments have been checked. at: any rank; old may be NULL. This rank's earlier signals to
 * that rank come before. Any thread. */
int window_number_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                            struct fault *why);
int window_number_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                               uint64_t wanted, uint64_t *old, struct fault *why);

/* Call it before a thread of this rank sleeps until its number at `offset` changes. */
int window_number_announce(struct window *w, size_t offset, struct fault *why);

#endif
