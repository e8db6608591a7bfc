/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/machine_hwloc.h"

#include "config.h"

#if HAVE_HWLOC

#include <dlfcn.h>
#include <hwloc.h>
#include <stdlib.h>

#define LIBRARY "libhwloc.so.15"

/* The functions that are used, with their own names and types. */
#define CALLS(CALL)                                                                                \
    CALL(hwloc_topology_init)                                                                      \
    CALL(hwloc_topology_load)                                                                      \
    CALL(hwloc_topology_destroy)                                                                   \
    CALL(hwloc_topology_is_thissystem)                                                             \
    CALL(hwloc_get_type_depth)                                                                     \
    CALL(hwloc_get_nbobjs_by_depth)                                                                \
    CALL(hwloc_get_obj_by_depth)                                                                   \
    CALL(hwloc_bitmap_isset)                                                                       \
    CALL(hwloc_bitmap_weight)

struct library {
    void *handle;
#define MEMBER(name) __typeof__(&(name)) name;
    CALLS(MEMBER)
};

static int library_open(struct library *l, struct fault *why)
{
    l->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        return fault_set(why, ML_ERR_SYSTEM,
                         "binding ranks needs " LIBRARY " (Debian: libhwloc15), which is missing: "
                         "%s",
                         dlerror());
#define FIND(name)                                                                                 \
    *(void **)&l->name = dlsym(l->handle, #name);                                                  \
    if (!l->name)                                                                                  \
        goto missing;
    CALLS(FIND)
    return 0;
missing:
    fault_set(why, ML_ERR_SYSTEM, LIBRARY " is another version than this build needs: %s",
              dlerror());
    dlclose(l->handle);
    return ML_ERR_SYSTEM;
}

/* The hardware threads in hwloc's order. A machine that is only described may be used
 * as a whole. */
static void cpus_find(struct machine *m, const struct library *l, hwloc_topology_t topology)
{
    int depth = l->hwloc_get_type_depth(topology, HWLOC_OBJ_PU);
    unsigned count = l->hwloc_get_nbobjs_by_depth(topology, depth);
    bool is_here = l->hwloc_topology_is_thissystem(topology);
    cpu_set_t allowed;

    if (is_here && sched_getaffinity(0, sizeof(allowed), &allowed))
        return;
    for (unsigned i = 0; i < count && m->cpu_count < CPU_SETSIZE; i++) {
        struct machine_cpu *cpu = &m->cpus[m->cpu_count];
        unsigned number = l->hwloc_get_obj_by_depth(topology, depth, i)->os_index;

        if (number >= CPU_SETSIZE || (is_here && !CPU_ISSET(number, &allowed)))
            continue;
        cpu->number = (int)number;
        cpu->node = -1;
        for (int unit = 0; unit < BIND_UNITS; unit++)
            cpu->in[unit] = -1;
        m->cpu_count++;
    }
}

static void unit_find(struct machine *m, const struct library *l, hwloc_topology_t topology,
                      enum bind_mode unit, hwloc_obj_type_t type)
{
    int depth = l->hwloc_get_type_depth(topology, type);
    unsigned count = l->hwloc_get_nbobjs_by_depth(topology, depth);

    for (unsigned i = 0; i < count; i++) {
        hwloc_obj_t object = l->hwloc_get_obj_by_depth(topology, depth, i);

        for (int j = 0; j < m->cpu_count; j++)
            if (m->cpus[j].in[unit] < 0 &&
                l->hwloc_bitmap_isset(object->cpuset, (unsigned)m->cpus[j].number))
                m->cpus[j].in[unit] = (int)i;
    }
}

/* The node with the fewest processors, as a graphics card's memory can be a node beside a whole
 * socket. */
static void nodes_find(struct machine *m, const struct library *l, hwloc_topology_t topology)
{
    int depth = l->hwloc_get_type_depth(topology, HWLOC_OBJ_NUMANODE);
    unsigned count = l->hwloc_get_nbobjs_by_depth(topology, depth);
    static int weights[CPU_SETSIZE];

    for (unsigned i = 0; i < count; i++) {
        hwloc_obj_t object = l->hwloc_get_obj_by_depth(topology, depth, i);
        int weight = l->hwloc_bitmap_weight(object->cpuset);

        for (int j = 0; j < m->cpu_count; j++) {
            struct machine_cpu *cpu = &m->cpus[j];

            if (!l->hwloc_bitmap_isset(object->cpuset, (unsigned)cpu->number) ||
                (cpu->node >= 0 && weights[j] <= weight))
                continue;
            cpu->node = (int)object->os_index;
            cpu->in[BIND_NUMA] = (int)i;
            weights[j] = weight;
        }
    }
}

static void machine_fill(struct machine *m, const struct library *l, hwloc_topology_t topology)
{
    cpus_find(m, l, topology);
    unit_find(m, l, topology, BIND_HWTHREAD, HWLOC_OBJ_PU);
    unit_find(m, l, topology, BIND_CORE, HWLOC_OBJ_CORE);
    unit_find(m, l, topology, BIND_L3CACHE, HWLOC_OBJ_L3CACHE);
    unit_find(m, l, topology, BIND_SOCKET, HWLOC_OBJ_PACKAGE);
    nodes_find(m, l, topology);
}

int machine_read(struct machine **out, struct fault *why)
{
    struct machine *m = calloc(1, sizeof(*m));
    struct library l = {0};
    hwloc_topology_t topology;
    int rc = m ? library_open(&l, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!rc && l.hwloc_topology_init(&topology) == 0) {
        if (l.hwloc_topology_load(topology) == 0)
            machine_fill(m, &l, topology);
        l.hwloc_topology_destroy(topology);
    }
    if (!rc)
        dlclose(l.handle);
    if (!rc && m->cpu_count == 0)
        rc = fault_set(why, ML_ERR_SYSTEM, "hwloc finds no processors that this job may use");
    if (!rc)
        *out = m;
    else
        free(m);
    return rc;
}

#else

int machine_read(struct machine **out, struct fault *why)
{
    (void)out;
    return fault_set(why, ML_ERR_SYSTEM, "binding ranks: this build has no hwloc");
}

#endif
