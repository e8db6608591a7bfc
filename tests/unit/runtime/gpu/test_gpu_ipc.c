/* SPDX-License-Identifier: MIT */
/*
 * test_gpu_ipc.c: what is opened of other processes is opened once, closed when its giver has freed
 * it, when too many are open, or when the giver is forgotten; and nothing is read beyond it. The
 * driver is a table of this file.
 */
#include "runtime/gpu/gpu_ipc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 1000, BEFORE = 256, STEP = 0x10000, GIVER = 77, OTHER = 78 };

/* The driver. */
static struct {
    int opens, closes, depth, retained, copies;
    int open_result, copy_result, is_active, before;
    uint64_t last, from;
} gpu;

static int mock_open(uint64_t *at, struct cuda_ipc_handle handle, unsigned flags)
{
    (void)handle;
    assert_int_equal(flags, CUDA_IPC_PEERS);
    assert_int_equal(gpu.depth, 1);
    if (gpu.open_result)
        return gpu.open_result;
    *at = gpu.last = (uint64_t)++gpu.opens * STEP + (uint64_t)gpu.before;
    return CUDA_IS_DONE;
}

static int mock_close(uint64_t at)
{
    assert_true(at);
    assert_int_equal(gpu.depth, 1);
    gpu.closes++;
    return CUDA_IS_DONE;
}

static int mock_range(uint64_t *base, size_t *size, uint64_t pointer)
{
    *base = pointer / STEP * STEP;
    *size = SIZE + (size_t)gpu.before;
    return CUDA_IS_DONE;
}

static int mock_give(struct cuda_ipc_handle *handle, uint64_t base)
{
    memset(handle, 1, sizeof(*handle));
    assert_int_equal(base % STEP, 0);
    return CUDA_IS_DONE;
}

static int mock_attributes(unsigned count, const int *attributes, void **data, uint64_t pointer)
{
    (void)pointer;
    assert_int_equal(count, 1);
    assert_int_equal(*attributes, CUDA_POINTER_BUFFER_ID);
    *(unsigned long long *)data[0] = 5;
    return CUDA_IS_DONE;
}

static int mock_push(void *context)
{
    (void)context;
    gpu.depth++;
    return CUDA_IS_DONE;
}

static int mock_pop(void **context)
{
    *context = NULL;
    gpu.depth--;
    return CUDA_IS_DONE;
}

static int mock_state(int device, unsigned *flags, int *is_active)
{
    (void)device;
    *flags = 0;
    *is_active = gpu.is_active;
    return CUDA_IS_DONE;
}

static int mock_retain(void **context, int device)
{
    (void)device;
    *context = &gpu;
    gpu.retained++;
    return CUDA_IS_DONE;
}

static int mock_release(int device)
{
    (void)device;
    gpu.retained--;
    return CUDA_IS_DONE;
}

static int mock_stream(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &gpu;
    return CUDA_IS_DONE;
}

static int mock_done(void *stream)
{
    (void)stream;
    return CUDA_IS_DONE;
}

static int mock_copy(uint64_t to, uint64_t from, size_t size, void *stream)
{
    (void)to, (void)size, (void)stream;
    gpu.from = from;
    gpu.copies++;
    return gpu.copy_result;
}

/* The function of cuda_driver.c would ask the driver that the process has loaded. */
int cuda_driver_fault(struct fault *out, int result, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return fault_set(out, ML_ERR_DEVICE, "%s: %d", what, result);
}

static const struct cuda_driver driver = {.pointer_attributes = mock_attributes,
                                          .memory_range = mock_range,
                                          .context_push = mock_push,
                                          .context_pop = mock_pop,
                                          .ipc_give = mock_give,
                                          .ipc_open = mock_open,
                                          .ipc_close = mock_close,
                                          .primary_state = mock_state,
                                          .primary_retain = mock_retain,
                                          .primary_release = mock_release,
                                          .stream_create = mock_stream,
                                          .stream_destroy = mock_done,
                                          .stream_synchronize = mock_done,
                                          .copy = mock_copy};
static struct gpu_memory memory;
static struct fault why;
static unsigned char to[SIZE];

static bool copy(uint64_t giver, uint64_t base, uint64_t id, uint64_t offset, size_t size)
{
    struct gpu_ipc_place place = {.base = base, .id = id, .offset = offset};
    bool is_copied = gpu_ipc_copy(&memory, to, giver, &place, size, &why);

    assert_int_equal(gpu.depth, 0);
    return is_copied;
}

static int setup(void **state)
{
    (void)state;
    memset(&gpu, 0, sizeof(gpu));
    gpu.is_active = 1;
    memory = (struct gpu_memory){.driver = &driver, .context = &gpu, .device = 1};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gpu_ipc_forget(GIVER);
    gpu_ipc_forget(OTHER);
    assert_int_equal(gpu.closes, gpu.opens);
    assert_int_equal(gpu.retained, 0);
    return 0;
}

