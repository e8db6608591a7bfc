/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_key.h"

#include "common/text/number.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 2 * AUTH_SECRET };

int uplink_key_create(const char *path, struct fault *why)
{
    uint8_t key[AUTH_SECRET];
    char text[DIGITS + 2];
    int fd, err = 0;

    if (sodium_init() < 0)
        return fault_set(why, ML_ERR_SYSTEM, "the system provides no random numbers");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return fault_set(why, ML_ERR_SYSTEM,
                         "%s is there already; remove it first, if no job needs its key", path);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    randombytes_buf(key, sizeof(key));
    hex_write(text, key, sizeof(key));
    text[DIGITS] = '\n';
    if (write(fd, text, DIGITS + 1) != DIGITS + 1 || fsync(fd))
        err = errno ? errno : EIO;
    if (close(fd) && !err)
        err = errno;
    sodium_memzero(key, sizeof(key));
    sodium_memzero(text, sizeof(text));
    if (!err)
        return 0;
    unlink(path);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot write %s", path);
}

static int text_parse(uint8_t out[AUTH_SECRET], char *text, size_t size)
{
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    text[size] = '\0';
    return hex_parse(text, out, AUTH_SECRET) ? 0 : -1;
}

static int file_parse(uint8_t out[AUTH_SECRET], int fd, const char *path, struct fault *why)
{
    char text[DIGITS + 16];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    int rc = 0;

    if (n < 0)
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot read the key file %s", path);
    else if (text_parse(out, text, (size_t)n))
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "%s is no key file: it has to have %d hexadecimal digits, as "
                       "mlaunch join --key-new writes them",
                       path, DIGITS);
    sodium_memzero(text, sizeof(text));
    return rc;
}

/* A Secret of Kubernetes is root's, and a pod reads it by its group. */
static bool is_for_others(const struct stat *s)
{
    return (s->st_mode & (s->st_uid == geteuid() ? 077 : 027)) != 0;
}

int uplink_key_read(uint8_t out[AUTH_SECRET], const char *path, char **warning, struct fault *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
    struct stat s;

    *warning = NULL;
    if (fd < 0 || fstat(fd, &s)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot read the key file %s", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    rc = S_ISREG(s.st_mode) ? file_parse(out, fd, path, why)
                            : fault_set(why, ML_ERR_ARGUMENT, "%s is no plain file", path);
    close(fd);
    if (!rc && is_for_others(&s) &&
        asprintf(warning,
                 "the key file %s has mode %04o: whoever can read it can join this job (chmod 600, "
                 "or defaultMode of the volume)",
                 path, (unsigned)s.st_mode & 07777) < 0)
        *warning = NULL;
    return rc;
}
