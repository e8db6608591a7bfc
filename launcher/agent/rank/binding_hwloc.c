/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/binding_hwloc.h"

#include "config.h"

#if HAVE_HWLOC

#include <dlfcn.h>
#include <hwloc.h>

#define LIBRARY "libhwloc.so.15"

/* The functions that are used, with their own names and types. */
#define CALLS(CALL)                                                                                \
    CALL(hwloc_topology_init)                                                                      \
    CALL(hwloc_topology_load)                                                                      \
    CALL(hwloc_topology_destroy)                                                                   \
    CALL(hwloc_get_type_depth)                                                                     \
    CALL(hwloc_get_nbobjs_by_depth)                                                                \
    CALL(hwloc_get_obj_by_depth)                                                                   \
    CALL(hwloc_bitmap_next)

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
                         "--bind-to needs " LIBRARY " (Debian: libhwloc15), which is missing: %s",
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

static void set_copy(const struct library *l, cpu_set_t *out, hwloc_const_cpuset_t in,
                     const cpu_set_t *allowed)
{
    CPU_ZERO(out);
    for (int cpu = l->hwloc_bitmap_next(in, -1); cpu >= 0 && cpu < CPU_SETSIZE;
         cpu = l->hwloc_bitmap_next(in, cpu)) {
        if (CPU_ISSET(cpu, allowed))
            CPU_SET(cpu, out);
    }
}

/* Stores in `places` the CPU sets of at most `max` objects of one type that hold a CPU which this
 * process may use. Returns how many. */
static int places_find(const struct library *l, hwloc_topology_t topology, hwloc_obj_type_t type,
                       cpu_set_t *places, int max)
{
    int depth = l->hwloc_get_type_depth(topology, type);
    unsigned objects = l->hwloc_get_nbobjs_by_depth(topology, depth);
    cpu_set_t allowed;
    int count = 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        return 0;
    for (unsigned i = 0; i < objects && count < max; i++) {
        hwloc_obj_t object = l->hwloc_get_obj_by_depth(topology, depth, i);

        set_copy(l, &places[count], object->cpuset, &allowed);
        if (CPU_COUNT(&places[count]) > 0)
            count++;
    }
    return count;
}

int binding_find(cpu_set_t *sets, int count, enum bind_mode bind, bool *shared, struct fault *why)
{
    static cpu_set_t places[CPU_SETSIZE];
    static const struct {
        const char *word;
        hwloc_obj_type_t type;
    } kinds[] = {[BIND_HWTHREAD] = {"hwthread", HWLOC_OBJ_PU},
                 [BIND_CORE] = {"core", HWLOC_OBJ_CORE},
                 [BIND_L3CACHE] = {"l3cache", HWLOC_OBJ_L3CACHE},
                 [BIND_SOCKET] = {"socket", HWLOC_OBJ_PACKAGE},
                 [BIND_NUMA] = {"numa", HWLOC_OBJ_NUMANODE}};
    bool one_each = bind == BIND_CORE || bind == BIND_HWTHREAD;
    hwloc_topology_t topology;
    struct library l = {0};
    int found = 0;
    int rc = library_open(&l, why);

    if (rc)
        return rc;
    if (l.hwloc_topology_init(&topology) == 0) {
        if (l.hwloc_topology_load(topology) == 0)
            found = places_find(&l, topology, kinds[bind].type, places, CPU_SETSIZE);
        l.hwloc_topology_destroy(topology);
    }
    dlclose(l.handle);
    if (found == 0)
        return fault_set(why, ML_ERR_SYSTEM, "--bind-to %s: hwloc finds none that this job may use",
                         kinds[bind].word);
    for (int i = 0; i < count; i++) {
        if (one_each)
            sets[i] = places[i % found];
        else
            sets[i] = places[(long)i * found / (count > found ? count : found)];
    }
    *shared = one_each && count > found;
    return 0;
}

#else

int binding_find(cpu_set_t *sets, int count, enum bind_mode bind, bool *shared, struct fault *why)
{
    (void)sets, (void)count, (void)bind, (void)shared;
    return fault_set(why, ML_ERR_SYSTEM, "--bind-to: this build has no hwloc");
}

#endif