static void opened_once(void **state)
{
    (void)state;
    assert_true(copy(GIVER, STEP, 1, 0, SIZE));
    assert_true(copy(GIVER, STEP, 1, 100, SIZE - 100));
    assert_int_equal(gpu.opens, 1);
    assert_int_equal(gpu.copies, 2);
    assert_int_equal(gpu.from, gpu.last + 100);
}

static void givers_are_told_apart(void **state)
{
    (void)state;
    assert_true(copy(GIVER, STEP, 1, 0, SIZE));
    assert_true(copy(OTHER, STEP, 1, 0, SIZE));
    assert_int_equal(gpu.opens, 2);
    gpu_ipc_forget(GIVER);
    assert_int_equal(gpu.closes, 1);
    assert_true(copy(OTHER, STEP, 1, 0, SIZE));
    assert_int_equal(gpu.opens, 2);
}

static void closed_when_another_lies_there(void **state)
{
    (void)state;
    assert_true(copy(GIVER, STEP, 1, 0, SIZE));
    assert_true(copy(GIVER, STEP + 500, 2, 0, SIZE));
    assert_int_equal(gpu.closes, 1);
    assert_int_equal(gpu.from, gpu.last);
    assert_true(copy(GIVER, 9 * STEP, 3, 0, SIZE));
    assert_int_equal(gpu.closes, 1);
}

static void the_oldest_is_closed(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < GPU_IPC_KEPT; i++)
        assert_true(copy(GIVER, i * STEP, i + 1, 0, SIZE));
    assert_true(copy(GIVER, 0, 1, 0, SIZE));
    assert_true(copy(GIVER, 100 * STEP, 100, 0, SIZE));
    assert_int_equal(gpu.closes, 1);
    assert_true(copy(GIVER, 0, 1, 0, SIZE));
    assert_int_equal(gpu.opens, GPU_IPC_KEPT + 1);
    assert_true(copy(GIVER, STEP, 2, 0, SIZE));
    assert_int_equal(gpu.opens, GPU_IPC_KEPT + 2);
}

static void nothing_beyond_it_is_read(void **state)
{
    (void)state;
    assert_false(copy(GIVER, STEP, 1, 1, SIZE));
    assert_false(copy(GIVER, STEP, 1, SIZE + 1, 0));
    assert_false(copy(GIVER, STEP, 1, UINT64_MAX, 2));
    assert_int_equal(gpu.copies, 0);
    assert_string_equal(why.text, "memory of GPU 1 can't go by CUDA IPC: the other rank's handle "
                                  "is of less memory than it says");
}

static void neighbours_are_beyond_it(void **state)
{
    (void)state;
    gpu.before = BEFORE;
    assert_true(copy(GIVER, STEP, 1, 0, SIZE));
    assert_int_equal(gpu.from, STEP + BEFORE);
    assert_false(copy(GIVER, STEP, 1, 0, SIZE + 1));
}

static void a_refusal_leaves_nothing(void **state)
{
    (void)state;
    gpu.open_result = 205;
    assert_false(copy(GIVER, STEP, 1, 0, SIZE));
    assert_string_equal(why.text, "memory of GPU 1 can't go by CUDA IPC: cuIpcOpenMemHandle: "
                                  "205");
    assert_int_equal(gpu.retained, 0);
    gpu.open_result = CUDA_IS_DONE;
    gpu.copy_result = 700;
    assert_false(copy(GIVER, STEP, 1, 0, SIZE));
    gpu.copy_result = CUDA_IS_DONE;
    assert_true(copy(GIVER, STEP, 1, 0, SIZE));
}

static void a_primary_context_is_not_made(void **state)
{
    (void)state;
    gpu.is_active = 0;
    assert_false(copy(GIVER, STEP, 1, 0, SIZE));
    assert_string_equal(why.text, "memory of GPU 1 can't go by CUDA IPC: the program does not use "
                                  "the GPU's primary context");
}

static void a_place_is_found(void **state)
{
    struct gpu_ipc_place place;
    const unsigned char *at = (const unsigned char *)(uintptr_t)(3 * STEP + 10); /* NOLINT */

    (void)state;
    assert_true(gpu_ipc_find(&memory, at, SIZE - 10, &place, &why));
    assert_int_equal(place.base, 3 * STEP);
    assert_int_equal(place.offset, 10);
    assert_int_equal(place.id, 5);
    assert_false(gpu_ipc_find(&memory, at, SIZE - 9, &place, &why));
    memory.is_managed = true;
    assert_false(gpu_ipc_find(&memory, at, 1, &place, &why));
    assert_int_equal(gpu.depth, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(opened_once),
        CASE(givers_are_told_apart),
        CASE(closed_when_another_lies_there),
        CASE(the_oldest_is_closed),
        CASE(nothing_beyond_it_is_read),
        CASE(neighbours_are_beyond_it),
        CASE(a_refusal_leaves_nothing),
        CASE(a_primary_context_is_not_made),
        CASE(a_place_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
