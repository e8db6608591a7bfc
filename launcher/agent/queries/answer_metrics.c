/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_metrics.h"

#include "common/build_id.h"
#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/facts/facts_rdma_linux.h"
#include "launcher/agent/facts/facts_system_linux.h"
#include "launcher/agent/queries/answer_list.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* {mode: seconds} of all processors, from the first line of /proc/stat. */
static json_t *processors_read(const char *root)
{
    static const char *const modes[] = {"user",   "nice", "system",  "idle",
                                        "iowait", "irq",  "softirq", "steal"};
    json_t *out = json_object();
    char path[FACT_PATH], text[FACT_TEXT], *at = text, *end;

    fact_file_path(path, root, "/proc/stat");
    if (!fact_file_entry(path, "cpu ", text))
        return out;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++, at = end) {
        unsigned long long ticks;

        errno = 0;
        ticks = strtoull(at, &end, 10);
        if (end == at || errno)
            break;
        json_object_set_new(out, modes[i], json_real((double)ticks / (double)sysconf(_SC_CLK_TCK)));
    }
    return out;
}

int answer_metrics_run(const struct answer_question *q, json_t *out, struct fault *why)
{
    const char *root = json_string_value(json_object_get(q->question, "root"));
    struct answer_question jobs = *q;

    /* Below a root, even "/", nothing is asked but files: `mlaunch metrics` asks every few seconds,
     * and so must not open the devices, for instance. */
    json_object_set_new(out, "system", facts_system_read(root ? root : "/"));
    json_object_set_new(out, "cpu_s", processors_read(root ? root : "/"));
    json_object_set_new(out, "devices", facts_rdma_read(root ? root : "/"));
    if (root)
        return 0;
    fact_put_text(out, "version", build_version);
    jobs.stacks = false;
    jobs.counters = true;
    return answer_list_run(&jobs, out, why);
}
