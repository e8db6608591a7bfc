/* SPDX-License-Identifier: MIT */
/* fuzz_uplink_order.c: a line that is taken has only what may be used, and comes back the same. */
#include "launcher/wire/uplink/uplink_order.h"

#include "common/net/address.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct uplink_order o, again;
    struct fault why;
    char *line;

    if (uplink_order_parse(&o, (const char *)data, size, "a", &why))
        return 0;
    if (o.port < 1 || o.port > 65535 || o.limit_ms < 1 || o.index < 0 || o.index >= o.hosts)
        abort();
    for (char **h = o.heads; *h; h++)
        if (!address_is_literal(*h))
            abort();
    if (uplink_order_write(&line, o.heads[0], &o, json_pack("[[s,i]]", "a", o.index), &why) ||
        uplink_order_parse(&again, line, strlen(line), "a", &why) || again.port != o.port ||
        again.index != o.index || memcmp(again.key, o.key, sizeof(o.key)) != 0)
        abort();
    free(line);
    uplink_order_clear(&again);
    uplink_order_clear(&o);
    return 0;
}
