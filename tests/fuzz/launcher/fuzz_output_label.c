/* SPDX-License-Identifier: MIT */
/*
 * fuzz_output_label.c: whatever ranks write, in any pieces, no byte of it is lost or doubled. The
 * first byte of the input sets the labels and the kind of file. Then each step is a byte, whose low
 * bits choose the stream and whose high bits what happens to it:
 *   0: it ends    1: it is shown if that is due    2: a long piece without a newline
 *   3 and more: that many of the bytes that follow are written
 */
#include "launcher/run/stdio/output_label.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STREAMS = 4, LONG_PIECE = 300000, LONG_PIECES = 4, PIECE = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct scene {
    struct output_label *label;
    struct output_buffer buffer;
    struct output_file file;
    int64_t at_ns;
    int long_pieces;
    size_t counts[256]; /* how many were written, by byte */
};

static void on_failed(int err, const struct output_file *file, void *arg)
{
    (void)err, (void)file, (void)arg;
    abort();
}

static const uint8_t *long_piece(void)
{
    static uint8_t bytes[LONG_PIECE];

    if (!bytes[0])
        memset(bytes, 'x', sizeof(bytes));
    return bytes;
}

/* Long pieces are most of what is counted, so they are not counted byte by byte. */
static void count(size_t counts[256], const uint8_t *bytes, size_t size)
{
    if (size > PIECE / 2 && memcmp(bytes, long_piece(), size) == 0) {
        counts['x'] += size;
        return;
    }
    for (size_t i = 0; i < size; i++)
        counts[bytes[i]]++;
}

static void put(struct scene *s, int stream, const uint8_t *bytes, size_t size)
{
    count(s->counts, bytes, size);
    output_label_write(s->label, &s->buffer, &s->file, stream, stream / 2, s->at_ns,
                       (const char *)bytes, size);
    s->at_ns += 100 * 1000 * 1000;
}

static void put_long(struct scene *s, int stream)
{
    if (s->long_pieces++ < LONG_PIECES)
        put(s, stream, long_piece(), LONG_PIECE);
}

static void run(struct scene *s, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        int stream = *at % STREAMS;
        size_t what = *at++ / STREAMS;

        if (what == 0) {
            output_label_end(s->label, &s->buffer, &s->file, stream, stream / 2);
        } else if (what == 1) {
            if (output_label_is_due(s->label, &s->file, stream, &(bool){false}))
                output_label_show(s->label, &s->buffer, &s->file, stream, stream / 2);
        } else if (what == 2) {
            put_long(s, stream);
        } else {
            size_t size = what - 2 < (size_t)(end - at) ? what - 2 : (size_t)(end - at);

            put(s, stream, at, size);
            at += size;
        }
    }
    for (int i = 0; i < STREAMS; i++)
        output_label_end(s->label, &s->buffer, &s->file, i, i / 2);
    if (output_label_holds_any(s->label))
        abort();
}

/* Labels consist of digits, "[] .:-+T", and of "… " before the rest of a line; lines may be ended
 * by newlines of their own. */
static bool is_of_labels(int byte)
{
    return byte && strchr("\n0123456789[] .:-+T\xe2\x80\xa6", byte);
}

static void check(struct scene *s)
{
    static uint8_t bytes[PIECE];
    size_t counts[256] = {0};
    off_t at = 0;
    ssize_t n;

    while ((n = pread(s->file.fd, bytes, sizeof(bytes), at)) > 0) {
        count(counts, bytes, (size_t)n);
        at += n;
    }
    for (int i = 0; i < 256; i++)
        if (is_of_labels(i) ? counts[i] < s->counts[i] : counts[i] != s->counts[i])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char bytes[OUTPUT_BUFFER];
    static struct side_thread thread;
    struct scene s = {.buffer = {.bytes = bytes, .thread = &thread, .on_failed = on_failed},
                      .at_ns = 1700000000123456789};
    struct fault why;

    if (fd < 0)
        fd = memfd_create("output", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        abort();
    s.file = (struct output_file){.fd = fd, .name = "memory", .is_terminal = size && data[0] & 4};
    if (size == 0 || output_label_create(&s.label, STREAMS, data[0] & 1, data[0] & 2, &why))
        return 0;
    run(&s, data + 1, data + size);
    output_file_flush(&s.buffer);
    check(&s);
    output_label_destroy(s.label);
    return 0;
}
