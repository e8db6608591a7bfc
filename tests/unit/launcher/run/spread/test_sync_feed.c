/* SPDX-License-Identifier: MIT */
/* test_sync_feed.c: a file comes to its end in the stream if it is the one that the list describes;
 * else nothing of it is sent, or it is given up at its end. */
#include "launcher/run/spread/sync_feed.h"

#include "common/net/frame.h"
#include "launcher/base/tree/sync_wire.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64];
static struct sync_source source;
static uint8_t out[SYNC_FEED_ROOM];

static void file_write(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", top, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    struct fault why = {0};

    (void)state;
    snprintf(top, sizeof(top), "/tmp/mlaunch-test.XXXXXX");
    assert_non_null(mkdtemp(top));
    file_write("file", "as it is");
    source = (struct sync_source){0};
    assert_int_equal(sync_source_add(&source, top, NULL, &why), 0);
    assert_int_equal(sync_source_scan(&source, NULL, true, &why), 0);
    assert_int_equal(source.list.count, 2);
    return 0;
}

static int teardown(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/file", top);
    unlink(path);
    rmdir(top);
    sync_source_clear(&source);
    return 0;
}

/* Sends the file to a host that lacks it, and returns the types of the frames as text. */
static const char *stream_make(void)
{
    static char types[64];
    uint8_t differs[] = {0, SYNC_IS_MISSING};
    const struct sync_host host = {.state = SYNC_HOST_LOOKED, .differs = differs};
    struct sync_feed *feed = NULL;
    struct fault why = {0};

    types[0] = '\0';
    assert_int_equal(sync_feed_open(&feed, &source, &host, 1, true, &why), 0);
    sync_feed_start_files(feed);
    while (sync_feed_is_busy(feed)) {
        size_t size = sync_feed_make(feed, out);
        struct frame_reader *reader = NULL;
        struct frame f;

        assert_int_equal(frame_reader_create(&reader, SYNC_FRAME_MOST, &why), 0);
        assert_int_equal(frame_reader_feed(reader, out, size, &why), 0);
        while (frame_reader_next(reader, &f, &why) == 1)
            strcat(types, f.type == SYNC_GO          ? "go "
                          : f.type == SYNC_FILE      ? "file "
                          : f.type == SYNC_BLOCK     ? "block "
                          : f.type == SYNC_FILE_END  ? "end "
                          : f.type == SYNC_FILE_LOST ? "lost "
                                                     : ".");
        frame_reader_destroy(reader);
    }
    assert_int_equal(sync_feed_lost(feed), strcmp(types, "go file block end .") != 0);
    sync_feed_close(feed);
    return types;
}

static void test_same(void **state)
{
    (void)state;
    assert_string_equal(stream_make(), "go file block end .");
}

/* Its time says nothing, its contents do. */
static void test_other_hash(void **state)
{
    (void)state;
    source.list.entries[1].hash[0] ^= 1;
    assert_string_equal(stream_make(), "go file block lost .");
}

static void test_other_file(void **state)
{
    (void)state;
    source.seen[1].inode++;
    assert_string_equal(stream_make(), "go .");
    source.seen[1].inode--;
    source.seen[1].device++;
    assert_string_equal(stream_make(), "go .");
    source.seen[1].device--;
    source.seen[1].changed.tv_nsec ^= 1;
    assert_string_equal(stream_make(), "go .");
    source.seen[1].changed.tv_nsec ^= 1;
    assert_string_equal(stream_make(), "go file block end .");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_file, setup, teardown),
    };

    return cmocka_run_group_tests_name("sync_feed", tests, NULL, NULL);
}
