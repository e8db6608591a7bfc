/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/received_libraries.h"

#include "launcher/base/loader/libc_need.h"
#include "launcher/base/loader/loader_closure.h"

#include <string.h>

struct library_offer {
    const struct job_spec *job;
    int program; /* index into the job's files */
    bool *is_wanted;
};

static void file_describe(struct elf_file *out, const struct job_copy *f)
{
    *out = (struct elf_file){.run_path = f->run_path, .is_inherited = f->is_inherited};
    for (; f->needed && f->needed[out->count] && out->count < ELF_NEEDED_MOST; out->count++)
        out->needed[out->count] = f->needed[out->count];
}

static bool library_supply(struct elf_file *out, const char *name, void *arg)
{
    const struct library_offer *o = arg;

    for (int i = 0; i < o->job->file_count; i++) {
        const struct job_copy *f = &o->job->files[i];

        if (f->beside == o->program && strcmp(f->name, name) == 0) {
            file_describe(out, f);
            o->is_wanted[i] = true;
            return true;
        }
    }
    return false;
}

static int glibc_check(const struct job_copy *f, struct fault *why)
{
    char own[LIBC_NEED_TEXT];

    libc_need_own(own);
    if (strverscmp(f->glibc, own) <= 0)
        return 0;
    if (!*own)
        return fault_set(why, ML_ERR_REFUSED,
                         "--stage-libs: %s needs glibc, which is never copied, and this host has "
                         "another C library; build it for that library",
                         f->name);
    return fault_set(
        why, ML_ERR_REFUSED,
        "--stage-libs: %s needs glibc %s, and glibc is never copied: this host has %s; "
        "build it on a system with a glibc that is no newer than this",
        f->name, f->glibc, own);
}

int received_libraries_find(bool *is_wanted, const struct job_spec *job, const struct job_app *app,
                            const char *dir, const char *cwd, struct fault *why)
{
    struct library_offer offer = {.job = job, .program = app->file, .is_wanted = is_wanted};
    struct elf_file program;
    struct loader_closure_config config = {
        .program = &program, .origin = dir, .cwd = cwd, .supply = library_supply, .arg = &offer};
    struct loader_closure *closure = NULL;
    int rc;

    if (!job->files[app->file].needed)
        return 0;
    config.library_path = job_spec_variable(job, app, "LD_LIBRARY_PATH");
    file_describe(&program, &job->files[app->file]);
    rc = loader_closure_create(&closure, &config, why);
    loader_closure_destroy(closure);
    if (!rc)
        rc = glibc_check(&job->files[app->file], why);
    for (int i = 0; i < job->file_count && !rc; i++)
        if (is_wanted[i] && job->files[i].beside == app->file)
            rc = glibc_check(&job->files[i], why);
    return rc;
}
