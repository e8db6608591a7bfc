/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/machine_hwloc.h"

#include "config.h"

#include "launcher/agent/binding/gpu_usable_linux.h"

#if HAVE_HWLOC

#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libhwloc.so.15"

/* The functions that are used, with their own names and types. */
#define CALLS(CALL)                                                                                \
    CALL(hwloc_topology_init)                                                                      \
    CALL(hwloc_topology_load)                                                                      \
    CALL(hwloc_topology_destroy)                                                                   \
    CALL(hwloc_topology_set_io_types_filter)                                                       \
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

/* A GPU while the machine is read. */
struct gpu_found {
    struct machine_gpu gpu;
    hwloc_obj_t object;
};

#if HWLOC_IS_LINKED

static int library_open(struct library *l, struct fault *why)
{
    (void)why;
#define TAKE(name) l->name = name;
    CALLS(TAKE)
    return 0;
}

static void library_close(struct library *l)
{
    (void)l;
}

#else

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

static void library_close(struct library *l)
{
    dlclose(l->handle);
}

#endif

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

/* Class 3: displays; 0x12: accelerators. Not the graphics of a server's management controller. */
static bool is_gpu(hwloc_obj_t object)
{
    int class = object->attr->pcidev.class_id >> 8, vendor = object->attr->pcidev.vendor_id;

    return (class == 0x03 || class == 0x12) &&
           (vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD || vendor == VENDOR_INTEL);
}

static int gpu_rank(enum machine_vendor vendor)
{
    return vendor == VENDOR_NVIDIA ? 0 : vendor == VENDOR_AMD ? 1 : 2;
}

static int gpu_compare(const void *one, const void *other)
{
    const struct machine_gpu *a = &((const struct gpu_found *)one)->gpu;
    const struct machine_gpu *b = &((const struct gpu_found *)other)->gpu;

    if (a->vendor != b->vendor)
        return gpu_rank(a->vendor) - gpu_rank(b->vendor);
    if (a->domain != b->domain)
        return a->domain - b->domain;
    if (a->bus != b->bus)
        return a->bus - b->bus;
    return a->device != b->device ? a->device - b->device : a->function - b->function;
}

/* The CPUs of the first ancestor that has some. */
static void cpus_beside(cpu_set_t *out, const struct machine *m, const struct library *l,
                        hwloc_obj_t object)
{
    CPU_ZERO(out);
    while (object->parent && !object->cpuset)
        object = object->parent;
    for (int i = 0; i < m->cpu_count; i++)
        if (object->cpuset && l->hwloc_bitmap_isset(object->cpuset, (unsigned)m->cpus[i].number))
            CPU_SET((size_t)m->cpus[i].number, out);
}

static int depth_of(hwloc_obj_t object)
{
    int depth = 0;

    for (; object; object = object->parent)
        depth++;
    return depth;
}

/* How many objects contain both. */
static int nearness(hwloc_obj_t one, hwloc_obj_t other)
{
    for (; one; one = one->parent)
        for (hwloc_obj_t at = other; at; at = at->parent)
            if (at == one)
                return depth_of(at);
    return 0;
}

static int gpus_find(struct gpu_found *found, struct machine *m, const struct library *l,
                     hwloc_topology_t topology)
{
    int depth = l->hwloc_get_type_depth(topology, HWLOC_OBJ_PCI_DEVICE), count = 0;
    bool is_here = l->hwloc_topology_is_thissystem(topology);

    for (unsigned i = 0; i < l->hwloc_get_nbobjs_by_depth(topology, depth); i++) {
        hwloc_obj_t object = l->hwloc_get_obj_by_depth(topology, depth, i);
        const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
        struct machine_gpu g = {.domain = (int)pci->domain,
                                .bus = pci->bus,
                                .device = pci->dev,
                                .function = pci->func,
                                .vendor = pci->vendor_id};

        if (!is_gpu(object) || count == MACHINE_DEVICES || (is_here && !gpu_usable("", &g)))
            continue;
        cpus_beside(&g.cpus, m, l, object);
        found[count++] = (struct gpu_found){g, object};
    }
    qsort(found, (size_t)count, sizeof(*found), gpu_compare);
    return count;
}

static void devices_find(struct machine *m, const struct library *l, hwloc_topology_t topology)
{
    static struct gpu_found found[MACHINE_DEVICES];
    int gpus = gpus_find(found, m, l, topology);
    int depth = l->hwloc_get_type_depth(topology, HWLOC_OBJ_OS_DEVICE);

    for (int i = 0; i < gpus && found[i].gpu.vendor == found[0].gpu.vendor; i++) {
        found[i].gpu.number = i;
        if (!gpu_usable_is_listed(&found[i].gpu))
            continue;
        m->gpus[m->gpu_count] = found[i].gpu;
        found[m->gpu_count++] = found[i];
    }
    for (unsigned i = 0; i < l->hwloc_get_nbobjs_by_depth(topology, depth); i++) {
        hwloc_obj_t object = l->hwloc_get_obj_by_depth(topology, depth, i);
        struct machine_port *port = &m->ports[m->port_count];

        if (object->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS || !object->name ||
            m->port_count == MACHINE_DEVICES)
            continue;
        snprintf(port->name, sizeof(port->name), "%s", object->name);
        for (int j = 0; j < m->gpu_count; j++)
            port->nearness[j] = nearness(found[j].object, object);
        m->port_count++;
    }
}

static void machine_fill(struct machine *m, const struct library *l, hwloc_topology_t topology,
                         bool has_devices)
{
    cpus_find(m, l, topology);
    unit_find(m, l, topology, BIND_HWTHREAD, HWLOC_OBJ_PU);
    unit_find(m, l, topology, BIND_CORE, HWLOC_OBJ_CORE);
    unit_find(m, l, topology, BIND_L3CACHE, HWLOC_OBJ_L3CACHE);
    unit_find(m, l, topology, BIND_SOCKET, HWLOC_OBJ_PACKAGE);
    nodes_find(m, l, topology);
    if (has_devices)
        devices_find(m, l, topology);
}

/* Vendors' plugins of hwloc would load their libraries; what is needed, it finds by itself. */
static int topology_init(const struct library *l, hwloc_topology_t *topology)
{
    static const char plugins[] = "HWLOC_PLUGINS_PATH";
    bool is_set = getenv(plugins) != NULL;
    int rc;

    if (!is_set)
        setenv(plugins, "/dev/null", 1);
    rc = l->hwloc_topology_init(topology);
    if (!is_set)
        unsetenv(plugins);
    return rc;
}

int machine_read(struct machine **out, bool has_devices, struct fault *why)
{
    struct machine *m = calloc(1, sizeof(*m));
    struct library l = {0};
    hwloc_topology_t topology;
    int rc = m ? library_open(&l, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (!rc && topology_init(&l, &topology) == 0) {
        if (has_devices)
            l.hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
        if (l.hwloc_topology_load(topology) == 0)
            machine_fill(m, &l, topology, has_devices);
        l.hwloc_topology_destroy(topology);
    }
    if (!rc)
        library_close(&l);
    if (!rc && m->cpu_count == 0)
        rc = fault_set(why, ML_ERR_SYSTEM, "hwloc finds no processors that this job may use");
    if (!rc)
        *out = m;
    else
        free(m);
    return rc;
}

#else

int machine_read(struct machine **out, bool has_devices, struct fault *why)
{
    (void)out, (void)has_devices;
    return fault_set(why, ML_ERR_SYSTEM, "binding ranks: this build has no hwloc");
}

#endif
