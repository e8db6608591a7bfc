/* SPDX-License-Identifier: MIT */
/* test_gpu_usable.c: GPUs of recorded machines that programs can use, and cannot. */
#include "launcher/agent/binding/gpu_usable_linux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_driver_and_a_file(void **state)
{
    static const struct {
        struct machine_gpu gpu;
        bool is_usable;
    } table[] = {
        {{.bus = 0x17, .vendor = VENDOR_NVIDIA}, true},
        {{.bus = 0x18, .vendor = VENDOR_NVIDIA}, false}, /* no file in /dev */
        {{.bus = 0x19, .vendor = VENDOR_NVIDIA}, false}, /* no driver */
        {{.bus = 0x1a, .vendor = VENDOR_NVIDIA}, false}, /* the driver does not number it */
        {{.bus = 0xc1, .vendor = VENDOR_AMD}, true},
        {{.bus = 0xc2, .vendor = VENDOR_AMD}, false}, /* a display alone */
        {{.domain = 1, .bus = 0xc1, .vendor = VENDOR_INTEL}, false},
    };
    char root[] = "/tmp/test_gpu_usable.XXXXXX", command[1024];

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof(command),
             "cd %s && mkdir -p dev/dri && : > dev/nvidia3 && : > dev/dri/renderD129 && "
             "for i in 17 18 1a; do mkdir -p proc/driver/nvidia/gpus/0000:$i:00.0; done && "
             "cd proc/driver/nvidia/gpus && "
             "printf 'Model: \\t X\\nDevice Minor: \\t 3\\n' > 0000:17:00.0/information && "
             "printf 'Device Minor: \\t 4\\n' > 0000:18:00.0/information && "
             ": > 0000:1a:00.0/information && cd ../../../.. && "
             "mkdir -p sys/bus/pci/devices/0000:c1:00.0/drm/renderD129 "
             "sys/bus/pci/devices/0000:c2:00.0/drm/card1",
             root);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (gpu_usable(root, &table[i].gpu) != table[i].is_usable)
            fail_msg("GPU %d", (int)i);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void what_the_batch_system_assigns(void **state)
{
    static const struct {
        const char *list;
        bool has_0, has_2, has_12;
    } table[] = {
        {NULL, true, true, true},           {"", true, true, true},     {"0,2", true, true, false},
        {"12", false, false, true},         {"2,", false, true, false}, {",", false, false, false},
        {"GPU-8932f937", true, true, true}, /* not by number */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct machine_gpu g = {.vendor = VENDOR_NVIDIA};

        if (table[i].list)
            setenv("CUDA_VISIBLE_DEVICES", table[i].list, 1);
        else
            unsetenv("CUDA_VISIBLE_DEVICES");
        assert_int_equal(gpu_usable_is_listed(&g), table[i].has_0);
        g.number = 2;
        assert_int_equal(gpu_usable_is_listed(&g), table[i].has_2);
        g.number = 12;
        assert_int_equal(gpu_usable_is_listed(&g), table[i].has_12);
        g.vendor = VENDOR_AMD;
        assert_true(gpu_usable_is_listed(&g));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_and_a_file),
        cmocka_unit_test(what_the_batch_system_assigns),
    };

    unsetenv("ROCR_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
