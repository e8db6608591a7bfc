/* SPDX-License-Identifier: MIT */
/* fuzz_tuning_file.c: any bytes as a file for --tuning; what is accepted fits into a variable. */
#include "common/log.h"
#include "launcher/input/plan/tuning_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level;
    (void)text;
    (void)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tuning_job job = {4, 2, "tcp"};
    char path[32], *value = NULL;
    struct fault why = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    log_to(quiet, NULL);
    if (tuning_file_read(&value, path, &job, &why)) {
        if (value || why.code >= 0 || strncmp(why.text, "--tuning", 8) != 0)
            abort(); /* every sentence names the option */
    } else if (value && (strlen(value) > 16384 || strpbrk(value, " \t\n#="))) {
        abort();
    }
    free(value);
    close(fd);
    return 0;
}
