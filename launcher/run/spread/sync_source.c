/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/sync_source.h"

#include "common/log.h"
#include "common/text/utf8.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/base/tree/tree_exclude.h"
#include "launcher/base/tree/tree_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of several names. */
struct source_name {
    dev_t device;
    ino_t inode;
    uint32_t index;
};

struct scan {
    struct sync_source *source;
    char *const *exclude;
    bool is_hashed;
    uint8_t *block;
    void *named; /* tree of tsearch() */
    uint16_t root;
    /* The entry that is looked at. There is one of each, since a path in each call of
     * directory_scan() would be more than the stack holds in a deep tree. */
    char path[TREE_PATH_MOST + 1 + sizeof(((struct dirent *)0)->d_name)];
    char target[TREE_PATH_MOST + 1];
};

/* The working directory as the shell calls it, which may go through links that all hosts have. */
static bool directory_here(char out[PATH_MAX])
{
    const char *shell = getenv("PWD");
    struct stat a, b;

    if (shell && shell[0] == '/' && strlen(shell) < PATH_MAX && stat(shell, &a) == 0 &&
        stat(".", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
        snprintf(out, PATH_MAX, "%s", shell);
        return true;
    }
    return getcwd(out, PATH_MAX) != NULL;
}

/* Makes `path` absolute and plain. */
static int path_settle(char out[PATH_MAX], const char *path, struct fault *why)
{
    char here[PATH_MAX] = "", real[PATH_MAX];
    size_t size = strlen(path);
    bool has_parents;

    if (size == 0 || size >= PATH_MAX || !utf8_is_valid(path))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch sync: a PATH is UTF-8 text of at most %d bytes", PATH_MAX - 1);
    if (path[0] != '/' && !directory_here(here))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot find the working directory");
    if ((size_t)snprintf(out, PATH_MAX, "%s/%s", here, path) >= PATH_MAX)
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch sync: %s is too long", path);
    has_parents = tree_path_tidy(out);
    /* A link is copied as a link, unless a slash says that what it leads to is meant. */
    if (out[0] && (has_parents || path[size - 1] == '/')) {
        if (!realpath(out, real))
            return fault_os(why, ML_ERR_ARGUMENT, errno, "mlaunch sync: cannot read %s", path);
        if (has_parents)
            snprintf(out, PATH_MAX, "%s", real);
        else if (strcmp(strrchr(out, '/'), strrchr(real, '/')) != 0)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "mlaunch sync: %s is a symbolic link to %s: name that, or leave out "
                             "the last slash to copy the link",
                             path, real);
    }
    if (!out[0])
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch sync: / cannot be copied as a whole: name what is in it");
    return 0;
}

int sync_source_add(struct sync_source *s, const char *path, const char *to, struct fault *why)
{
    char full[PATH_MAX], *slash;
    struct sync_path *more, *p;
    struct stat st;
    int rc = path_settle(full, path, why);

    if (rc)
        return rc;
    if (lstat(full, &st)) {
        const char *colon = strchr(path, ':');

        if (errno == ENOENT && colon && colon > path &&
            memchr(path, '/', (size_t)(colon - path)) == NULL)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "mlaunch sync: there is no %s here; a host is named with -H %.*s, the "
                             "place there with --to %s",
                             path, (int)(colon - path), path, colon[1] ? colon + 1 : "DIR");
        return fault_os(why, ML_ERR_ARGUMENT, errno, "mlaunch sync: cannot read %s", full);
    }
    more = realloc(s->paths, ((size_t)s->count + 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->paths = more;
    p = &s->paths[s->count];
    *p = (struct sync_path){.fd = -1};
    slash = strrchr(full, '/');
    rc = string_copy(&p->name, slash + 1, why);
    *slash = '\0';
    if (!rc)
        rc = string_copy(&p->directory, full[0] ? full : "/", why);
    p->target = to ? to : p->directory;
    s->count++;
    for (int i = 0; i < s->count - 1 && !rc; i++)
        if (strcmp(s->paths[i].name, p->name) == 0 && strcmp(s->paths[i].target, p->target) == 0)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "mlaunch sync: two PATHs would both become %s in %s on the hosts",
                           p->name, p->target);
    return rc;
}

void sync_source_clear(struct sync_source *s)
{
    for (int i = 0; i < s->count; i++) {
        free(s->paths[i].directory);
        free(s->paths[i].name);
        if (s->paths[i].fd >= 0)
            close(s->paths[i].fd);
    }
    free(s->paths);
    free(s->seen);
    tree_list_clear(&s->list);
    sodium_memzero(s->key, sizeof(s->key));
}

void sync_source_show(const struct sync_source *s, int path, const char *below, bool is_there,
                      char *out, size_t size)
{
    const char *directory = is_there ? s->paths[path].target : s->paths[path].directory;

    snprintf(out, size, "%s%s%s", directory, strcmp(directory, "/") == 0 ? "" : "/", below);
}

