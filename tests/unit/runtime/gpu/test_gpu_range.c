/* SPDX-License-Identifier: MIT */
/*
 * test_gpu_range.c: allocations of GPU memory are added once, with their dma-buf, and dropped when
 * the program has freed them, also if another one lies there by then. The driver is a table of this
 * file.
 */
#include "runtime/gpu/gpu_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 300 * 1024 + 100, DMABUF = 1234 };

/* The driver: one allocation. */
static unsigned char *const base = (unsigned char *)(uintptr_t)(0x7000000000 + 512); /* NOLINT */
static struct {
    unsigned long long id; /* 0: there is none */
    int depth, exports, export_result;
    uint64_t exported;
    size_t exported_size;
} gpu;

static int mock_attributes(unsigned count, const int *attributes, void **data, uint64_t pointer)
{
    bool is_in = pointer >= (uintptr_t)base && pointer < (uintptr_t)base + SIZE;

    assert_int_equal(count, 1);
    assert_int_equal(*attributes, CUDA_POINTER_BUFFER_ID);
    *(unsigned long long *)data[0] = is_in ? gpu.id : 0;
    return CUDA_IS_DONE;
}

static int mock_set(const void *value, int attribute, uint64_t pointer)
{
    assert_int_equal(*(const int *)value, 1);
    assert_int_equal(attribute, CUDA_POINTER_SYNC_MEMOPS);
    assert_int_equal(pointer, (uintptr_t)base);
    return CUDA_IS_DONE;
}

static int mock_range(uint64_t *at, size_t *size, uint64_t pointer)
{
    (void)pointer;
    *at = (uintptr_t)base;
    *size = SIZE;
    return CUDA_IS_DONE;
}

