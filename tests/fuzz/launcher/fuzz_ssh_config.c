/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ssh_config.c: any bytes as what `ssh -G` prints, and as a configuration file that is scanned
 * for the lines that tell hosts apart. The first line is the host's name.
 */
#include "launcher/wire/ssh/reach/remote_alike.h"
#include "launcher/wire/ssh/reach/remote_answer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer_try(const char *name, const char *text)
{
    struct remote_config *c = calloc(1, sizeof(*c));
    struct fault why = {0};
    char command[256];
    int rc;

    if (!c || !(c->name = strdup(name)))
        abort();
    rc = remote_answer_read(c, text, text, &why);
    if (rc && (rc != ML_ERR_ARGUMENT || !why.text[0]))
        abort();
    if (!rc &&
        (!c->option[REMOTE_HOSTNAME] || !c->option[REMOTE_USER] || c->port < 1 || c->port > 65535))
        abort();
    if (!rc)
        remote_config_command(c, command, sizeof(command));
    remote_config_destroy(c);
}

static void scan_try(const char *name, const char *text)
{
    static int fd = -1;
    struct remote_alike alike = {0};
    char path[64], *signature;

    if (fd < 0)
        fd = memfd_create("ssh_config", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    remote_alike_scan(&alike, path);
    signature = remote_alike_signature(&alike, name);
    if (signature && (alike.is_doubtful || strlen(signature) != alike.patterns.count))
        abort();
    free(signature);
    remote_alike_clear(&alike);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest;

    if (!text)
        abort();
    rest = text + strcspn(text, "\n");
    if (*rest)
        *rest++ = '\0';
    answer_try(text, rest);
    scan_try(text, rest);
    free(text);
    return 0;
}
