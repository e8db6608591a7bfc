# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# podman.sh: after test.sh, sets PODMAN to a podman with a store of its own below $T, or skips the
# whole file. $T/why has podman's reason.
needs podman runc
PODMAN=(podman --root "$T/store" --runroot "$T/run" --storage-driver vfs)
# Where cgroups are of both versions, only runc shares the host's processes.
[ ! -d /sys/fs/cgroup/unified ] || PODMAN+=(--runtime runc)
# A limit that podman sets by itself may be above what this user may have.
LIMITS=(--ulimit=nofile=1024:1024 --ulimit=nproc=4096:4096)
at_exit podman_remove
podman_remove() { "${PODMAN[@]}" rm -f -a -t 0 > /dev/null 2>&1; }
