#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make dist` archives builds where there are no autotools: stand-ins for them, first in PATH,
# fail and say so.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
is_long || skip_all "a build of its own: only in check-long"
[ "$SANITIZE" = no ] || skip_all "a build of its own, without sanitizers"

mkdir "$T/bin"
for tool in aclocal autoconf autoheader automake autom4te autoreconf libtoolize m4; do
    printf '#!/bin/sh\necho "%s" >> "%s"\nexit 1\n' $tool "$T/called" > "$T/bin/$tool"
done
chmod +x "$T"/bin/*
check "make distdir writes the archive's files" make -C "$BUILD" -s distdir distdir="$T/dist"
cd "$T/dist" || exit 1
PATH=$T/bin:$PATH
check_status 1 "autoconf fails here" autoconf
check_output "autoconf" "the failure of autoconf is seen" cat "$T/called"
rm "$T/called"
check "configure succeeds without autotools" ./configure -q CC="$CC" \
    CFLAGS=-O0 # which takes half the time
check "make demo succeeds without autotools" make -s -j 2 demo
check_output "" \
    "configure and make call no autotool" sh -c 'cat "$1" 2> /dev/null || :' sh "$T/called"
check_output "$(sed -n 's/.*"\(.*\)"/\1/p' "$BUILD/build-id.h")" \
    "the archive's build has this build's id" sed -n 's/.*"\(.*\)"/\1/p' build-id.h
check "the archive's build runs a job" env -u BUILD launcher/mlaunch -n 2 -- true
done_testing
