/* SPDX-License-Identifier: MIT */
/*
 * test_region_gpu.c: memory of a GPU is registered by its dma-buf, else by nvidia-peermem; what
 * neither can do is said with both reasons, and not tried again; and what is dropped is
 * deregistered everywhere. The verbs are mocks (mock_verbs.h).
 */
#include "rdma/verbs/region.h"
#include "tests/unit/rdma/mock_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 64 * 1024, OFFSET = 512 };

static const struct mock_device devices[] = {
    {"m", {{IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096, "::ffff:10.1.0.1"}}, MOCK_ALL},
    {NULL, {{0}}, MOCK_ALL},
};
static const struct explain_place place = {.device = "m", .port = 1};
static struct ibv_context *context;
static struct ibv_pd *domains[2];
static unsigned char memory[SIZE];
static int dmabuf;

static int setup(void **state)
{
    struct ibv_device **list;

    (void)state;
    mock_verbs_begin(devices);
    list = ibv_get_device_list(NULL);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    for (int i = 0; i < 2; i++)
        domains[i] = ibv_alloc_pd(context);
    dmabuf = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return dmabuf < 0;
}

static int teardown(void **state)
{
    region_drop(memory);
    for (int i = 0; i < 2; i++)
        ibv_dealloc_pd(domains[i]);
    ibv_close_device(context);
    return mock_verbs_end(state);
}

static void add(int fd, const char *refusal)
{
    struct region_gpu gpu = {.dmabuf = fd, .offset = OFFSET};

    snprintf(gpu.refusal, sizeof(gpu.refusal), "%s", refusal);
    assert_true(region_add_gpu(memory, SIZE, &gpu));
}

static bool find(int domain, struct region_keys *keys, struct fault *why)
{
    why->code = 0;
    return region_find(domains[domain], memory + 100, SIZE - 100, true, keys, &place, why);
}

static void dmabuf_is_the_first_way(void **state)
{
    struct region_keys keys, again;
    uint64_t offset = 0;
    struct fault why;

    (void)state;
    add(dmabuf, "");
    assert_true(find(0, &keys, &why));
    assert_int_equal(keys.way, REGION_DMABUF);
    assert_int_equal(mock_verbs_dmabuf(&offset), dmabuf);
    assert_int_equal(offset, OFFSET);
    assert_true(find(0, &again, &why));
    assert_int_equal(again.remote, keys.remote);
    assert_int_equal(mock_verbs_registrations(), 1);
}

static void peermem_if_the_device_refuses(void **state)
{
    struct region_keys keys;
    struct fault why;

    (void)state;
    mock_verbs_refuse_dmabuf(EOPNOTSUPP);
    add(dmabuf, "");
    assert_true(find(0, &keys, &why));
    assert_int_equal(keys.way, REGION_PEERMEM);
    assert_int_equal(mock_verbs_registrations(), 2);
}

static void peermem_if_there_is_no_dmabuf(void **state)
{
    struct region_keys keys;
    struct fault why;

    (void)state;
    close(dmabuf);
    add(-1, "the driver has none");
    assert_true(find(0, &keys, &why));
    assert_int_equal(keys.way, REGION_PEERMEM);
    assert_int_equal(mock_verbs_registrations(), 1);
}

static void both_reasons_are_said(void **state)
{
    static const char by_device[] =
        "64 KiB of GPU memory can't be registered on m port 1: neither by a dma-buf (the device: "
        "Operation not supported) nor by nvidia-peermem (Bad address; is the kernel module "
        "nvidia_peermem loaded?)";
    struct region_keys keys;
    struct fault why;

    (void)state;
    mock_verbs_refuse_dmabuf(EOPNOTSUPP);
    mock_verbs_refuse_memory(EFAULT);
    add(dmabuf, "");
    assert_false(find(0, &keys, &why));
    assert_int_equal(why.code, ML_ERR_DEVICE);
    assert_string_equal(why.text, by_device);
    assert_false(find(0, &keys, &why));
    assert_string_equal(why.text, by_device);
    assert_int_equal(mock_verbs_registrations(), 2);
}

static void the_drivers_reason_is_said(void **state)
{
    struct region_keys keys;
    struct fault why;

    (void)state;
    close(dmabuf);
    mock_verbs_refuse_memory(ENOMEM);
    add(-1, "the driver has none");
    assert_false(find(0, &keys, &why));
    assert_string_equal(why.text, "64 KiB of GPU memory can't be registered on m port 1: neither "
                                  "by a dma-buf (the driver has none) nor by nvidia-peermem "
                                  "(Cannot allocate memory)");
}

static void what_is_dropped_is_deregistered(void **state)
{
    struct region_keys keys;
    struct fault why;

    (void)state;
    add(dmabuf, "");
    assert_true(find(0, &keys, &why));
    assert_true(find(1, &keys, &why));
    assert_int_equal(mock_verbs_regions(), 2);
    region_drop(memory);
    assert_int_equal(mock_verbs_regions(), 0);
    assert_int_equal(fcntl(dmabuf, F_GETFD), -1);
    assert_false(find(0, &keys, &why));
    assert_int_equal(why.code, 0);
}

static void a_domain_that_ends_leaves_the_others(void **state)
{
    struct region_keys keys;
    struct fault why;

    (void)state;
    add(dmabuf, "");
    assert_true(find(0, &keys, &why));
    assert_true(find(1, &keys, &why));
    region_forget(domains[0]);
    assert_int_equal(mock_verbs_regions(), 1);
    assert_true(find(0, &keys, &why));
    assert_int_equal(keys.way, REGION_DMABUF);
}

static void what_is_not_added_is_not_registered(void **state)
{
    struct region_keys keys;
    struct fault why = {0};

    (void)state;
    add(dmabuf, "");
    assert_false(region_find(domains[0], memory + 1, SIZE, true, &keys, &place, &why));
    assert_int_equal(why.code, 0);
    assert_int_equal(mock_verbs_registrations(), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(dmabuf_is_the_first_way),
        CASE(peermem_if_the_device_refuses),
        CASE(peermem_if_there_is_no_dmabuf),
        CASE(both_reasons_are_said),
        CASE(the_drivers_reason_is_said),
        CASE(what_is_dropped_is_deregistered),
        CASE(a_domain_that_ends_leaves_the_others),
        CASE(what_is_not_added_is_not_registered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
