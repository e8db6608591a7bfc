/* SPDX-License-Identifier: MIT */
/* test_tree_removal.c: a tree is removed whatever its depth and modes are; links, mounts, other
 * users' names and a race for names lead nowhere else. */
#include "launcher/base/machine/tree_removal_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 200, ROUNDS = 30, PAIRS = 16, DEEP = 400, STRANGER = 12345 };

static char base[] = "/tmp/mlaunch-unit.XXXXXX";

static const char *path_in(char out[PATH_MAX], const char *directory, const char *name)
{
    int size = snprintf(out, PATH_MAX, "%s/%s", directory, name);

    assert_in_range(size, 1, PATH_MAX - 1);
    return out;
}

static void file_make(const char *directory, const char *name)
{
    char path[PATH_MAX];
    int fd = open(path_in(path, directory, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static void directory_make(char out[PATH_MAX], const char *above, const char *name)
{
    assert_int_equal(mkdir(path_in(out, above, name), 0700), 0);
}

static bool is_there(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    return lstat(path_in(path, directory, name), &st) == 0;
}

static void removes_a_tree_that_is_locked_against_its_owner(void **state)
{
    char top[PATH_MAX], inner[PATH_MAX], path[PATH_MAX], other[PATH_MAX];

    (void)state;
    directory_make(other, base, "other");
    file_make(other, "file");
    directory_make(top, base, "top");
    directory_make(inner, top, "inner");
    file_make(inner, "file");
    assert_int_equal(symlink(other, path_in(path, inner, "link")), 0);
    assert_int_equal(mkfifo(path_in(path, inner, "fifo"), 0600), 0);
    assert_int_equal(chmod(inner, 0), 0);
    assert_int_equal(chmod(top, 0500), 0);
    assert_true(tree_removal_run_path(top));
    assert_false(is_there(base, "top"));
    assert_true(is_there(other, "file"));
    assert_true(tree_removal_run_path(other));
}

static void removes_what_lies_deeper_than_it_may_open(void **state)
{
    char top[PATH_MAX];
    int fd;

    (void)state;
    directory_make(top, base, "top");
    fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEEP; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "with-a-name-that-makes-the-path-too-long", 0700), 0);
        next = openat(fd, "with-a-name-that-makes-the-path-too-long",
                      O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    close(fd);
    assert_true(tree_removal_run_path(top));
    assert_false(is_there(base, "top"));
}

static void empties_a_directory_but_for_one_name(void **state)
{
    char top[PATH_MAX], inner[PATH_MAX];

    (void)state;
    directory_make(top, base, "top");
    directory_make(inner, top, "inner");
    file_make(inner, "spared");
    file_make(top, "spared");
    file_make(top, "file");
    assert_true(tree_removal_empty(top, "spared"));
    assert_true(is_there(top, "spared"));
    assert_false(is_there(top, "file"));
    assert_false(is_there(top, "inner"));
    assert_true(tree_removal_run_path(top));
}

static void leaves_what_a_link_leads_to(void **state)
{
    char top[PATH_MAX], link[PATH_MAX];

    (void)state;
    directory_make(top, base, "top");
    file_make(top, "file");
    assert_int_equal(symlink(top, path_in(link, base, "link")), 0);
    assert_false(tree_removal_empty(link, "none"));
    assert_true(is_there(top, "file"));
    assert_true(tree_removal_run_path(link));
    assert_true(is_there(top, "file"));
    assert_true(tree_removal_run_path(top));
}

static void leaves_what_another_user_has_made(void **state)
{
    char top[PATH_MAX], inner[PATH_MAX], file[PATH_MAX];

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give a directory away */
    directory_make(top, base, "top");
    directory_make(inner, top, "inner");
    file_make(inner, "file");
    assert_int_equal(chown(top, STRANGER, 0), 0);
    assert_false(tree_removal_run_path(top));
    assert_int_equal(errno, EPERM);
    assert_true(is_there(inner, "file"));

    /* In a directory of one's own, a stranger's is removed with what is that stranger's. */
    assert_int_equal(chown(top, 0, 0), 0);
    file_make(inner, "roots");
    assert_int_equal(chown(path_in(file, inner, "file"), STRANGER, 0), 0);
    assert_int_equal(chown(inner, STRANGER, 0), 0);
    assert_false(tree_removal_run_path(top));
    assert_false(is_there(inner, "file"));
    assert_true(is_there(inner, "roots"));
    assert_int_equal(chown(inner, 0, 0), 0);
    assert_true(tree_removal_run_path(top));
}

/* --- mounts ----------------------------------------------------------------------------------- */

/* Lets openat2 fail as it does before Linux 5.6. */
static int openat2_forbid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum { LEFT_ALONE, NO_NAMESPACE, WENT_WRONG };

/* In a namespace of its own, as a rank's container has one. `where` is the directory that a mount
 * covers, the tree itself or one in it. */
static int mounted_tree_remove(const char *top, const char *where, const char *data, bool is_old)
{
    if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return NO_NAMESPACE;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(data, where, NULL, MS_BIND, NULL) || (is_old && openat2_forbid()))
        return NO_NAMESPACE;
    if (tree_removal_empty(top, "none") || tree_removal_run_path(top) || errno != EBUSY)
        return WENT_WRONG;
    return is_there(data, "file") && !is_there(top, "beside") ? LEFT_ALONE : WENT_WRONG;
}

static void mount_is_left_alone(bool is_on_top, bool is_old)
{
    char data[PATH_MAX], top[PATH_MAX], inner[PATH_MAX], cover[PATH_MAX];
    int status;
    pid_t child;

    directory_make(data, base, "data");
    file_make(data, "file");
    directory_make(top, base, "top");
    file_make(top, "beside");
    directory_make(inner, top, "inner");
    directory_make(cover, inner, "cover");
    child = fork();
    if (child == 0)
        _exit(mounted_tree_remove(top, is_on_top ? top : cover, data, is_old));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(is_there(data, "file"));
    assert_true(tree_removal_run_path(top));
    assert_true(tree_removal_run_path(data));
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    assert_int_equal(WEXITSTATUS(status), LEFT_ALONE);
}

static void leaves_what_is_mounted_in_a_tree(void **state)
{
    (void)state;
    mount_is_left_alone(false, false);
}

static void leaves_what_is_mounted_on_a_tree(void **state)
{
    (void)state;
    mount_is_left_alone(true, false);
}

static void leaves_mounts_alone_without_openat2(void **state)
{
    (void)state;
    mount_is_left_alone(false, true);
    mount_is_left_alone(true, true);
}

/* --- a race ----------------------------------------------------------------------------------- */

struct exchange {
    int fd; /* has directories "d.N" and links "l.N", which change their names all the time */
    atomic_bool is_over;
};

static void *exchange_run(void *arg)
{
    struct exchange *x = arg;

    while (!x->is_over) {
        for (int i = 0; i < PAIRS; i++) {
            char a[16], b[16];

            snprintf(a, sizeof(a), "d.%d", i);
            snprintf(b, sizeof(b), "l.%d", i);
            syscall(SYS_renameat2, x->fd, a, x->fd, b, RENAME_EXCHANGE);
        }
    }
    return NULL;
}

static void pairs_make(const char *top, const char *victim)
{
    for (int i = 0; i < PAIRS; i++) {
        char name[16], inner[PATH_MAX], link[PATH_MAX];

        snprintf(name, sizeof(name), "d.%d", i);
        directory_make(inner, top, name);
        file_make(inner, "file");
        snprintf(name, sizeof(name), "l.%d", i);
        assert_int_equal(symlink(victim, path_in(link, top, name)), 0);
    }
}

static void is_not_led_away_by_who_exchanges_names(void **state)
{
    char victim[PATH_MAX], top[PATH_MAX], name[16];

    (void)state;
    directory_make(victim, base, "victim");
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        file_make(victim, name);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct exchange x = {0};
        pthread_t thread;

        directory_make(top, base, "top");
        pairs_make(top, victim);
        x.fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(x.fd >= 0);
        assert_int_equal(pthread_create(&thread, NULL, exchange_run, &x), 0);
        tree_removal_run_path(top);
        x.is_over = true;
        pthread_join(thread, NULL);
        close(x.fd);
        assert_true(tree_removal_run_path(top));
    }
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_true(is_there(victim, name));
    }
    assert_true(tree_removal_run_path(victim));
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(base); /* empty: nothing is left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removes_a_tree_that_is_locked_against_its_owner),
        cmocka_unit_test(removes_what_lies_deeper_than_it_may_open),
        cmocka_unit_test(empties_a_directory_but_for_one_name),
        cmocka_unit_test(leaves_what_a_link_leads_to),
        cmocka_unit_test(leaves_what_another_user_has_made),
        cmocka_unit_test(leaves_what_is_mounted_in_a_tree),
        cmocka_unit_test(leaves_what_is_mounted_on_a_tree),
        cmocka_unit_test(leaves_mounts_alone_without_openat2),
        cmocka_unit_test(is_not_led_away_by_who_exchanges_names),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
