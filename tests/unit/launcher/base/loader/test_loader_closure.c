/* SPDX-License-Identifier: MIT */
/* test_loader_closure.c: what is found for this program is what the loader has loaded for it. */
#include "launcher/base/loader/loader_closure.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LOADED_MOST = 64 };

struct loaded {
    char *paths[LOADED_MOST];
    int count;
};

static int on_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loaded *l = arg;

    (void)size;
    if (info->dlpi_name[0] == '/' && l->count < LOADED_MOST)
        l->paths[l->count++] = realpath(info->dlpi_name, NULL);
    return 0;
}

static bool is_loaded(const struct loaded *l, const char *path)
{
    char *real = realpath(path, NULL);
    bool is = false;

    for (int i = 0; i < l->count && real; i++)
        is |= strcmp(l->paths[i], real) == 0;
    free(real);
    return is;
}

/* "/libc.so.6", or before glibc 2.34 "/libc-2.31.so". */
static bool is_of_glibc(const char *path)
{
    static const char *const names[] = {"/libc",  "/libm",  "/ld",       "/libpthread",
                                        "/libdl", "/librt", "/libresolv"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *at = strstr(path, names[i]);

        if (at && strchr(".-", at[strlen(names[i])]))
            return true;
    }
    return false;
}

static void finds_what_the_loader_found(void **state)
{
    struct loader_closure_config config = {.origin = "/nowhere", .cwd = "/"};
    const char *library_path = getenv("LD_LIBRARY_PATH");
    const struct loader_library *library;
    struct loader_closure *closure = NULL;
    struct loaded loaded = {.count = 0};
    struct elf_file program;
    struct fault why;
    int found = 0, expected = 0;

    (void)state;
    config.library_path = library_path ? library_path : "";
    config.program = &program;
    dl_iterate_phdr(on_loaded, &loaded);
    assert_true(elf_file_open(&program, "/proc/self/exe"));
    assert_int_equal(loader_closure_create(&closure, &config, &why), 0);
    for (; (library = loader_closure_get(closure, found)); found++) {
        assert_non_null(library->path);
        assert_false(is_of_glibc(library->path));
        assert_true(is_loaded(&loaded, library->path));
    }
    for (int i = 0; i < loaded.count; i++) {
        expected += !is_of_glibc(loaded.paths[i]);
        free(loaded.paths[i]);
    }
    if (!getenv("LD_PRELOAD")) /* which loads what the program does not need */
        assert_int_equal(found, expected);
    assert_true(found > 0); /* cmocka's at least */
    loader_closure_destroy(closure);
    elf_file_close(&program);
}

/* Two libraries that nothing finds and that need each other: the second is supplied. */
static bool supply(struct elf_file *out, const char *name, void *arg)
{
    ++*(int *)arg;
    *out =
        (struct elf_file){.count = 2, .needed = {"libnone-1.so", "libnone-2.so"}, .run_path = ""};
    return strcmp(name, "libnone-2.so") == 0;
}

static void asks_for_what_is_missing(void **state)
{
    struct elf_file program = {
        .count = 3, .needed = {"libnone-1.so", "libnone-2.so", "libc.so.6"}, .run_path = "$ORIGIN"};
    int asked = 0;
    struct loader_closure_config config = {.program = &program,
                                           .origin = "/nowhere",
                                           .library_path = "::/nowhere;$ORIGIN",
                                           .cwd = "/nowhere",
                                           .supply = supply,
                                           .arg = &asked};
    struct loader_closure *closure = NULL;
    struct fault why;

    (void)state;
    assert_int_equal(loader_closure_create(&closure, &config, &why), 0);
    assert_int_equal(asked, 2);
    assert_string_equal(loader_closure_get(closure, 0)->name, "libnone-1.so");
    assert_null(loader_closure_get(closure, 0)->file);
    assert_null(loader_closure_get(closure, 1)->path);
    assert_non_null(loader_closure_get(closure, 1)->file);
    assert_null(loader_closure_get(closure, 1)->needed_by);
    assert_null(loader_closure_get(closure, 2));
    loader_closure_destroy(closure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_the_loader_found),
        cmocka_unit_test(asks_for_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
