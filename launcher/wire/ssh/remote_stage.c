/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_stage.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/base/process/file_sum.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/sftp.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 128 << 10 /* bytes of one write: below the 256 KiB that servers accept */ };

#define PYTHON_PART(part, file)                                                                    \
    {                                                                                              \
        "python/mlaunch/" file, part, false, false                                                 \
    }
/* The agent comes last, so that the other files are there whenever it is. */
static const struct stage_part {
    const char *name; /* on the host */
    enum install_part part;
    bool is_built; /* contains the build's id */
    bool is_optional;
} parts[REMOTE_STAGE_FILES] = {
    {"libmlaunch.so.0", INSTALL_SHIM, true, false},
    {"mlaunch-runtime.so", INSTALL_RUNTIME, true, false},
    INSTALL_PYTHON_ROWS(PYTHON_PART),
    {BENCH_PROGRAM, INSTALL_BENCH, false, false},
    {"mlaunch-rdma.so", INSTALL_RDMA, true, true},
    {"mlaunch-probe", INSTALL_PROBE, true, true},
    {"mlaunch-pmix", INSTALL_PMIX, true, true},
    {"mlaunch-entry", INSTALL_ENTRY, false, false},
    {"mlaunch-copier", INSTALL_COPIER, true, false},
    {"mlaunch-agent", INSTALL_AGENT, true, false},
};

/* A file of this build on this machine. */
struct stage_file {
    const char *name; /* on the host */
    char *bytes;      /* mapped, or NULL */
    size_t size;
};

struct stage {
    struct remote_session *s;
    sftp_session sftp;
    struct remote_watch *watch;
    int step_ms;    /* the longest that one request may take */
    char dir[3700]; /* on the host */
    unsigned user;  /* the uid there */
    bool distrust;  /* also replace existing files */
    struct stage_file files[REMOTE_STAGE_FILES];
};

/* Each request gets a deadline of its own: all of them may take long on a slow line. */
static void step_begin(struct stage *g)
{
    remote_watch_extend(g->watch, clock_ms() + g->step_ms);
}

static const char *sftp_word(struct stage *g)
{
    switch (sftp_get_error(g->sftp)) {
    case SSH_FX_PERMISSION_DENIED:
        return "permission denied";
    case SSH_FX_NO_SUCH_FILE:
    case SSH_FX_NO_SUCH_PATH:
        return "no such directory";
    case SSH_FX_WRITE_PROTECT:
        return "read-only file system";
    case SSH_FX_FAILURE:
        return "failure";
    default:
        return ssh_get_error(g->s->ssh);
    }
}

/* SFTP has no error code for a full disk, so this asks for the free space. */
static int write_explain(struct stage *g, const struct stage_file *f, struct fault *why)
{
    const char *word = sftp_word(g);
    sftp_statvfs_t fs = sftp_statvfs(g->sftp, g->dir);
    uint64_t left = fs ? fs->f_bavail * fs->f_frsize : UINT64_MAX;

    if (fs)
        sftp_statvfs_free(fs);
    if (left < f->size)
        return fault_set(why, ML_ERR_SYSTEM,
                         "cannot copy %s to %s: the disk is full (%llu KiB free, %llu needed)",
                         f->name, g->dir, (unsigned long long)left / 1024,
                         (unsigned long long)f->size / 1024 + 1);
    return fault_set(why, ML_ERR_SYSTEM, "cannot copy %s to %s: %s", f->name, g->dir, word);
}

static int sftp_begin(struct stage *g, struct fault *why)
{
    g->sftp = sftp_new(g->s->ssh);
    if (g->sftp && sftp_init(g->sftp) == SSH_OK)
        return 0;
    return fault_set(
        why, ML_ERR_REFUSED,
        "no agent of this build is there, and it cannot be copied, because its sshd offers no "
        "SFTP: %s; install mlaunch there or add \"Subsystem sftp internal-sftp\"",
        ssh_get_error(g->s->ssh));
}

