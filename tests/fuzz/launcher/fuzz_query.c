/* SPDX-License-Identifier: MIT */
/*
 * fuzz_query.c: any bytes as what the agents of two hosts answer to ps, kill, clean, hosts, info,
 * status and verify. The first byte of the input chooses the subcommand, the rest is a script
 * (script_channel.h). Whatever the agents say, the subcommand ends, and what it prints does not
 * control a terminal.
 */
#include "common/log.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/process/install_path.h"
#include "launcher/tools/verify/verify_command.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

/* Standard output is a file in memory. */
static void output_catch(void)
{
    static int fd = -1;

    log_to(quiet, NULL);
    if (fd >= 0)
        return;
    unsetenv("HOME");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    fd = memfd_create("stdout", MFD_CLOEXEC);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        abort();
}

static void output_check(void)
{
    static unsigned char text[65536];
    ssize_t n;

    fflush(stdout);
    n = pread(STDOUT_FILENO, text, sizeof(text), 0);
    for (ssize_t i = 0; i < n; i++)
        if ((text[i] < ' ' && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7f)
            abort();
    if (ftruncate(STDOUT_FILENO, 0) || lseek(STDOUT_FILENO, 0, SEEK_SET))
        abort();
}

/* The agent, which is never started. */
int install_path_find(char out[PATH_MAX], enum install_part part, struct fault *why)
{
    (void)part, (void)why;
    strcpy(out, "/bin/true");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *const words[][8] = {
        {(char *)"ps", (char *)"-v"},         {(char *)"ps", (char *)"j-1"},
        {(char *)"ps", (char *)"--json"},     {(char *)"kill", (char *)"j-1"},
        {(char *)"clean", (char *)"-q"},      {(char *)"clean", (char *)"--dry-run"},
        {(char *)"hosts", (char *)"--probe"}, {(char *)"info", (char *)"-q"},
        {(char *)"status", (char *)"-q"},     {(char *)"verify", (char *)"--quick"},
    };
    static int (*const runs[])(int argc, char **argv) = {ps_run,     ps_run,    ps_run,    kill_run,
                                                         clean_run,  clean_run, hosts_run, info_run,
                                                         status_run, verify_run};
    char *argv[] = {NULL, (char *)"-H", (char *)"a,b", (char *)"--agent-command=true {host}",
                    NULL, NULL};
    size_t which = size ? data[0] % (sizeof(runs) / sizeof(*runs)) : 0;

    if (size == 0)
        return 0;
    output_catch();
    script_channel_begin(data + 1, size - 1);
    argv[0] = words[which][0];
    argv[4] = words[which][1];
    runs[which](5, argv);
    output_check();
    return 0;
}
