/* SPDX-License-Identifier: MIT */
/* test_container_command.c: the command by which each program of --container runs a rank, and the
 * one by which its containers are removed. */
#include "launcher/base/container/container_command.h"

#include "launcher/base/text/command_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void join(char *const *words, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (; *words; words++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "|" : "", *words);
}

/* What follows the program's verb for podman and docker. */
#define SHARED                                                                                     \
    "--rm|--pid=host|--ipc=host|--network=host|--uts=host|--entrypoint=|"                          \
    "--security-opt=label=disable|--ulimit=nofile=1024:20000|--ulimit=nproc=100:32768|"            \
    "--ulimit=memlock=-1:-1|--label=mlaunch.job=j-1|--name=mlaunch-j-1.0.abc-3|"
#define BWRAP "|--dev-bind|/dev|/dev|--bind|/proc|/proc|--ro-bind|/sys|/sys|--bind|/tmp|/tmp"

static const struct {
    const char *words, *job_dir, *cwd, *devices;
    uid_t user;
    const char *command, *removal;
} cases[] = {
    {"podman run alpine", "/tmp/m/j", "/home/u", NULL, 0,
     "podman|run|" SHARED "--user=0:5|--volume|/tmp/m/j:/tmp/m/j|--volume|/home/u:/home/u|alpine|"
     "entry|3",
     "podman|rm|--force|--ignore|--time=0"},
    {"/opt/podman --root '/a b' run --gpus all -v /d:/d docker.io/x:1", "/tmp/m/j", "/",
     "/dev/infiniband", 7,
     "/opt/podman|--root|/a b|run|" SHARED "--userns=keep-id|--volume|/tmp/m/j:/tmp/m/j|--device|"
     "/dev/infiniband|--gpus|all|-v|/d:/d|docker.io/x:1|entry|3",
     "/opt/podman|--root|/a b|rm|--force|--ignore|--time=0"},
    {"docker run x", "/tmp/m/j", "/usr/src", NULL, 7,
     "docker|run|" SHARED "--user=7:5|--volume|/tmp/m/j:/tmp/m/j|x|entry|3", "docker|rm|--force"},
    {"apptainer exec --nv x.sif", "/tmp/m/j", "/home/u", "/dev/infiniband", 7,
     "apptainer|exec|--bind|/home/u:/home/u|--nv|x.sif|entry|3", ""},
    {"singularity -q exec x.sif", "/scratch/m/j", "/tmp/u", NULL, 7,
     "singularity|-q|exec|--bind|/scratch/m/j:/scratch/m/j|x.sif|entry|3", ""},
    {"ch-run --unset-env=A* /img", "/tmp/m/j", "/home/u", NULL, 7,
     "ch-run|--bind|/home/u:/home/u|--unset-env=A*|/img|--|entry|3", ""},
    {"bwrap --ro-bind /img /", "/scratch/m/j", "/home/u", "/dev/infiniband", 7,
     "bwrap|--ro-bind|/img|/" BWRAP
     "|--bind|/scratch/m/j|/scratch/m/j|--bind|/home/u|/home/u|--|entry|3",
     ""},
    /* The job's directory may be where ranks work, and a name may only begin like another's. */
    {"bwrap --ro-bind /img /", "/tmpdir/j", "/tmpdir/j", NULL, 7,
     "bwrap|--ro-bind|/img|/" BWRAP "|--bind|/tmpdir/j|/tmpdir/j|--|entry|3", ""},
};