static int mock_handle(void *handle, uint64_t at, size_t size, int type, unsigned long long flags)
{
    assert_int_equal(gpu.depth, 1);
    assert_int_equal(type, CUDA_RANGE_DMABUF);
    assert_int_equal(flags, 0);
    gpu.exports++;
    gpu.exported = at;
    gpu.exported_size = size;
    *(int *)handle = DMABUF;
    return gpu.export_result;
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

static int mock_name(int result, const char **text)
{
    *text = result == CUDA_NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_UNKNOWN";
    return CUDA_IS_DONE;
}

static struct cuda_driver driver;
static struct gpu_memory memory;

/* The watcher. */
static struct {
    int adds, drops, dmabuf;
    uint64_t offset;
    char refusal[200];
    bool fails;
} watcher;

static bool watcher_add(void *at, size_t size, int dmabuf, uint64_t offset, const char *refusal)
{
    assert_ptr_equal(at, base);
    assert_int_equal(size, SIZE);
    watcher.adds++;
    watcher.dmabuf = dmabuf;
    watcher.offset = offset;
    snprintf(watcher.refusal, sizeof(watcher.refusal), "%s", refusal);
    return !watcher.fails;
}

static void watcher_drop(void *at)
{
    assert_ptr_equal(at, base);
    watcher.drops++;
}

static bool offer(size_t offset, size_t size, struct fault *why)
{
    bool is_known = gpu_range_offer(&memory, base + offset, size, why);

    assert_int_equal(gpu.depth, 0);
    return is_known;
}

/* What an earlier test has added is dropped, as its id is another one. */
static int setup(void **state)
{
    static unsigned long long ids;
    struct fault why;

    (void)state;
    driver = (struct cuda_driver){.pointer_attributes = mock_attributes,
                                  .pointer_set = mock_set,
                                  .memory_range = mock_range,
                                  .memory_handle = mock_handle,
                                  .context_push = mock_push,
                                  .context_pop = mock_pop,
                                  .error_name = mock_name};
    memory = (struct gpu_memory){.driver = &driver, .device = 1};
    gpu.id = 0;
    offer(0, 1, &why);
    memset(&gpu, 0, sizeof(gpu));
    memset(&watcher, 0, sizeof(watcher));
    gpu.id = ++ids;
    return 0;
}

static void nothing_without_a_watcher(void **state)
{
    struct fault why;

    (void)state;
    assert_false(offer(0, SIZE, &why));
    assert_int_equal(why.code, 0);
    assert_int_equal(gpu.exports, 0);
    gpu_range_watch(&(struct gpu_range_watcher){watcher_add, watcher_drop});
}

static void added_once_in_whole_pages(void **state)
{
    struct fault why;

    (void)state;
    assert_true(offer(100, SIZE - 100, &why));
    assert_true(offer(0, 1, &why));
    assert_int_equal(watcher.adds, 1);
    assert_int_equal(watcher.dmabuf, DMABUF);
    assert_int_equal(watcher.offset, 512);
    assert_int_equal(gpu.exported, (uintptr_t)base - 512);
    assert_int_equal(gpu.exported_size % (size_t)getpagesize(), 0);
    assert_in_range(gpu.exported_size, 512 + SIZE, 512 + SIZE + getpagesize() - 1);
    assert_int_equal(watcher.drops, 0);
}

static void dropped_when_freed(void **state)
{
    struct fault why;

    (void)state;
    assert_true(offer(0, SIZE, &why));
    gpu.id = 0;
    assert_false(offer(0, SIZE, &why));
    assert_int_equal(watcher.drops, 1);
    assert_string_equal(why.text, "this memory of GPU 1 can't be registered: the driver does not "
                                  "say where its allocation begins");
}

static void what_lies_there_now_is_another(void **state)
{
    struct fault why;

    (void)state;
    assert_true(offer(0, SIZE, &why));
    gpu.id += 1000;
    assert_true(offer(0, SIZE, &why));
    assert_int_equal(watcher.drops, 1);
    assert_int_equal(watcher.adds, 2);
}

static void the_drivers_refusal_is_passed_on(void **state)
{
    struct fault why;

    (void)state;
    gpu.export_result = CUDA_NOT_SUPPORTED;
    assert_true(offer(0, SIZE, &why));
    assert_int_equal(watcher.dmabuf, -1);
    assert_string_equal(watcher.refusal, "cuMemGetHandleForAddressRange: CUDA_ERROR_NOT_SUPPORTED");
}

static void an_old_driver_has_no_dmabuf(void **state)
{
    struct fault why;

    (void)state;
    driver.memory_handle = NULL;
    assert_true(offer(0, SIZE, &why));
    assert_int_equal(watcher.dmabuf, -1);
    assert_string_equal(watcher.refusal, "the GPU's driver is older than CUDA 11.7");
}

static void managed_memory_is_refused(void **state)
{
    struct fault why;

    (void)state;
    memory.is_managed = true;
    assert_false(offer(0, SIZE, &why));
    assert_string_equal(why.text, "this memory of GPU 1 can't be registered: it is managed memory, "
                                  "which moves");
    assert_int_equal(watcher.adds, 0);
}

static void a_buffer_of_two_allocations_is_refused(void **state)
{
    struct fault why;

    (void)state;
    assert_false(offer(1, SIZE, &why));
    assert_string_equal(why.text, "this memory of GPU 1 can't be registered: the buffer is not all "
                                  "in one allocation");
    assert_int_equal(watcher.adds, 0);
}

static void what_could_not_be_added_is_tried_again(void **state)
{
    struct fault why;

    (void)state;
    watcher.fails = true;
    assert_false(offer(0, SIZE, &why));
    watcher.fails = false;
    assert_true(offer(0, SIZE, &why));
    assert_int_equal(watcher.adds, 2);
    assert_int_equal(watcher.drops, 0);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_without_a_watcher),
        CASE(added_once_in_whole_pages),
        CASE(dropped_when_freed),
        CASE(what_lies_there_now_is_another),
        CASE(the_drivers_refusal_is_passed_on),
        CASE(an_old_driver_has_no_dmabuf),
        CASE(managed_memory_is_refused),
        CASE(a_buffer_of_two_allocations_is_refused),
        CASE(what_could_not_be_added_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
