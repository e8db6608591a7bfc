# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# other_debian.sh: ssh and sshd of another Debian, for a lab, behind test.sh:
#
#     other_debian RELEASE DIR NAME   fills DIR; or skips NAME, and fails
#
# DIR/bin/ssh (not of Debian 11), DIR/bin/sshd and DIR/libexec run that Debian's programs with its
# own libraries on this machine's file system, so that logins run this machine's shell and agent.

other_debian() {
    local archive root=$2/root file libraries
    archive=$("$SOURCE/tests/fresh/make_system" "$1" 2> "$T/why") || {
        skip "$3" "$(tail -n 1 "$T/why")"
        return 1
    }
    mkdir -p "$root" "$2/bin" "$2/libexec"
    must tar -C "$root" -xf "$archive"
    must "$SOURCE/packaging/host-sets/inside" "$root" sh -c 'apt-get update -q && apt-get install \
        -q -y --no-install-recommends openssh-client openssh-server' > "$T/apt" 2>&1
    libraries=$(find "$root/lib/" "$root/usr/lib/" -name libc.so.6 | head -n 1)
    libraries=$(dirname "$libraries")
    # Without a name of its own, ssh would start what it takes for itself to jump over a host. The
    # loader of Debian 11 cannot give it one.
    [ "$1" = bullseye ] || other_program "$2/bin/ssh" "$root/usr/bin/ssh" --argv0 ssh
    other_program "$2/bin/sshd" "$root/usr/sbin/sshd"
    for file in "$root"/usr/lib/openssh/sshd-*; do
        [ ! -x "$file" ] || other_program "$2/libexec/${file##*/}" "$file"
    done
}

# other_program WRAPPER PROGRAM [OPTION-OF-THE-LOADER…]
other_program() {
    local loader
    loader=$(find "$libraries/" -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)
    printf '#!/bin/sh\nexec %s %s --library-path %s %s "$@"\n' "$loader" "${*:3}" "$libraries" "$2" > "$1"
    chmod 755 "$1"
}
