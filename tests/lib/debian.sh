# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# debian.sh: a fresh Debian of this machine's release, from the mirror of its apt, for a *.t behind
# test.sh:
#
#     debian_up NAME           fills $T/root with it; or skips NAME, which is all that follows
#     inside COMMAND…          runs it in there, with processes, mounts and shared memory that end
#                              with it
#     debian_install PACKAGE…  installs these in there, without what they only recommend
#
# No service is started in it.
DEBIAN=$T/root

inside() {
    unshare --mount --pid --ipc --fork --kill-child sh -c 'mount -t proc proc "$0/proc" &&
        mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" /usr/bin/env -i HOME=/root \
        PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"' "$DEBIAN" "$@"
}
debian_install() { inside apt-get install -q -y --no-install-recommends "$@"; }

# shellcheck disable=SC2154 # status: of test.sh
debian_up() {
    local codename mirror reason=
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        "Codename: $codename" 'Component: main' 'Origin: Debian' 2> /dev/null | head -n 1)
    if [ "$(id -u)" != 0 ]; then
        reason="needs root"
    elif ! command -v debootstrap > /dev/null; then
        reason="there is no debootstrap here"
    elif [ -z "$mirror" ]; then
        reason="apt has no mirror of $codename"
    else
        run unshare --mount debootstrap --variant=minbase "$codename" "$DEBIAN" "$mirror"
        if [ "$status" -ne 0 ] &&
            grep -qE 'Failed getting release file|Invalid Release' "$OUT" "$ERR"; then
            reason="$mirror does not answer"
        fi
    fi
    [ -z "$reason" ] || { skip "$1" "$reason"; done_testing; }
    check "a fresh Debian is there" test "$status" -eq 0
    [ "$status" -eq 0 ] || { diag_run debootstrap; done_testing; }
    printf '#!/bin/sh\nexit 101\n' > "$DEBIAN/usr/sbin/policy-rc.d"
    chmod +x "$DEBIAN/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$DEBIAN/etc/resolv.conf"
}
