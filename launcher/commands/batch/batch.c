/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/batch.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "launcher/commands/batch/batch_options.h"
#include "launcher/commands/batch/batch_script.h"
#include "launcher/commands/batch/compose_job.h"
#include "launcher/commands/batch/kubernetes_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A script is executable, for systems that run it directly. What has a key is the user's alone. */
static int file_write(const char *path, const char *script, bool has_key, struct fault *why)
{
    FILE *to = fopen(path, "we");
    int err = 0;

    if (!to)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    if (fchmod(fileno(to), has_key ? 0600 : 0755) || fputs(script, to) < 0)
        err = errno;
    if (fclose(to) && !err)
        err = errno;
    return err ? fault_os(why, ML_ERR_SYSTEM, err, "cannot write %s", path) : 0;
}

static int script_submit(const struct batch_options *b, const char *script, struct fault *why)
{
    char *id = NULL;
    int rc = batch_submit(&id, b->system, script, why);

    if (!rc)
        printable_print("%s\n", id);
    free(id);
    return rc;
}

static int script_deliver(const struct batch_options *b, struct fault *why)
{
    char *script = NULL;
    bool has_key = b->system == BATCH_KUBERNETES && b->kind == BATCH_KIND_JOB;
    int rc = has_key                         ? kubernetes_job_make(&script, b, why)
             : b->system == BATCH_KUBERNETES ? compose_job_make(&script, b, why)
                                             : batch_script_make(&script, b, why);

    if (!rc && b->file)
        rc = file_write(b->file, script, has_key, why);
    if (!rc && b->submit)
        rc = script_submit(b, script, why);
    if (!rc && !b->submit && !b->file) {
        if (isatty(STDOUT_FILENO)) /* a file or a pipe gets the script as it is */
            printable_mend(script, "\n\t");
        fputs(script, stdout);
    }
    free(script);
    return rc;
}

int batch_main(int argc, char **argv)
{
    struct batch_options b;
    struct fault why;
    int rc = batch_options_parse(&b, argc, argv, &why);

    if (!rc && b.help)
        batch_options_print_help();
    else if (!rc)
        rc = script_deliver(&b, &why);
    if (rc)
        log_error("%s", why.text);
    batch_options_clear(&b);
    return rc ? STATUS_OURS : 0;
}
