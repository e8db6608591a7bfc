/* SPDX-License-Identifier: MIT */
/*
 * gpu_program.h: a program that uses a GPU by its driver alone, real or fake (fake_cuda.c). Vectors
 * of ints; what fails ends the program with a sentence.
 */
#ifndef TESTS_GPU_GPU_PROGRAM_H
#define TESTS_GPU_GPU_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loads the driver, and makes GPU number `device` (modulo how many there are) the current one. From
 * now on an access to GPU memory by the processor ends the program with status 99 and the name of
 * the case. */
void gpu_program_load(int device);

/* What the program does now. */
extern const char *gpu_program_case;

/* The stream of the program's work; another one, in which results are read. */
extern void *gpu_work, *gpu_reader;

enum gpu_kind { GPU_PLAIN, GPU_MANAGED, GPU_POOL };
int *gpu_ints(size_t count, enum gpu_kind kind);
int *gpu_ints_on(int device, size_t count); /* plain, of a context of its own there */
void gpu_free(int *memory);

/* Queue in gpu_work: element i becomes first + i; a copy. */
void gpu_count_up(int *memory, size_t count, int first);
void gpu_copy(int *to, const int *from, size_t count);

/* Reads them in gpu_reader, and waits for nothing else. What is returned is to be freed. */
int *gpu_read(const int *memory, size_t count);

/* True if element i is first + i * step. */
bool gpu_counts(const int *memory, size_t count, int first, int step);

enum gpu_capture { GPU_GLOBAL = 0, GPU_RELAXED = 2 }; /* CU_STREAM_CAPTURE_MODE_… */
bool gpu_capture_begin(void *stream, enum gpu_capture mode);
bool gpu_capture_end(void *stream); /* true: nothing has disturbed it */

void *gpu_stream(void);
void gpu_wait(void); /* for gpu_work */

/* Waits for all that is queued on the GPU. False: that has changed the buffer. */
bool gpu_is_quiet(const int *memory, size_t count);

/* Takes the current context from the thread; gives it back. */
void *gpu_context_leave(void);
void gpu_context_enter(void *context);

/* What fake_cuda.c has of it, or -1: it is a real GPU. */
int gpu_left(const char *what);

#endif
