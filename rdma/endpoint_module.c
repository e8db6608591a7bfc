/* SPDX-License-Identifier: MIT */
#include "rdma/endpoint_module.h"

#include "common/build_id.h"

#include <dlfcn.h>
#include <string.h>

int endpoint_module_open(const struct endpoint_table **out, const char *path, struct fault *why)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct endpoint_table *found;
    endpoint_table_fn *get;

    if (!module)
        return fault_set(why, ML_ERR_DEVICE,
                         "cannot open mlaunch's RDMA module: %s; is libibverbs1 installed on this "
                         "host?",
                         dlerror());
    *(void **)&get = dlsym(module, ENDPOINT_TABLE_SYMBOL);
    found = get ? get() : NULL;
    if (!found || strcmp(found->build, build_id) != 0) {
        dlclose(module);
        return fault_set(why, ML_ERR_DEVICE, "%s is not of this mlaunch's build %s", path,
                         build_id);
    }
    *out = found;
    return 0;
}