/* A directory that others could write to may hold anything. */
static int directory_secure(struct stage *g, const struct sftp_attributes_struct *a,
                            struct fault *why)
{
    if (a->uid != g->user)
        return fault_set(why, ML_ERR_REFUSED,
                         "the directory %s, to which mlaunch copies its agent, belongs to another "
                         "user (uid %u): remove it",
                         g->dir, a->uid);
    if (!(a->permissions & 022))
        return 0;
    g->distrust = true;
    if (sftp_chmod(g->sftp, g->dir, 0700) < 0)
        return fault_set(why, ML_ERR_SYSTEM,
                         "others may write to the directory %s, and its mode cannot be changed: %s",
                         g->dir, sftp_word(g));
    return 0;
}

void remote_stage_name(char out[REMOTE_STAGE_NAME], const char *build, const struct host_set *set)
{
    snprintf(out, REMOTE_STAGE_NAME, "%s-%s", build, set->name);
}

/* Why g->dir cannot be made, for which SFTP's `word` is often "failure": OpenSSH's server has no
 * code for a file system that is read-only or full. This asks for the one that it would lie on. */
static int mkdir_explain(struct stage *g, const char *word, struct fault *why)
{
    char above[sizeof(g->dir)];
    sftp_statvfs_t fs;

    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(g->dir, '/') - g->dir), g->dir);
    fs = sftp_statvfs(g->sftp, *above ? above : "/");
    if (fs && (fs->f_flag & SSH_FXE_STATVFS_ST_RDONLY))
        word = strerror(EROFS);
    else if (fs && (fs->f_bavail == 0 || (fs->f_files && fs->f_ffree == 0)))
        word = strerror(ENOSPC);
    if (fs)
        sftp_statvfs_free(fs);
    return fault_set(why, ML_ERR_SYSTEM,
                     "cannot make the directory %s: %s; make it writable, or install mlaunch there "
                     "(--agent names its place)",
                     g->dir, word);
}

/* HOME/.cache, HOME/.cache/mlaunch, the copies' directory, and in it python/mlaunch. */
static int directories_make(struct stage *g, const char *home, const char *build,
                            const struct host_set *set, struct fault *why)
{
    char name[REMOTE_STAGE_NAME];
    const char *const levels[] = {"/.cache", "/mlaunch", "/", name, "/python", "/mlaunch"};
    size_t used = (size_t)snprintf(g->dir, sizeof(g->dir), "%s", home);

    remote_stage_name(name, build, set);
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        used += (size_t)snprintf(g->dir + used, sizeof(g->dir) - used, "%s", levels[i]);
        if (used >= sizeof(g->dir))
            return fault_set(why, ML_ERR_ARGUMENT, "the home directory's path is too long: %.100s…",
                             home);
        if (levels[i][1] == '\0')
            continue;
        if (sftp_mkdir(g->sftp, g->dir, 0700) < 0) {
            const char *word = sftp_word(g); /* the next request has its own */
            sftp_attributes a = sftp_stat(g->sftp, g->dir);
            int rc = 0;

            if (!a || a->type != SSH_FILEXFER_TYPE_DIRECTORY)
                rc = mkdir_explain(g, word, why);
            else if (i > 0) /* ~/.cache is for all programs */
                rc = directory_secure(g, a, why);
            sftp_attributes_free(a);
            if (rc)
                return rc;
        }
    }
    g->dir[used - strlen("/python/mlaunch")] = '\0';
    return 0;
}

/* Maps the file. Unless `build` is NULL, the file must contain it: otherwise a build tree that is
 * only half rebuilt would store a file of another build under this build's name, for good. */
static int source_open(struct stage_file *f, const char *path, const char *name, const char *build,
                       struct fault *why)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s, which is to be copied to the host",
                 path);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return ML_ERR_SYSTEM;
    *f = (struct stage_file){name, bytes, (size_t)st.st_size}; /* unmapped by remote_stage */
    if (!build || memmem(bytes, f->size, build, strlen(build)))
        return 0;
    return fault_set(
        why, ML_ERR_STATE,
        "no agent of this build is there, nor can it be copied: %s is not of this mlaunch's "
        "build %s; build or install all of it anew",
        path, build);
}

