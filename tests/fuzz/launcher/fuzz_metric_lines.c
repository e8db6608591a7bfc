/* SPDX-License-Identifier: MIT */
/* fuzz_metric_lines.c: any bytes as what --command prints, and any JSON as an agent's answer: of
 * both comes a page that has nothing but lines of metrics; and what is accepted is accepted
 * again. */
#include "common/text/parsed_json.h"
#include "launcher/tools/metrics/metric_hosts.h"
#include "launcher/tools/metrics/metric_jobs.h"
#include "launcher/tools/metrics/metric_lines.h"
#include "launcher/tools/metrics/metric_page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(const char *page)
{
    while (*page) {
        size_t length = strcspn(page, "\n");

        if (page[length] != '\n' || length < 10 ||
            (strncmp(page, "# ", 2) != 0 && strncmp(page, "mlaunch_", 8) != 0))
            abort();
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)page[i] < ' ' && page[i] != '\t')
                abort();
        page += length + 1;
    }
}

static void check_printed(const uint8_t *data, size_t size)
{
    char *printed = strndup((const char *)data, size);
    struct metric_lines first, second;
    struct fault why;

    if (!printed || metric_lines_check(&first, printed, &why))
        abort();
    free(printed);
    if (first.refused < 0 || (first.refused > 0) != (first.reason.text[0] != '\0'))
        abort();
    check_page(first.text);
    printed = strdup(first.text);
    if (!printed || metric_lines_check(&second, printed, &why) || second.refused ||
        strcmp(first.text, second.text) != 0)
        abort();
    free(printed);
    free(first.text);
    free(second.text);
}

static void check_answer(json_t *said)
{
    struct metric_page *p = metric_page_create();
    char *page;

    if (!p)
        abort();
    metric_page_set_host(p, "a\"\n");
    metric_hosts_add(p, said);
    metric_jobs_add(p, said);
    page = metric_page_text(p);
    if (!page)
        abort();
    check_page(page);
    free(page);
    metric_page_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *said = parsed_json((const char *)data, size, 0, NULL);

    if (said)
        check_answer(said);
    check_printed(data, size);
    json_decref(said);
    return 0;
}
