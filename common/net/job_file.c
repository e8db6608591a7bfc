/* SPDX-License-Identifier: MIT */
#include "common/net/job_file.h"

#include "common/text/number.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/fs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_LIMIT = 65536, SECRET_TEXT = 2 * AUTH_SECRET + 1 };

enum job_file_kind { TEXT, INT, BOOL, WIDE }; /* char[], int, bool, int64_t or uint64_t */

struct job_file_member {
    const char *name;
    enum job_file_kind kind;
    size_t offset, size;
};

#define MEMBER(field, kind)                                                                        \
    {                                                                                              \
#field, kind, offsetof(struct job_file, field), sizeof(((struct job_file *)NULL)->field)   \
    }

static const struct job_file_member members[] = {
    MEMBER(job, TEXT),
    MEMBER(name, TEXT),
    MEMBER(host, TEXT),
    MEMBER(host_rank, INT),
    MEMBER(hosts, INT),
    MEMBER(size, INT),
    MEMBER(backend, TEXT),
    MEMBER(local_net, BOOL),
    MEMBER(secure, BOOL),
    MEMBER(elastic, BOOL),
    MEMBER(restart, INT),
    MEMBER(coordinator, TEXT),
    MEMBER(keeper, TEXT),
    MEMBER(bind_ip, TEXT),
    MEMBER(starting_port, INT),
    MEMBER(init_timeout_ms, INT),
    MEMBER(stall_ms, INT),
    MEMBER(agent_pid, WIDE),
    MEMBER(agent_start_time, WIDE),
    MEMBER(guard_pid, WIDE),
    MEMBER(guard_start_time, WIDE),
    MEMBER(pid_namespace, WIDE),
    MEMBER(boot, TEXT),
    MEMBER(node, TEXT),
    MEMBER(grace_ms, INT),
    MEMBER(command, TEXT),
    MEMBER(started_at, WIDE),
};
enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

bool job_file_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] = "0123456789._-";
    size_t length = strlen(name);

    if (length == 0 || length >= JOB_NAME || !strchr(letters, name[0]))
        return false;
    for (; *name; name++) {
        if (!strchr(letters, *name) && !strchr(others, *name))
            return false;
    }
    return true;
}

static json_t *get_member(const struct job_file *j, const struct job_file_member *m)
{
    const char *at = (const char *)j + m->offset;
    int64_t wide;
    int number;

    switch (m->kind) {
    case TEXT:
        return text_json(at);
    case INT:
        memcpy(&number, at, sizeof(number));
        return json_integer(number);
    case BOOL:
        return json_boolean(*(const bool *)at);
    case WIDE:
        memcpy(&wide, at, sizeof(wide));
        return json_integer(wide);
    }
    return NULL;
}

static bool set_member(struct job_file *j, const struct job_file_member *m, const json_t *value)
{
    char *at = (char *)j + m->offset;
    int64_t wide = json_integer_value(value);
    int number = (int)wide;

    switch (m->kind) {
    case TEXT:
        if (!json_is_string(value) || json_string_length(value) >= m->size)
            return false;
        memcpy(at, json_string_value(value), json_string_length(value) + 1);
        return true;
    case INT:
        if (!json_is_integer(value) || wide < 0 || wide > INT_MAX)
            return false;
        memcpy(at, &number, sizeof(number));
        return true;
    case BOOL:
        if (!json_is_boolean(value))
            return false;
        *(bool *)at = json_is_true(value);
        return true;
    case WIDE:
        if (!json_is_integer(value) || wide < 0)
            return false;
        memcpy(at, &wide, sizeof(wide));
        return true;
    }
    return false;
}

static int make_path(char out[PATH_MAX], const char *dir, const char *name, struct fault *why)
{
    int size = snprintf(out, PATH_MAX, "%s/%s", dir, name);

    if (size < 0 || size >= PATH_MAX)
        return fault_set(why, ML_ERR_SYSTEM, "the path of the job directory is too long");
    return 0;
}

/* By number: musl knows the call since 1.2.6 only. */
static int rename_with(const char *from, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

/* The file gets its name last, so that it is never seen incomplete. */
int job_file_put(const char *dir, const char *name, const char *text, struct fault *why)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    size_t size = strlen(text), done = 0;
    int fd, rc;

    rc = make_path(path, dir, name, why);
    if (rc)
        return rc;
    if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary))
        return fault_set(why, ML_ERR_SYSTEM, "the path of the job directory is too long");
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %.200s", temporary);
    while (done < size) {
        ssize_t n = write(fd, text + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %.200s", temporary);
            break;
        }
        done += (size_t)n;
    }
    close(fd);
    if (!rc && rename_with(temporary, path, RENAME_NOREPLACE) == 0)
        return 0;
    /* An older file is exchanged, not replaced: ext4 takes replacing as a request to write to the
     * disk at once, and the end of the job would wait for that when it removes the file. */
    if (!rc && rename_with(temporary, path, RENAME_EXCHANGE) && rename(temporary, path))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %.200s", path);
    unlink(temporary);
    return rc;
}

