/* SPDX-License-Identifier: MIT */
#include "launcher/bench/link/link_rails.h"

#include "common/rdma_choice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

json_t *link_rails_wiring(void)
{
    const char *directory = getenv("MLAUNCH_JOB_DIR");
    char path[PATH_MAX];
    json_t *root, *wiring;

    if (!directory || snprintf(path, sizeof(path), "%s/rdma.json", directory) >= (int)sizeof(path))
        return NULL;
    root = json_load_file(path, 0, NULL);
    wiring = json_incref(json_object_get(root, "wiring"));
    json_decref(root);
    return wiring;
}

int link_rails_count(const json_t *wiring, int from, int to)
{
    size_t there =
        json_array_size(json_array_get(json_array_get(wiring, (size_t)from), (size_t)to));
    size_t back = json_array_size(json_array_get(json_array_get(wiring, (size_t)to), (size_t)from));
    size_t count = there < back ? there : back;

    return count < RDMA_RAILS ? (int)count : RDMA_RAILS;
}