static void test_commands(void **state)
{
    static const char *const run[] = {"entry", "3", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct container_mounts mounts = {cases[i].job_dir, cases[i].cwd, cases[i].devices};
        const struct container_identity identity = {.job = "j-1",
                                                    .name = "mlaunch-j-1.0.abc-3",
                                                    .user = cases[i].user,
                                                    .group = 5,
                                                    .files = {1024, 20000},
                                                    .processes = {100, RLIM_INFINITY},
                                                    .locked = {RLIM_INFINITY, RLIM_INFINITY}};
        const struct container_program *p;
        struct string_list words = {0};
        struct fault why = {0};
        char **command = NULL, **removal = NULL, text[2048];

        assert_int_equal(command_words_split(&words, cases[i].words, &why), 0);
        if (container_program_find(&p, words.items, &why) ||
            container_command_create(&command, p, words.items, &mounts, &identity, run, &why) ||
            container_command_removal(&removal, p, words.items, &why))
            fail_msg("%s: %s", cases[i].words, why.text);
        join(command, text, sizeof(text));
        assert_string_equal(text, cases[i].command);
        join(removal, text, sizeof(text));
        assert_string_equal(text, cases[i].removal);
        strings_free(command);
        strings_free(removal);
        string_list_clear(&words);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *words, *text;
    } refused[] = {
        {"nspawn run x", "nspawn is none of the programs"},
        {"sudo podman run x", "sudo is none of the programs"},
        {"podman", "podman lacks the word run: 'podman run IMAGE'"},
        {"podman exec x", "podman lacks the word run"},
        {"podman run", "it names no image: 'podman run IMAGE'"},
        {"ch-run", "it names no image: 'ch-run IMAGE'"},
        {"bwrap", "it names no image: 'bwrap --ro-bind DIR /'"},
        {"podman run --pid=private x", "--pid=private of podman does not fit"},
        {"podman run --network none x", "--network of podman does not fit"},
        {"podman run --name=a x", "--name=a of podman does not fit"},
        {"podman run -it x", "-it of podman does not fit"},
        {"docker run -d x", "-d of docker does not fit"},
        {"bwrap --unshare-all --ro-bind / /", "--unshare-all of bwrap does not fit"},
        {"apptainer exec -C x", "-C of apptainer does not fit"},
        {"ch-run -t x", "-t of ch-run does not fit"},
    };
    static const char *const taken[] = {"podman run --network=host --pid host x",
                                        "podman run --pids-limit=9 x",
                                        "docker run --network host x", "apptainer exec --pwd /a x"};

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct container_program *p;
        struct string_list words = {0};
        struct fault why = {0};

        assert_int_equal(command_words_split(&words, refused[i].words, &why), 0);
        assert_int_equal(container_program_find(&p, words.items, &why), ML_ERR_ARGUMENT);
        if (!strstr(why.text, refused[i].text))
            fail_msg("%s: %s", refused[i].words, why.text);
        string_list_clear(&words);
    }
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        const struct container_program *p;
        struct string_list words = {0};
        struct fault why = {0};

        assert_int_equal(command_words_split(&words, taken[i], &why), 0);
        if (container_program_find(&p, words.items, &why))
            fail_msg("%s: %s", taken[i], why.text);
        string_list_clear(&words);
    }
}

/* Which word is the image, and whether it is a directory that cannot be written. */
static void test_images(void **state)
{
    static const struct {
        const char *words, *image, *directory;
    } images[] = {
        {"podman run -v /usr:/usr /usr", "/usr", NULL},
        {"ch-run -b /a /usr", "/usr", "/usr"},
        {"ch-run -w /usr", "/usr", NULL},
        {"ch-run --write /usr", "/usr", NULL},
        {"ch-run /no/such.sqfs", "/no/such.sqfs", NULL},
        {"bwrap --ro-bind /usr / --bind /a /b", "/usr", "/usr"},
        {"bwrap --bind /usr /", "/usr", NULL},
        {"bwrap --ro-bind / /", "/", NULL},
        {"bwrap --ro-bind /usr /usr", "bwrap", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        const struct container_program *p;
        struct string_list words = {0};
        struct fault why = {0};
        const char *directory;

        assert_int_equal(command_words_split(&words, images[i].words, &why), 0);
        assert_int_equal(container_program_find(&p, words.items, &why), 0);
        assert_string_equal(container_program_image(p, words.items), images[i].image);
        directory = container_program_directory(p, words.items);
        assert_string_equal(directory ? directory : "",
                            images[i].directory ? images[i].directory : "");
        string_list_clear(&words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
