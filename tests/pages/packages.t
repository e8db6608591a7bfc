#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README.md's commands for Debian's packages, in check-long: in a fresh Debian with sudo, in the
# source as `make dist` archives it, they build the packages with what they need and install them.
# tests/packaging/packages.t looks at what the packages are.
TEST_TIER=full
TEST_LIMIT=1200
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/debian.sh"
. "${0%/*}/page.sh"
is_long || skip_all "only in check-long: it fetches a Debian and builds the packages in it"
[ "$SANITIZE" = no ] || skip_all "packages are built without sanitizers"
debian_up "packages that are built in a fresh Debian"
check "sudo is installed" debian_install sudo
check "the archive's files are there" make -C "$BUILD" -s distdir distdir="$DEBIAN/srv/mlaunch"

# Where apt asks whether to go on, the reader does.
typed_in() { yes 2> "$T/yes" | inside env -C /srv/mlaunch bash -c "$1"; }
while IFS=$'\t' read -r page command; do
    check "$(page_name "$page" "$command")" typed_in "$command"
done < <(page_commands)
check_output 2 "the installed mlaunch runs two ranks" sh -c '"$@" | grep -c "^[01]$"' sh \
    "$SOURCE/packaging/host-sets/inside" "$DEBIAN" \
    mlaunch -n 2 --output raw -- sh -c 'echo $MLAUNCH_RANK'
done_testing
