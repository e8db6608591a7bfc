/* SPDX-License-Identifier: MIT */
/* said.h: hosts that have said something, for the tests of the rows and the view. */
#include "launcher/tools/top/top_host.h"

#include <stdio.h>
#include <string.h>

/* A rank with a processor time, memory, and a wait or "". */
#define SAID_RANK(number, cpu, memory, waits)                                                      \
    "{\"rank\": " #number ", \"pid\": 7" #number ", \"state\": \"S\", \"name\": \"prog\", "        \
    "\"cpu_s\": " #cpu ", \"memory_bytes\": " #memory ", \"counters\": {\"calls\": [], "           \
    "\"links\": []}, \"waits\": [" waits "]}"
#define SAID_WAIT                                                                                  \
    "{\"text\": \"recv of 8 bytes from rank 1\", \"group\": 0, \"call\": 0, \"since\": 95, "       \
    "\"receives_from\": [1], \"sends_to\": []}"
#define SAID_JOB(id, name, age, ranks)                                                             \
    "{\"job\": \"" id "\", \"job_name\": \"" name "\", \"user\": \"u\", \"state\": \"live\", "     \
    "\"size\": 4, \"command\": \"prog x\", \"started_at\": 90, \"age_s\": " #age                   \
    ", \"ranks\": [" ranks "]}"
#define SAID(jobs) "{\"system\": {\"cores\": 2}, \"jobs\": [" jobs "]}"

/* The host has said both, a second apart. */
static inline void said_twice(struct top_host *h, const char *before, const char *now)
{
    const char *texts[] = {before, now};
    struct fault why;

    for (int i = 0; i < 2; i++) {
        json_t *said = json_loads(texts[i], 0, NULL);

        assert_non_null(said);
        assert_int_equal(top_host_take(h, said, (int64_t)(i + 1) * 1000000000, &why), 0);
        json_decref(said);
    }
}
