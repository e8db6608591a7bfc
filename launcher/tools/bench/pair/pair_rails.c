/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_rails.h"

#include "common/net/frame.h"
#include "common/net/job_file.h"
#include "common/rdma_choice.h"

#include <stdlib.h>

json_t *pair_rails_wiring(void)
{
    const char *directory = getenv("MLAUNCH_JOB_DIR");
    json_t *root, *wiring;
    struct fault why;

    if (!directory || job_file_json(&root, directory, "rdma.json", FRAME_LIMIT, &why))
        return NULL;
    wiring = json_incref(json_object_get(root, "wiring"));
    json_decref(root);
    return wiring;
}

const char *pair_rails_port(const json_t *wiring, int from, int to, int rail)
{
    const json_t *rails = json_array_get(json_array_get(wiring, (size_t)from), (size_t)to);
    const char *port = json_string_value(json_array_get(rails, (size_t)rail));

    return port ? port : "";
}

int pair_rails_count(const json_t *wiring, int from, int to)
{
    size_t there =
        json_array_size(json_array_get(json_array_get(wiring, (size_t)from), (size_t)to));
    size_t back = json_array_size(json_array_get(json_array_get(wiring, (size_t)to), (size_t)from));
    size_t count = there < back ? there : back;

    return count < RDMA_RAILS ? (int)count : RDMA_RAILS;
}
