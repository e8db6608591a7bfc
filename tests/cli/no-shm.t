#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host without /dev/shm, as a chroot may be, or with one that nobody may write to, as a container
# may be: the sentence names /dev/shm, the system's word and the way without it.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/other-user.sh"
unshare --mount -- true 2> /dev/null || skip_all "needs mount namespaces, and so root"

mkdir "$T/dev"
cat > "$T/bare" << SH
for device in null zero urandom; do
    : > "$T/dev/\$device" && mount --bind "/dev/\$device" "$T/dev/\$device" || exit 99
done
mount --rbind "$T/dev" /dev || exit 99
exec "\$@"
SH
remedy='; mount a tmpfs there that this user may write to, or use --backend tcp --local net$'
check_error 1 "cannot make shared memory in /dev/shm: No such file or directory$remedy" \
    "a program that needs shared memory fails without /dev/shm" \
    unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- "$BUILD/examples/hello"
check "a program that needs no shared memory runs without /dev/shm" \
    unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- true
check "a program runs over TCP without /dev/shm" \
    unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 --local net \
    --backend tcp -- "$BUILD/examples/hello"

# under OPTIONS COMMAND…: with another /dev/shm.
under() { unshare --mount -- sh -c 'mount -t tmpfs -o "$0" t /dev/shm && exec "$@"' "$@"; }
check_error 1 "cannot make shared memory in /dev/shm: Read-only file system$remedy" \
    "a program that needs shared memory fails with a read-only /dev/shm" \
    under ro "$MLAUNCH" -n 2 -- "$BUILD/examples/hello"
check "a program runs over TCP with a read-only /dev/shm" \
    under ro "$MLAUNCH" -n 2 --local net --backend tcp -- "$BUILD/examples/hello"
if other_user; then
    check_error 1 "cannot make shared memory in /dev/shm: Permission denied$remedy" \
        "a program fails with a /dev/shm that others alone may write to" \
        under mode=0700 "${OTHER[@]}" "$OTHERS/launcher/mlaunch" -n 2 -- "$OTHERS/examples/hello"
else
    skip "a program fails with a /dev/shm that others alone may write to" \
        "there is no other user"
fi
done_testing
