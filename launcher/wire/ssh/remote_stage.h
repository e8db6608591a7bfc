/* SPDX-License-Identifier: MIT */
/* remote_stage.h: copies this build's agent, shim and runtime to a host. */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_STAGE_H
#define LAUNCHER_WIRE_SSH_REMOTE_STAGE_H

#include "launcher/base/loader/host_set.h"
#include "launcher/base/process/install_path.h"
#include "launcher/wire/channel/channel_config.h"
#include "launcher/wire/ssh/remote_session.h"

#include <stdbool.h>
#include <sys/types.h>

/* At most: two exist only with RDMA, one only with libpmix, one is only for mlaunch sync. */
enum { REMOTE_STAGE_FILES = 9 + INSTALL_PYTHON_FILES };

struct remote_stage_size {
    const char *name; /* on the host */
    off_t size;
    uint32_t sum; /* file_sum.h */
};

enum { REMOTE_STAGE_NAME = 96 };

/* BUILD-SET, the directory in HOME/.cache/mlaunch/: hosts of several kinds may share the home
 * directory. */
void remote_stage_name(char out[REMOTE_STAGE_NAME], const char *build, const struct host_set *set);

/* Copies the set over SFTP into that directory (0700). Each file is created under a temporary
 * name with O_EXCL and then renamed, the agent last, so that simultaneous jobs, and hosts that
 * share a home directory, see whole files or none. An existing file that is usable, has the right
 * size and belongs to `user` (the uid there) alone is kept, unless `distrust` is set, because the
 * agent found there is of another build, or a copy is not what was copied. If others could write to
 * the directory, they no longer can, and all files are replaced; ML_ERR_REFUSED: it belongs to
 * another user. A failure leaves no partial file behind. ML_ERR_* names file or directory and the
 * reason. */
int remote_stage(struct remote_session *s, const char *home, unsigned user, bool distrust,
                 const struct channel_config *config, const struct host_set *set,
                 struct fault *why);

/* The names, sizes and checksums of the files that it would copy, without those that are missing
 * here. Returns their number. This build's own files are read once a process. */
int remote_stage_sizes(struct remote_stage_size out[REMOTE_STAGE_FILES],
                       const struct channel_config *config, const struct host_set *set);

#endif
