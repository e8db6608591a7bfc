/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_file.h"

#include "launcher/run/stdio/terminal.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Returns 0 or errno. May block until the reader reads, or until the thread is asked to stop
 * (ECANCELED). */
static int descriptor_write(struct output_buffer *b, int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        /* Another program that shares the terminal may have made it non-blocking. */
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        if (n < 0 && side_thread_is_stopping(b->thread))
            return ECANCELED;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            atomic_fetch_add_explicit(&b->written, (size_t)n, memory_order_relaxed);
        }
    }
    return 0;
}

/* Ends lines with "\r\n", as the terminal itself would if it were not in raw mode. */
static int lines_write(struct output_buffer *b, int fd, const char *bytes, size_t size)
{
    int err = 0;

    while (size > 0 && !err) {
        const char *newline = memchr(bytes, '\n', size);
        size_t take = newline ? (size_t)(newline - bytes) : size;

        err = descriptor_write(b, fd, bytes, take);
        if (newline && !err)
            err = descriptor_write(b, fd, "\r\n", 2);
        take += newline != NULL;
        bytes += take;
        size -= take;
    }
    return err;
}

static void file_write(struct output_buffer *b, struct output_file *f, const char *bytes,
                       size_t size)
{
    int err;

    if (size == 0 || f->failed)
        return;
    if (!f->is_verbatim && terminal_is_raw(f->terminal))
        err = lines_write(b, f->fd, bytes, size);
    else
        err = descriptor_write(b, f->fd, bytes, size);
    f->mid_line = bytes[size - 1] != '\n';
    if (err) {
        f->failed = true;
        b->on_failed(err, f, b->arg);
    }
}

void output_file_flush(struct output_buffer *b)
{
    size_t used = b->used;

    b->used = 0;
    if (used)
        file_write(b, b->file, b->bytes, used);
}

void output_file_put_large(struct output_buffer *b, struct output_file *f, const char *bytes,
                           size_t size)
{
    if (b->file != f || size > OUTPUT_BUFFER - b->used)
        output_file_flush(b);
    b->file = f;
    if (size > OUTPUT_BUFFER / 4) {
        output_file_flush(b);
        file_write(b, f, bytes, size); /* without a copy */
    } else {
        memcpy(b->bytes + b->used, bytes, size);
        b->used += size;
    }
}
