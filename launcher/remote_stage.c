/* SPDX-License-Identifier: MIT */
#include "launcher/remote_stage.h"

#include "common/clock.h"
#include "launcher/install_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/sftp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 128 << 10 /* bytes a write: below the 256 KiB that servers take at once */ };

struct stage {
    struct remote_session *s;
    sftp_session sftp;
    struct remote_watch *watch;
    int step_ms;    /* the longest that one request may take */
    char dir[3700]; /* on the host */
};

/* Each step gets its own time: a slow line may take long for all of them. */
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

/* SFTP has no word for a full disk: the file system is asked. */
static int write_explain(struct stage *g, const char *what, uint64_t size, struct fault *why)
{
    const char *word = sftp_word(g);
    sftp_statvfs_t fs = sftp_statvfs(g->sftp, g->dir);
    uint64_t left = fs ? fs->f_bavail * fs->f_frsize : UINT64_MAX;

    if (fs)
        sftp_statvfs_free(fs);
    if (left < size)
        return fault_set(why, ML_ERR_SYSTEM,
                         "cannot copy %s to %s: the disk is full (%llu KiB free, %llu needed)",
                         what, g->dir, (unsigned long long)left / 1024,
                         (unsigned long long)size / 1024 + 1);
    return fault_set(why, ML_ERR_SYSTEM, "cannot copy %s to %s: %s", what, g->dir, word);
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

/* HOME/.cache, HOME/.cache/mlaunch, HOME/.cache/mlaunch/BUILD. */
static int directories_make(struct stage *g, const char *home, const char *build, struct fault *why)
{
    const char *const levels[] = {"/.cache", "/mlaunch", "/", build};
    size_t used = (size_t)snprintf(g->dir, sizeof(g->dir), "%s", home);

    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        used += (size_t)snprintf(g->dir + used, sizeof(g->dir) - used, "%s", levels[i]);
        if (used >= sizeof(g->dir))
            return fault_set(why, ML_ERR_ARGUMENT, "the home directory's path is too long: %.100s…",
                             home);
        if (levels[i][1] == '\0')
            continue;
        if (sftp_mkdir(g->sftp, g->dir, 0700) < 0) {
            sftp_attributes a = sftp_stat(g->sftp, g->dir);
            bool there = a && a->type == SSH_FILEXFER_TYPE_DIRECTORY;

            sftp_attributes_free(a);
            if (!there)
                return fault_set(why, ML_ERR_SYSTEM, "cannot make the directory %s: %s", g->dir,
                                 sftp_word(g));
        }
    }
    return 0;
}

static int bytes_copy(struct stage *g, int from, sftp_file to, const char *what, uint64_t size,
                      struct fault *why)
{
    char *chunk = malloc(CHUNK);
    int rc = chunk ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");

    while (!rc) {
        ssize_t n = read(from, chunk, CHUNK);

        if (n < 0)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot read %s", what);
        if (n <= 0)
            break;
        step_begin(g);
        if (sftp_write(to, chunk, (size_t)n) != n)
            rc = write_explain(g, what, size, why);
    }
    free(chunk);
    return rc;
}

/* The whole file under `temporary`, on the disk (or a host that crashes now would keep an empty one under the
 * final name) and closed; some servers report a full disk only then. */
static int temporary_write(struct stage *g, int from, const char *temporary, const char *what,
                           uint64_t size, struct fault *why)
{
    sftp_file to = sftp_open(g->sftp, temporary, O_WRONLY | O_CREAT | O_EXCL, 0700);
    int rc;

    if (!to)
        return write_explain(g, what, size, why);
    rc = bytes_copy(g, from, to, what, size, why);
    if (!rc && sftp_chmod(g->sftp, temporary, 0700) < 0)
        rc = write_explain(g, what, size, why);
    if (!rc && sftp_extension_supported(g->sftp, "fsync@openssh.com", "1") && sftp_fsync(to) < 0)
        rc = write_explain(g, what, size, why);
    if (sftp_close(to) < 0 && !rc)
        rc = write_explain(g, what, size, why);
    if (rc)
        sftp_unlink(g->sftp, temporary);
    return rc;
}

/* A copy, whole and usable. */
static bool is_there(struct stage *g, const char *path, uint64_t size)
{
    sftp_attributes a = sftp_stat(g->sftp, path);
    bool there = a && a->size == size && (a->permissions & 0700) == 0700;

    if (a)
        sftp_attributes_free(a);
    return there;
}

static int file_copy(struct stage *g, const char *local, const char *name, struct fault *why)
{
    char path[4000], temporary[4100];
    struct stat st;
    int rc, from = open(local, O_RDONLY | O_CLOEXEC);

    if (from < 0 || fstat(from, &st) < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno,
                      "cannot read %s, which is to be copied to the host", local);
        if (from >= 0)
            close(from);
        return rc;
    }
    step_begin(g);
    snprintf(path, sizeof(path), "%s/%s", g->dir, name);
    snprintf(temporary, sizeof(temporary), "%s/.%s.%08x%08x", g->dir, name, randombytes_random(),
             randombytes_random());
    if (is_there(g, path, (uint64_t)st.st_size)) {
        close(from);
        return 0;
    }
    rc = temporary_write(g, from, temporary, name, (uint64_t)st.st_size, why);
    close(from);
    if (rc)
        return rc;
    /* Servers don't rename over a file: what is there is another job's copy, or a broken one. */
    if (sftp_rename(g->sftp, temporary, path) == 0 || is_there(g, path, (uint64_t)st.st_size)) {
        sftp_unlink(g->sftp, temporary);
        return 0;
    }
    sftp_unlink(g->sftp, path);
    if (sftp_rename(g->sftp, temporary, path) == 0)
        return 0;
    rc = fault_set(why, ML_ERR_SYSTEM, "cannot rename %s to %s: %s", temporary, name, sftp_word(g));
    sftp_unlink(g->sftp, temporary);
    return rc;
}

static int files_copy(struct stage *g, const char *home, const struct channel_config *config,
                      const struct install_paths *from, struct fault *why)
{
    int rc = sftp_begin(g, why);

    if (!rc)
        rc = directories_make(g, home, config->build, why);
    if (!rc)
        rc = file_copy(g, from->shim, "libmlaunch.so.0", why);
    if (!rc)
        rc = file_copy(g, from->runtime, "mlaunch-runtime.so", why);
    if (!rc)
        rc = file_copy(g, from->module, "mlaunch.py", why);
    if (!rc)
        rc = file_copy(g, config->local_agent, "mlaunch-agent", why);
    return rc;
}

int remote_stage(struct remote_session *s, const char *home, const struct channel_config *config,
                 struct fault *why)
{
    struct stage g = {.s = s, .step_ms = config->connect_timeout_ms};
    struct install_paths from;
    int rc = install_paths_find(&from, why);

    if (rc)
        return rc;
    rc = remote_watch_begin(&g.watch, &s->wait, s->socket.fd, -1, why);
    if (rc)
        return rc;
    step_begin(&g);
    ssh_set_blocking(s->ssh, 1); /* libssh's SFTP knows nothing else */
    rc = files_copy(&g, home, config, &from, why);
    if (g.sftp)
        sftp_free(g.sftp);
    ssh_set_blocking(s->ssh, 0);
    if (remote_watch_end(g.watch))
        rc = fault_set(why, ML_ERR_TIMEOUT,
                       "copying the agent to %s/.cache/mlaunch came to a standstill", home);
    return rc;
}
