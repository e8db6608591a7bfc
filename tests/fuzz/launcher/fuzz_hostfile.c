/* SPDX-License-Identifier: MIT */
/* fuzz_hostfile.c: any bytes as a hostfile, JSON or text; what is accepted obeys the contract. */
#include "common/log.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/hostfile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_host(const struct host_list *l, const struct host *h)
{
    if (!h->name || !*h->name || *h->name == '-' || h->slots < 0 || !h->ips || !h->env)
        abort();
    if (h->max_slots < 0 || (h->max_slots && h->slots > h->max_slots))
        abort();
    if (h->rdma && h->rdma_count != l->count)
        abort();
}

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level;
    (void)text;
    (void)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host_list *l = NULL;
    struct fault why = {0};
    char *text;

    if (memchr(data, 0, size)) /* text_file_read refuses these */
        return 0;
    text = strndup((const char *)data, size);
    if (!text)
        return 0;
    log_to(quiet, NULL);
    if (hostfile_parse(&l, "fuzz", text, size, &why)) {
        if (l || why.code >= 0 || strncmp(why.text, "fuzz", 4) != 0)
            abort(); /* every sentence names the file */
    } else {
        for (int i = 0; i < l->count; i++)
            check_host(l, &l->hosts[i]);
        host_list_check_wiring(l, &why);
        host_list_destroy(l);
    }
    free(text);
    return 0;
}
