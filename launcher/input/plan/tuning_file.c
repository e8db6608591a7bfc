/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/tuning_file.h"

#include "common/log.h"
#include "common/text/number.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MOST = 16 << 10 /* bytes of MLAUNCH_ALGO */ };

struct tuning_reading {
    const struct tuning_job *job;
    char *value;  /* owned; what was found so far, or NULL */
    int measured; /* lines with a part, also for other jobs */
};

/* Checks that a variable can hold the part, and that it does not continue another's call. */
static int part_check(const char *part, struct fault *why)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-0123456789KMG:@.,";
    char shown[TEXT_SHOWN];
    size_t call = strcspn(part, ":@,");

    if (part[strspn(part, letters)] || part[call] != ':' || call == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not CALL:ALGORITHM[@FROM..TO][,...], such as "
                         "all_reduce:doubling@..4096,ring@32K..",
                         text_show(shown, part));
    return 0;
}

/* Sets *fits to false if the job is not the one of the condition. */
static int condition_check(const struct tuning_job *job, const char *word, bool *fits,
                           struct fault *why)
{
    static const char *const backends[] = {"shm", "tcp", "rdma", NULL};
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : "";
    size_t length = equals ? (size_t)(equals - word) : 0;
    char shown[TEXT_SHOWN];
    int64_t n;

    if (length == 7 && memcmp(word, "backend", length) == 0 &&
        strings_has((char *const *)backends, value)) {
        *fits = *fits && strcmp(value, job->backend) == 0;
        return 0;
    }
    if (length == 5 && (memcmp(word, "ranks", length) == 0 || memcmp(word, "hosts", length) == 0) &&
        number_parse(value, 1, INT_MAX, &n)) {
        *fits = *fits && n == (*word == 'r' ? job->ranks : job->hosts);
        return 0;
    }
    return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not ranks=N, hosts=N or backend=shm|tcp|rdma",
                     text_show(shown, word));
}

static int value_add(struct tuning_reading *t, const char *part, struct fault *why)
{
    size_t had = t->value ? strlen(t->value) : 0;
    char *value = t->value;
    int rc;

    if (had + 1 + strlen(part) > VALUE_MOST)
        return fault_set(why, ML_ERR_ARGUMENT, "more than %d characters for one job", VALUE_MOST);
    rc = string_format(&t->value, why, "%s%s%s", value ? value : "", value ? "," : "", part);
    if (!rc)
        free(value);
    return rc;
}

static int line_read(struct tuning_reading *t, char *line, struct fault *why)
{
    char *word, *part = NULL;
    bool fits = true;
    int rc = 0;

    line[strcspn(line, "#")] = '\0';
    while (!rc && (word = strsep(&line, " \t"))) {
        if (!*word)
            continue;
        rc = part ? condition_check(t->job, word, &fits, why) : part_check(word, why);
        if (!part)
            part = word;
    }
    t->measured += part != NULL;
    return !rc && part && fits ? value_add(t, part, why) : rc;
}

int tuning_file_read(char **out, const char *path, const struct tuning_job *job, struct fault *why)
{
    struct tuning_reading t = {.job = job};
    char *text, *rest, *line;
    size_t size;
    int rc = text_file_read(path, &text, &size, why), number = 0;

    if (rc)
        return fault_wrap(why, "--tuning");
    rest = text;
    while (!rc && (line = text_line(&rest))) {
        number++;
        rc = line_read(&t, line, why);
    }
    free(text);
    if (rc) {
        free(t.value);
        return fault_wrap(why, "--tuning: %s:%d", path, number);
    }
    if (t.measured && !t.value)
        log_warn("--tuning: no line of %s is for %d rank%s on %d host%s over %s, so the library "
                 "chooses the algorithms by itself",
                 path, job->ranks, job->ranks == 1 ? "" : "s", job->hosts,
                 job->hosts == 1 ? "" : "s", job->backend);
    *out = t.value;
    return 0;
}
