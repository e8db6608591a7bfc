/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/binding_variables.h"

#include <stdarg.h>
#include <stdio.h>

static __attribute__((format(printf, 2, 3))) void variable_add(struct binding_variables *v,
                                                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(v->texts[v->count], sizeof(v->texts[0]), format, args);
    va_end(args);
    v->list[v->count] = v->texts[v->count];
    v->list[++v->count] = NULL;
}

/* "2,3", or relative to the first one "0,1". */
static void numbers_format(char *out, size_t size, const struct binding *b, const struct machine *m,
                           bool is_relative)
{
    size_t used = 0;

    *out = '\0';
    for (int i = 0; i < b->gpu_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d", i ? "," : "",
                                 is_relative ? i : m->gpus[b->gpus[i]].number);
}

/* HIP numbers what ROCR_VISIBLE_DEVICES has left, from 0. CUDA numbers GPUs by their speed unless
 * it is told otherwise. */
static void gpus_add(struct binding_variables *v, const struct binding *b, const struct machine *m)
{
    char numbers[100], relative[100], ports[BINDING_PORTS_TEXT];

    binding_ports_near(ports, sizeof(ports), m, b->gpus, b->gpu_count, ",");
    if (*ports)
        variable_add(v, "MLAUNCH_NEAR_DEVICES=%s", ports);
    numbers_format(numbers, sizeof(numbers), b, m, false);
    numbers_format(relative, sizeof(relative), b, m, true);
    switch (m->gpus[b->gpus[0]].vendor) {
    case VENDOR_NVIDIA:
        variable_add(v, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
        variable_add(v, "CUDA_VISIBLE_DEVICES=%s", numbers);
        return;
    case VENDOR_AMD:
        variable_add(v, "ROCR_VISIBLE_DEVICES=%s", numbers);
        variable_add(v, "HIP_VISIBLE_DEVICES=%s", relative);
        return;
    case VENDOR_INTEL:
        variable_add(v, "ZE_AFFINITY_MASK=%s", numbers);
        return;
    }
}

void binding_variables_fill(struct binding_variables *v, const struct binding *b,
                            const struct machine *m, int threads)
{
    /* OpenMP's, OpenBLAS's, Intel's, AMD's and NumExpr's. */
    static const char *const names[] = {"OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR"};

    v->count = 0;
    v->list[0] = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && threads > 0; i++)
        variable_add(v, "%s_NUM_THREADS=%d", names[i], threads);
    if (b && b->gpu_count > 0)
        gpus_add(v, b, m);
}
