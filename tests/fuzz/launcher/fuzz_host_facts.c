/* SPDX-License-Identifier: MIT */
/* fuzz_host_facts.c: any bytes as an agent's answer about its host: what is refused has a sentence,
 * and what is accepted keeps its bounds. */
#include "common/text/parsed_json.h"
#include "launcher/tools/verify/host_facts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_device(const struct host_facts *h, const struct host_device *d)
{
    if (!d->name[0] || strlen(d->name) >= sizeof(d->name) || !host_facts_device(h, d->name) ||
        d->width < -1 || d->numa_node < -1)
        abort();
    for (int i = 0; i < d->port_count; i++)
        if (d->ports[i].number < 1 || d->ports[i].number > 255 || d->ports[i].mtu < -1 ||
            d->ports[i].gid_count > 64 || !host_facts_port(d, d->ports[i].number))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root = parsed_json((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    struct host_facts h = {0};
    struct fault why = {0};

    if (!root)
        return 0;
    if (host_facts_read(&h, root, &why)) {
        if (why.code >= 0 || !why.text[0] || h.is_known)
            abort();
    } else {
        if (!h.is_known || h.device_count > HOST_DEVICES_MOST || h.cores < -1)
            abort();
        for (int i = 0; i < h.device_count; i++)
            check_device(&h, &h.devices[i]);
    }
    host_facts_clear(&h);
    json_decref(root);
    return 0;
}
