/* SPDX-License-Identifier: MIT */
/* fuzz_metric_request.c: any bytes as the head of a request for metrics: it is read once, within
 * its bounds, and gives a time that can be waited. */
#include "launcher/tools/metrics/metric_listen.h"
#include "launcher/tools/metrics/metric_request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct metric_listen at = {.is_loopback = true, .name = "here.example"};
    char *head = strndup((const char *)data, size);
    struct metric_request r;

    if (!head)
        abort();
    size = strlen(head);
    metric_request_read(&r, head, &at);
    if (r.patience_ms < 0 || (r.is_get && r.is_head) || (!r.is_http && (r.is_get || r.is_head)))
        abort();
    if (r.is_http && (r.path < head || r.path + strlen(r.path) > head + size))
        abort();
    free(head);
    return 0;
}