static int bytes_copy(struct stage *g, const struct stage_file *f, sftp_file to, struct fault *why)
{
    for (size_t done = 0; done < f->size;) {
        size_t n = f->size - done < CHUNK ? f->size - done : CHUNK;

        step_begin(g);
        if (sftp_write(to, f->bytes + done, n) != (ssize_t)n)
            return write_explain(g, f, why);
        done += n;
    }
    return 0;
}

/* Writes the whole file under the name `temporary`, syncs it (otherwise a host that crashes now
 * could keep an empty file under the final name) and closes it; some servers report a full disk
 * only then. */
static int temporary_write(struct stage *g, const struct stage_file *f, const char *temporary,
                           struct fault *why)
{
    sftp_file to = sftp_open(g->sftp, temporary, O_WRONLY | O_CREAT | O_EXCL, 0700);
    int rc;

    if (!to)
        return write_explain(g, f, why);
    rc = bytes_copy(g, f, to, why);
    if (!rc && sftp_chmod(g->sftp, temporary, 0700) < 0)
        rc = write_explain(g, f, why);
    if (!rc && sftp_extension_supported(g->sftp, "fsync@openssh.com", "1") && sftp_fsync(to) < 0)
        rc = write_explain(g, f, why);
    if (sftp_close(to) < 0 && !rc)
        rc = write_explain(g, f, why);
    if (rc)
        sftp_unlink(g->sftp, temporary);
    return rc;
}

/* Whether there is a complete and usable copy. */
static bool is_there(struct stage *g, const char *path, const struct stage_file *f)
{
    sftp_attributes a = sftp_lstat(g->sftp, path);
    bool there = a && a->type == SSH_FILEXFER_TYPE_REGULAR && a->size == f->size &&
                 a->uid == g->user && (a->permissions & 0722) == 0700;

    if (a)
        sftp_attributes_free(a);
    return there;
}

/* Servers do not rename over an existing file. Such a file is another job's copy, or distrusted. */
static int final_rename(struct stage *g, const struct stage_file *f, const char *temporary,
                        const char *path, struct fault *why)
{
    int rc;

    if (sftp_rename(g->sftp, temporary, path) == 0)
        return 0;
    if (!g->distrust && is_there(g, path, f)) {
        sftp_unlink(g->sftp, temporary);
        return 0;
    }
    sftp_unlink(g->sftp, path);
    if (sftp_rename(g->sftp, temporary, path) == 0)
        return 0;
    rc = fault_set(why, ML_ERR_SYSTEM, "cannot rename %s to %s: %s", temporary, f->name,
                   sftp_word(g));
    sftp_unlink(g->sftp, temporary);
    return rc;
}

static int file_copy(struct stage *g, const struct stage_file *f, struct fault *why)
{
    char path[4000], temporary[4100];
    int rc;

    step_begin(g);
    snprintf(path, sizeof(path), "%s/%s", g->dir, f->name);
    snprintf(temporary, sizeof(temporary), "%s/" INSTALL_PARTIAL, g->dir, randombytes_random(),
             randombytes_random());
    if (!g->distrust && is_there(g, path, f)) {
        log_debug("%s: %s is there already", g->s->config->name, path);
        return 0;
    }
    rc = temporary_write(g, f, temporary, why);
    if (!rc)
        rc = final_rename(g, f, temporary, path, why);
    if (!rc)
        log_debug("%s: copied %zu KiB to %s", g->s->config->name, f->size >> 10, path);
    return rc;
}

static int files_copy(struct stage *g, const char *home, const char *build,
                      const struct host_set *set, struct fault *why)
{
    int rc = sftp_begin(g, why);

    if (!rc)
        rc = directories_make(g, home, build, set, why);
    for (size_t i = 0; i < REMOTE_STAGE_FILES && g->files[i].bytes && !rc; i++)
        rc = file_copy(g, &g->files[i], why);
    return rc;
}

static bool is_needed(const struct stage_part *p, const struct channel_config *config)
{
    return (p->part != INSTALL_COPIER || config->with_copier) &&
           (p->part != INSTALL_ENTRY || config->with_entry);
}

