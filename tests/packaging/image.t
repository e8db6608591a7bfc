#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The image of packaging/Containerfile, in check-long: buildah makes it, in a store of its own, of
# what `make dist` archives; mlaunch runs in it. The images from which it starts are Debians of this
# machine's mirror (tests/fresh/make_system), so that no registry is asked.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
is_long || skip_all "only in check-long: it fetches a Debian and builds in it"
[ "$SANITIZE" = no ] || skip_all "an image is built without sanitizers"
[ "$(id -u)" = 0 ] || skip_all "needs root"
needs buildah
codename=$(sed -n 's/^FROM debian:\([a-z]*\) AS build$/\1/p' "$SOURCE/packaging/Containerfile")
archive=$("$SOURCE/tests/fresh/make_system" "$codename" 2> "$T/why") ||
    skip_all "$(tail -n 1 "$T/why")"

# Its layers are directories, and its commands run in them without a runtime for containers.
mkdir "$T/store" "$T/run" "$T/context"
image() {
    BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs buildah --root "$T/store" --runroot "$T/run" "$@"
}
unmount() { grep -o " $T/[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l; }
at_exit unmount
scratch=$(image from scratch) || skip_all "buildah makes no container here"
check "the Debian becomes an image" image add -q "$scratch" "$archive" /
for name in "$codename" "$codename-slim"; do
    check "the image debian:$name is made" image commit -q "$scratch" "localhost/debian:$name"
done
check "make dist-xz writes the archive" make -C "$BUILD" -s dist-xz
mv "$BUILD"/mlaunch-*.tar.xz "$T/context"
check "buildah builds the image of mlaunch" image bud -q --pull-never --network host -t mlaunch \
    -f "$SOURCE/packaging/Containerfile" "$T/context"
made=$(image from --pull-never mlaunch) || done_testing
inside() { image run "$made" -- "$@"; }
check "mlaunch --version runs in the image" inside mlaunch --version
check_match '^features: \+rdma \+ssh \+pmix \+hwloc \+ncurses -llm -usdt$' "$OUT" \
    "mlaunch in the image has its parts"
check_output "4" "a job of four ranks runs in the image" sh -c '"$@" | grep -c .' sh env \
    BUILDAH_ISOLATION=chroot \
    STORAGE_DRIVER=vfs buildah --root "$T/store" --runroot "$T/run" run "$made" -- \
    mlaunch -n 4 --output raw -- hostname
check "bench over shared memory runs in the image" inside mlaunch bench -n 2 --sizes 8 --check
done_testing
