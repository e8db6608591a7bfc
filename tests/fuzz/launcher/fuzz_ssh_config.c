/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ssh_config.c: any bytes as an ssh_config; its first line is the host's name as the user
 * wrote it. Files with the word exec or include are left out: they would run commands and read
 * other files.
 */
#include "launcher/wire/ssh/remote_config_file.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_word(const uint8_t *data, size_t size, const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; i + length <= size; i++) {
        size_t k = 0;

        while (k < length && tolower(data[i + k]) == word[k])
            k++;
        if (k == length)
            return true;
    }
    return false;
}

static void check(const struct remote_config *c)
{
    char command[256];

    if (!c->option[REMOTE_HOSTNAME] || !c->option[REMOTE_USER] || !c->option[REMOTE_PORT] ||
        c->port < 1 || c->port > 65535 ||
        (c->option[REMOTE_PROXY_COMMAND] && c->option[REMOTE_PROXY_JUMP]))
        abort();
    remote_config_command(c, command, sizeof(command));
    if (!memchr(command, '\0', sizeof(command)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    const uint8_t *end = memchr(data, '\n', size);
    size_t head = end ? (size_t)(end - data) : 0, rest = end ? size - head - 1 : 0;
    struct host host = {.name = strndup((const char *)data, head)};
    struct remote_config *c = NULL;
    const struct remote_wait wait = {.wake = -1}; /* no command is run */
    struct fault why = {0};
    char path[64];

    if (fd < 0)
        fd = memfd_create("ssh_config", MFD_CLOEXEC);
    if (fd < 0 || !host.name)
        abort();
    if (end && !has_word(data, size, "exec") && !has_word(data, size, "include")) {
        if (ftruncate(fd, 0) || pwrite(fd, end + 1, rest, 0) != (ssize_t)rest)
            abort();
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (remote_config_file_read(&c, &host, path, &wait, &why) == 0)
            check(c);
        else if (c || why.code >= 0 || !why.text[0])
            abort();
        remote_config_destroy(c);
    }
    free(host.name);
    return 0;
}
