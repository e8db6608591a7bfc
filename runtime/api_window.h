/* SPDX-License-Identifier: MIT */
/* api_window.h: the calls of mlaunch.h on windows. They do what its comments say. */
#ifndef RUNTIME_API_WINDOW_H
#define RUNTIME_API_WINDOW_H

#include "common/mlaunch.h"

int api_window_create(ml_group *handle, void *memory, size_t size, ml_window **out);
int api_window_free(ml_window *handle);
void *api_window_memory(ml_window *handle, int rank, size_t *size);
int api_window_next_stream(ml_window *w, void *stream);
int api_window_put(ml_window *w, const void *from, size_t size, int to, size_t offset);
int api_window_get(ml_window *w, void *into, size_t size, int from, size_t offset);
int api_window_start_put(ml_window *w, const void *from, size_t size, int to, size_t offset,
                         ml_request **request);
int api_window_start_get(ml_window *w, void *into, size_t size, int from, size_t offset,
                         ml_request **request);
int api_window_put_signal(ml_window *w, const void *from, size_t size, int to, size_t offset,
                          size_t signal_offset, uint64_t add);
int api_window_wait_signal(ml_window *w, size_t signal_offset, uint64_t at_least, int timeout_ms);
int api_window_flush(ml_window *w, int to);
int api_window_fetch_add(ml_window *w, int at, size_t offset, uint64_t add, uint64_t *old);
int api_window_compare_swap(ml_window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                            uint64_t *old);

#endif
