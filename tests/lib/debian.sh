# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# debian.sh: a fresh Debian of this machine's release, from the mirror of its apt, for a *.t behind
# test.sh:
#
#     debian_up NAME           fills $T/root with it; or skips NAME, which is all that follows
#     inside COMMAND…          runs it in there (packaging/host-sets/inside)
#     debian_install PACKAGE…  installs these in there, without what they only recommend
#
# No service is started in it.
DEBIAN=$T/root

inside() { "$SOURCE/packaging/host-sets/inside" "$DEBIAN" "$@"; }
debian_install() { inside apt-get install -q -y --no-install-recommends "$@"; }

debian_up() {
    local codename archive
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    archive=$("$SOURCE/tests/fresh/make_system" "$codename" 2> "$T/why") || {
        skip "$1" "$(tail -n 1 "$T/why")"
        done_testing
    }
    mkdir "$DEBIAN"
    check "a fresh Debian is there" tar -C "$DEBIAN" -xf "$archive"
}