static int part_find(char path[PATH_MAX], const struct stage_part *p,
                     const struct channel_config *config, const struct host_set *set,
                     struct fault *why)
{
    if (*set->directory && strchr(p->name, '/') == NULL) { /* Python's files are for all hosts */
        if (snprintf(path, PATH_MAX, "%s/%s", set->directory, p->name) < PATH_MAX &&
            access(path, R_OK) == 0)
            return 0;
        return fault_set(why, ML_ERR_SYSTEM, "%s is missing in the host set %s: make it anew",
                         p->name, set->directory);
    }
    if (p->part != INSTALL_AGENT)
        return install_path_find(path, p->part, why);
    snprintf(path, PATH_MAX, "%s", config->local_agent);
    return 0;
}

static int sources_open(struct stage *g, const struct channel_config *config,
                        const struct host_set *set, struct fault *why)
{
    char path[PATH_MAX];
    int n = 0;

    for (size_t i = 0; i < REMOTE_STAGE_FILES; i++) {
        const struct stage_part *p = &parts[i];
        int rc;

        if (!is_needed(p, config))
            continue;
        rc = part_find(path, p, config, set, why);
        if (rc && p->is_optional)
            continue;
        if (!rc)
            rc =
                source_open(&g->files[n++], path, p->name, p->is_built ? config->build : NULL, why);
        if (rc)
            return rc;
    }
    return 0;
}

static int sizes_find(struct remote_stage_size out[REMOTE_STAGE_FILES],
                      const struct channel_config *config, const struct host_set *set)
{
    char path[PATH_MAX];
    struct fault why;
    struct stat st;
    uint32_t sum;
    int count = 0;

    for (size_t i = 0; i < REMOTE_STAGE_FILES; i++)
        if (is_needed(&parts[i], config) && part_find(path, &parts[i], config, set, &why) == 0 &&
            stat(path, &st) == 0 && file_sum_read(&sum, path) == 0)
            out[count++] = (struct remote_stage_size){parts[i].name, st.st_size, sum};
    return count;
}

/* What remote_stage_sizes has found of this build's own files; any host's thread may be first. */
static struct {
    pthread_mutex_t lock;
    struct remote_stage_size sizes[REMOTE_STAGE_FILES];
    int count; /* 0: nothing so far */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

int remote_stage_sizes(struct remote_stage_size out[REMOTE_STAGE_FILES],
                       const struct channel_config *config, const struct host_set *set)
{
    int count;

    if (*set->directory)
        return sizes_find(out, config, set);
    pthread_mutex_lock(&known.lock);
    if (!known.count)
        known.count = sizes_find(known.sizes, config, set);
    memcpy(out, known.sizes, sizeof(known.sizes));
    count = known.count;
    pthread_mutex_unlock(&known.lock);
    return count;
}

int remote_stage(struct remote_session *s, const char *home, unsigned user, bool distrust,
                 const struct channel_config *config, const struct host_set *set, struct fault *why)
{
    struct stage g = {
        .s = s, .step_ms = config->connect_timeout_ms, .user = user, .distrust = distrust};
    int rc = sources_open(&g, config, set, why);

    if (!rc)
        rc = remote_watch_begin(&g.watch, &s->wait, s->socket.fd, -1, why);
    if (!rc) {
        step_begin(&g);
        ssh_set_blocking(s->ssh, 1); /* libssh's SFTP supports nothing else */
        rc = files_copy(&g, home, config->build, set, why);
        if (g.sftp)
            sftp_free(g.sftp);
        ssh_set_blocking(s->ssh, 0);
        if (remote_watch_end(g.watch))
            rc = fault_set(why, ML_ERR_TIMEOUT,
                           "copying the agent to %s/.cache/mlaunch came to a standstill", home);
    }
    for (size_t i = 0; i < REMOTE_STAGE_FILES; i++)
        if (g.files[i].bytes)
            munmap(g.files[i].bytes, g.files[i].size);
    return rc;
}
