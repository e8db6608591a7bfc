/* SPDX-License-Identifier: MIT */
/*
 * fuzz_known_hosts.c: any bytes as a known_hosts file. Whatever it holds, the list of host key
 * algorithms ends with the default ones and has no empty name.
 */
#include "launcher/wire/ssh/remote_host_key.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64], *files[] = {path, NULL}, *algorithms = NULL;
    struct remote_config c = {.name = (char *)"host",
                              .option = {[REMOTE_HOSTNAME] = (char *)"host.example"},
                              .known_hosts = {.items = files, .count = 1},
                              .port = 2222};
    struct fault why = {0};

    if (fd < 0)
        fd = memfd_create("known_hosts", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (remote_host_key_algorithms(&algorithms, &c, &why)) {
        if (why.code >= 0 || !why.text[0])
            abort();
    } else {
        if (!strstr(algorithms, "ssh-ed25519,") || strstr(algorithms, ",,"))
            abort();
        free(algorithms);
    }
    return 0;
}
