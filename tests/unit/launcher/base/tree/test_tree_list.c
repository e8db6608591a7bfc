/* SPDX-License-Identifier: MIT */
/* test_tree_list.c: entries are the same after they were packed, and nothing enters a list that
 * could lead out of its directory. */
#include "launcher/base/tree/tree_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char none[] = "", root[] = "in", inner[] = "in/d";

static struct tree_entry entry(enum tree_kind kind, char *path)
{
    return (struct tree_entry){
        .kind = kind, .path = path, .target = kind == TREE_LINK ? root : none, .mode = 0644};
}

static int add(struct tree_list *l, enum tree_kind kind, const char *path)
{
    char copy[TREE_PATH_MOST + 300];
    struct tree_entry e = entry(kind, copy);
    struct fault why = {0};
    int rc;

    snprintf(copy, sizeof(copy), "%s", path);
    rc = tree_list_add(l, &e, 1, &why);
    assert_int_equal(rc, why.code);
    assert_true(!rc || why.text[0]);
    return rc;
}

static void test_packed(void **state)
{
    char path[] = "in/a \n\xff", target[] = "/etc/../passwd";
    struct tree_entry e = {.kind = TREE_LINK,
                           .is_sparse = true,
                           .has_hash = true,
                           .root = 2,
                           .mode = 07777,
                           .seconds = -5,
                           .nanoseconds = 999999999,
                           .size = 1ULL << 60,
                           .path = path,
                           .target = target,
                           .hash = {1, 2, 3}};
    struct tree_list l = {0};
    struct fault why = {0};
    uint8_t packed[TREE_PACKED_MOST];
    size_t size = tree_list_pack(&e, packed), used = 0;
    const struct tree_entry *got;

    (void)state;
    assert_int_equal(tree_list_unpack(&l, packed, size, &used, 3, &why), ML_ERR_REFUSED);
    e.path = root; /* needs no directory */
    size = tree_list_pack(&e, packed);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(tree_list_unpack(&l, packed, i, &used, 3, &why), ML_ERR_REFUSED);
    assert_int_equal(tree_list_unpack(&l, packed, size, &used, 2, &why), ML_ERR_REFUSED);
    assert_int_equal(tree_list_unpack(&l, packed, size, &used, 3, &why), 0);
    assert_int_equal(used, size);
    got = &l.entries[0];
    assert_int_equal(got->kind, TREE_LINK);
    assert_true(got->is_sparse && got->has_hash);
    assert_int_equal(got->root, 2);
    assert_int_equal(got->mode, 07777);
    assert_true(got->seconds == -5 && got->nanoseconds == 999999999 && got->size == 1ULL << 60);
    assert_string_equal(got->path, root);
    assert_string_equal(got->target, target);
    assert_memory_equal(got->hash, e.hash, TREE_HASH);
    tree_list_clear(&l);
}

static void test_paths(void **state)
{
    static const char *const refused[] = {
        "",        "/",    "/in",    "in/",   "in//a",  ".",        "..",  "../in",  "in/..",
        "in/../a", "in/.", "in/./a", "out/a", "in/x/a", "in/d/e/f", "i/a", "in/da/b"};
    char name[TREE_NAME_MOST + 5] = "in/";
    struct tree_list l = {0};

    (void)state;
    assert_int_equal(add(&l, TREE_FILE, "in/a"), ML_ERR_REFUSED);
    assert_int_equal(add(&l, TREE_DIRECTORY, root), 0);
    assert_int_equal(add(&l, TREE_DIRECTORY, inner), 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        assert_int_equal(add(&l, TREE_FILE, refused[i]), ML_ERR_REFUSED);
    memset(name + 3, 'x', TREE_NAME_MOST);
    assert_int_equal(add(&l, TREE_FILE, name), 0);
    name[TREE_NAME_MOST + 3] = 'x';
    name[TREE_NAME_MOST + 4] = '\0';
    assert_int_equal(add(&l, TREE_FILE, name), ML_ERR_REFUSED);
    assert_int_equal(add(&l, TREE_FILE, "in/d/a"), 0);
    assert_int_equal(add(&l, TREE_FILE, "in/..."), 0);
    assert_int_equal(add(&l, TREE_DIRECTORY, "other"), 0);
    assert_int_equal(add(&l, TREE_FILE, "in/late"), ML_ERR_REFUSED);
    /* A directory of this root is none of another. */
    {
        char path[] = "other/a";
        struct tree_entry e = entry(TREE_FILE, path);

        e.root = 1;
        assert_int_equal(tree_list_add(&l, &e, 2, NULL), ML_ERR_REFUSED);
    }
    tree_list_clear(&l);
}

static void test_members(void **state)
{
    struct tree_list l = {0};
    struct tree_entry e;

    (void)state;
    assert_int_equal(add(&l, TREE_DIRECTORY, root), 0);
    e = entry(TREE_OTHER_NAME, inner); /* another name for a directory */
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e.first = 1; /* another name for itself */
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    assert_int_equal(add(&l, TREE_FILE, "in/a"), 0);
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), 0);
    e = entry(TREE_LINK, inner);
    e.target = none;
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e = entry(TREE_FILE, inner);
    e.target = root;
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e = entry(TREE_FILE, inner);
    e.mode = 010000;
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e = entry(TREE_FILE, inner);
    e.nanoseconds = 1000000000;
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e = entry(TREE_FILE, inner);
    e.size = UINT64_MAX;
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    e = entry(TREE_OTHER_NAME + 1, inner);
    assert_int_equal(tree_list_add(&l, &e, 1, NULL), ML_ERR_REFUSED);
    assert_int_equal(l.count, 3);
    tree_list_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed), cmocka_unit_test(test_paths),
                                       cmocka_unit_test(test_members)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
