/* SPDX-License-Identifier: MIT */
/*
 * fuzz_batch.c: lines as words of `mlaunch batch`, in which \x1f stands for a newline. In the
 * script that is made, the batch system reads no line behind the head as an option.
 */
#include "launcher/commands/batch/batch_options.h"
#include "launcher/commands/batch/batch_script.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, NEWLINE = 0x1f };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_script(const char *script)
{
    static const char *const marks[] = {"#SBATCH", "#PBS", "#BSUB", "#$"};
    const char *line = script;
    bool is_head = true;

    if (strncmp(script, "#!/", 3) != 0)
        abort();
    while ((line = strchr(line, '\n')) && *++line) {
        is_head = is_head && *line == '#';
        for (size_t i = 0; i < 4 && !is_head; i++)
            if (strncmp(line, marks[i], strlen(marks[i])) == 0)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = text, *word;
    char *argv[WORDS + 1] = {(char *)"batch"}, *script = NULL;
    struct batch_options b;
    struct fault why = {0};
    int argc = 1, rc;

    while ((word = strsep(&rest, "\n"))) {
        if (strstr(word, "config"))
            continue; /* would read any file of this machine */
        for (char *c = word; *c; c++)
            *c = (char)(*c == NEWLINE ? '\n' : *c);
        if (argc < WORDS)
            argv[argc++] = word;
    }
    rc = batch_options_parse(&b, argc, argv, &why);
    if (!rc && !b.help) {
        if (!b.job_name || b.time_s < 0 || b.words.count < 1)
            abort();
        rc = batch_script_make(&script, &b, &why);
        if (!rc)
            check_script(script);
    }
    if (rc && (why.code >= 0 || !why.text[0]))
        abort();
    free(script);
    batch_options_clear(&b);
    free(text);
    return 0;
}