/* Reads at most `limit` - 1 bytes and terminates them. Closes `fd`. */
static int read_all(int fd, const char *path, char *out, size_t limit, struct fault *why)
{
    size_t size = 0;
    ssize_t n = 1;
    int rc = 0;

    while (size < limit && n != 0) {
        n = read(fd, out + size, limit - size);
        if (n < 0 && errno != EINTR) {
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %.200s", path);
            break;
        }
        if (n > 0)
            size += (size_t)n;
    }
    close(fd);
    if (rc)
        return rc;
    if (size == limit)
        return fault_set(why, ML_ERR_SYSTEM, "%.200s is too long", path);
    out[size] = '\0';
    return 0;
}

/* Sets *size if the file is a regular one; closes it otherwise. */
static int size_find(size_t *size, int fd, const char *path, struct fault *why)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (size_t)st.st_size;
        return 0;
    }
    close(fd);
    return fault_set(why, ML_ERR_SYSTEM, "%.200s is not a plain file", path);
}

static int file_open(int *fd, char path[PATH_MAX], const char *dir, const char *name,
                     struct fault *why)
{
    int rc = make_path(path, dir, name, why);

    if (rc)
        return rc;
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return *fd < 0 ? fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %.200s", path) : 0;
}

json_t *job_file_object(const struct job_file *j)
{
    json_t *object = json_object();

    for (int i = 0; i < MEMBERS; i++) {
        if (json_object_set_new(object, members[i].name, get_member(j, &members[i]))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

int job_file_write(const char *dir, const struct job_file *j, const uint8_t secret[AUTH_SECRET],
                   struct fault *why)
{
    char text[SECRET_TEXT];
    json_t *object = job_file_object(j);
    char *dump = NULL;
    int rc;

    hex_write(text, secret, AUTH_SECRET);
    if (json_object_set_new(object, "secret", json_string(text)) == 0)
        dump = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (dump)
        rc = job_file_put(dir, "job.json", dump, why);
    else
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (dump)
        explicit_bzero(dump, strlen(dump));
    explicit_bzero(text, sizeof(text));
    free(dump);
    return rc;
}

int job_file_take(const char *name, const json_t *object, struct job_file *out, struct fault *why)
{
    struct job_file j = {0};

    for (int i = 0; i < MEMBERS; i++) {
        const json_t *value = json_object_get(object, members[i].name);

        if (!value && strcmp(members[i].name, "name") == 0)
            continue; /* builds before there were names */
        if (!set_member(&j, &members[i], value))
            return fault_set(why, ML_ERR_SYSTEM, "%.220s: \"%s\" is missing or malformed", name,
                             members[i].name);
    }
    *out = j;
    return 0;
}

int job_file_parse(const char *name, const char *text, struct job_file *out, struct fault *why)
{
    json_error_t error;
    json_t *object = parsed_json(text, strlen(text), 0, &error);
    int rc;

    if (json_is_object(object))
        rc = job_file_take(name, object, out, why);
    else
        rc = fault_set(why, ML_ERR_SYSTEM, "%.220s is malformed: %s", name,
                       object ? "not an object" : error.text);
    json_decref(object);
    return rc;
}

int job_file_json(json_t **out, const char *dir, const char *name, size_t limit, struct fault *why)
{
    char path[PATH_MAX], *text = NULL;
    json_error_t error;
    size_t size = 0;
    int fd, rc = file_open(&fd, path, dir, name, why);

    if (rc)
        return rc;
    rc = size_find(&size, fd, path, why);
    if (rc)
        return rc;
    if (size <= limit)
        text = malloc(size + 2); /* room for a byte that it must not have, and for the zero */
    if (!text) {
        close(fd);
        return size <= limit ? fault_set(why, ML_ERR_MEMORY, "out of memory")
                             : fault_set(why, ML_ERR_SYSTEM, "%.200s is too long", path);
    }
    rc = read_all(fd, path, text, size + 2, why);
    if (!rc)
        *out = parsed_json(text, strlen(text), 0, &error);
    free(text);
    if (!rc && !*out)
        rc = fault_set(why, ML_ERR_SYSTEM, "%.200s is malformed: %s", path, error.text);
    return rc;
}

int job_file_read(const char *dir, struct job_file *out, uint8_t secret[AUTH_SECRET],
                  struct fault *why)
{
    uint8_t bytes[AUTH_SECRET];
    json_t *object = NULL;
    const char *hex;
    struct job_file j;
    char name[256];
    int rc = job_file_json(&object, dir, "job.json", FILE_LIMIT, why);

    if (rc)
        return rc;
    snprintf(name, sizeof(name), "%.200s/job.json", dir);
    rc = job_file_take(name, object, &j, why);
    hex = json_string_value(json_object_get(object, "secret"));
    if (!rc && (!hex || !hex_parse(hex, bytes, AUTH_SECRET)))
        rc = fault_set(why, ML_ERR_SYSTEM, "%.220s: \"secret\" is missing or malformed", name);
    json_decref(object);
    if (!rc) {
        *out = j;
        memcpy(secret, bytes, AUTH_SECRET);
    }
    explicit_bzero(bytes, sizeof(bytes));
    return rc;
}

int job_file_look(int dir_fd, struct job_file *out, struct fault *why)
{
    int fd = openat(dir_fd, "job.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    size_t size;
    char *text;
    int rc;

    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read its job.json");
    rc = size_find(&size, fd, "its job.json", why);
    if (rc)
        return rc;
    text = malloc(FILE_LIMIT);
    if (!text) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    rc = read_all(fd, "its job.json", text, FILE_LIMIT, why);
    if (!rc)
        rc = job_file_parse("its job.json", text, out, why);
    free(text);
    return rc;
}