int sync_source_open(const struct sync_source *s, struct tree_place *place, uint32_t index)
{
    const struct tree_entry *e = &s->list.entries[index];
    int root = s->paths[e->root].fd, directory, fd = -1;
    const char *name;

    if (place->root != root) {
        tree_place_close(place);
        tree_place_open(place, root);
    }
    directory = tree_place_go(place, e->path, &name);
    if (directory >= 0)
        fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        errno = 0;
    return fd;
}

static bool is_seen(const struct sync_seen *seen, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == seen->device && st->st_ino == seen->inode &&
           st->st_ctim.tv_sec == seen->changed.tv_sec &&
           st->st_ctim.tv_nsec == seen->changed.tv_nsec;
}

bool sync_source_is_unchanged(const struct sync_source *s, uint32_t index, int fd)
{
    const struct tree_entry *e = &s->list.entries[index];
    struct stat st;

    /* Size and time as well, since the hosts will have those of the list. */
    return fstat(fd, &st) == 0 && is_seen(&s->seen[index], &st) &&
           (uint64_t)st.st_size == e->size && st.st_mtim.tv_sec == e->seconds &&
           st.st_mtim.tv_nsec == (long)e->nanoseconds;
}

static int named_compare(const void *a, const void *b)
{
    const struct source_name *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

/* Finds the first name of a file that has several, or remembers this one as the first. */
static int named_find(struct scan *s, const struct stat *st, struct tree_entry *e,
                      struct fault *why)
{
    struct source_name key = {st->st_dev, st->st_ino, s->source->list.count}, *copy, *const * found;

    if (st->st_nlink < 2)
        return 0;
    found = tfind(&key, &s->named, named_compare);
    if (found && s->source->list.entries[(*found)->index].root == e->root) {
        e->kind = TREE_OTHER_NAME;
        e->first = (*found)->index;
    }
    copy = found ? NULL : malloc(sizeof(*copy));
    if (found)
        return 0;
    if (copy)
        *copy = key;
    if (!copy || !tsearch(copy, &s->named, named_compare)) {
        free(copy);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    return 0;
}

static int file_hash(struct scan *s, int fd, const char *name, const struct sync_seen *seen,
                     struct tree_entry *e)
{
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int err = file < 0 ? errno : 0;
    struct tree_hash h;
    struct stat st;

    e->has_hash = true;
    if (file >= 0 && (fstat(file, &st) || !is_seen(seen, &st))) {
        /* Another file has the name by now. It is not read, and is found changed later on, since
         * no contents have this hash. */
        randombytes_buf(e->hash, sizeof(e->hash));
        close(file);
        return 0;
    }
    tree_hash_begin(&h, s->source->key, s->source->list.count);
    if (!err)
        err = tree_hash_add_file(&h, file, e->size, s->block);
    tree_hash_end(&h, e->size, e->hash);
    if (file >= 0)
        close(file);
    return err;
}

/* Fills in what the kind of file asks for. Returns 0, an errno, or -1: it is left out. */
static int entry_fill(struct scan *s, int fd, const char *name, const struct stat *st,
                      struct tree_entry *e)
{
    ssize_t n;

    e->root = s->root;
    e->seconds = st->st_mtim.tv_sec;
    e->nanoseconds = (uint32_t)st->st_mtim.tv_nsec;
    if (S_ISDIR(st->st_mode)) {
        e->kind = TREE_DIRECTORY;
        e->mode = st->st_mode & 07777;
    } else if (S_ISLNK(st->st_mode)) {
        e->kind = TREE_LINK;
        n = readlinkat(fd, name, s->target, TREE_PATH_MOST);
        if (n < 0)
            return errno;
        s->target[n] = '\0';
    } else if (S_ISREG(st->st_mode)) {
        e->kind = TREE_FILE;
        e->mode = st->st_mode & 01777; /* the copy may belong to another user */
        e->size = (uint64_t)st->st_size;
        e->is_sparse = st->st_blocks * 512 < st->st_size;
        return faccessat(fd, name, R_OK, AT_EACCESS) ? errno : 0;
    } else {
        return -1;
    }
    return 0;
}

/* Adds the entry to the list, with what tells this file from others. */
static int entry_add(struct scan *s, const struct tree_entry *e, const struct sync_seen *seen,
                     struct fault *why)
{
    struct sync_source *source = s->source;
    struct tree_list *l = &source->list;
    int rc = tree_list_add(l, e, source->count, why);

    if (rc)
        return rc;
    if (source->seen_room < l->count) {
        struct sync_seen *more = realloc(source->seen, l->room * sizeof(*more));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        source->seen = more;
        source->seen_room = l->room;
    }
    source->seen[l->count - 1] = *seen;
    return 0;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool name_is_inside(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strncmp(name, SYNC_TEMPORARY_START, strlen(SYNC_TEMPORARY_START)) != 0;
}

/* Adds the names in an open directory, sorted; scandirat(), which does the same, is glibc's own.
 * Returns 0 or an errno. */
static int names_read(DIR *d, struct string_list *names)
{
    struct dirent *e;

    for (errno = 0; (e = readdir(d)); errno = 0) {
        if (name_is_inside(e->d_name) && string_list_add(names, e->d_name, NULL))
            return ENOMEM;
    }
    if (errno)
        return errno;
    if (names->count)
        qsort(names->items, names->count, sizeof(*names->items), name_compare);
    return 0;
}

/* Adds the entry whose path is s->path. */
static int entry_scan(struct scan *s, int fd, const char *name, bool *is_directory,
                      struct fault *why)
{
    const struct sync_path *p = &s->source->paths[s->root];
    struct tree_entry e = {.path = s->path, .target = s->target};
    struct sync_seen seen;
    struct stat st;
    int rc, err;

    s->target[0] = '\0';
    *is_directory = false;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 /* removed meanwhile */
                               : fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s/%s",
                                          p->directory, s->path);
    if (tree_exclude_has(s->exclude, s->path, S_ISDIR(st.st_mode)))
        return 0;
    if (strlen(s->path) > TREE_PATH_MOST)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s/%s has a path of more than %d bytes in it: leave it out by --exclude, "
                         "or name a directory in it as PATH",
                         p->directory, p->name, TREE_PATH_MOST);
    seen = (struct sync_seen){st.st_dev, st.st_ino, st.st_ctim};
    err = entry_fill(s, fd, name, &st, &e);
    if (err < 0) {
        log_warn("%s/%s is skipped: it is not a file, a directory or a link", p->directory,
                 s->path);
        return 0;
    }
    rc = e.kind == TREE_FILE ? named_find(s, &st, &e, why) : 0;
    if (!rc && !err && e.kind == TREE_FILE && s->is_hashed)
        err = file_hash(s, fd, name, &seen, &e);
    if (!rc && err)
        rc = fault_os(why, ML_ERR_SYSTEM, err, "cannot read %s/%s", p->directory, s->path);
    if (!rc) {
        rc = entry_add(s, &e, &seen, why);
        if (rc)
            fault_wrap(why, "%s/%s", p->directory, s->path);
    }
    if (!rc && e.kind == TREE_FILE)
        s->source->bytes += e.size;
    *is_directory = e.kind == TREE_DIRECTORY;
    return rc;
}

/* Adds what is in the directory s->path. It calls itself TREE_DEPTH_MOST times at most, since
 * longer paths are refused. */
static int directory_scan(struct scan *s, int fd, const char *name, struct fault *why)
{
    int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0, err;
    DIR *d = inner < 0 ? NULL : fdopendir(inner); /* owns inner */
    struct string_list names = {0};
    size_t end = strlen(s->path);

    err = d ? names_read(d, &names) : errno;
    if (err)
        rc = fault_os(why, ML_ERR_SYSTEM, err, "cannot read %s/%s",
                      s->source->paths[s->root].directory, s->path);
    for (size_t i = 0; !rc && i < names.count; i++) {
        bool is_directory = false;

        snprintf(s->path + end, sizeof(s->path) - end, "/%s", names.items[i]);
        rc = entry_scan(s, inner, names.items[i], &is_directory, why);
        if (!rc && is_directory)
            rc = directory_scan(s, inner, names.items[i], why);
    }
    s->path[end] = '\0';
    string_list_clear(&names);
    if (d)
        closedir(d);
    else if (inner >= 0)
        close(inner);
    return rc;
}

/* Adds a PATH with all that is in it. */
static int path_scan(struct scan *s, struct sync_path *p, struct fault *why)
{
    bool is_directory = false;
    int rc;

    p->fd = open(p->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s", p->directory);
    snprintf(s->path, sizeof(s->path), "%s", p->name);
    rc = entry_scan(s, p->fd, p->name, &is_directory, why);
    return rc || !is_directory ? rc : directory_scan(s, p->fd, p->name, why);
}

int sync_source_secret(struct sync_source *s, struct fault *why)
{
    if (sodium_init() < 0)
        return fault_set(why, ML_ERR_SYSTEM, "there is no source of randomness");
    randombytes_buf(s->key, sizeof(s->key));
    return 0;
}

int sync_source_scan(struct sync_source *s, char *const *exclude, bool is_hashed, struct fault *why)
{
    struct scan scan = {.source = s, .exclude = exclude, .is_hashed = is_hashed};
    int rc;

    rc = sync_source_secret(s, why);
    if (rc)
        return rc;
    scan.block = malloc(SYNC_BLOCK_MOST);
    if (!scan.block)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    tree_place_allow_depth();
    for (int i = 0; i < s->count && !rc; i++) {
        scan.root = (uint16_t)i;
        rc = path_scan(&scan, &s->paths[i], why);
    }
    tdestroy(scan.named, free);
    free(scan.block);
    return rc;
}
