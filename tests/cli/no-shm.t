#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host without /dev/shm, as a chroot may be: the sentence names what is missing.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
unshare --mount -- true 2> /dev/null || skip_all "needs mount namespaces, and so root"

mkdir "$T/dev"
cat > "$T/bare" << SH
for device in null zero urandom; do
    : > "$T/dev/\$device" && mount --bind "/dev/\$device" "$T/dev/\$device" || exit 99
done
mount --rbind "$T/dev" /dev || exit 99
exec "\$@"
SH
check_error 1 'cannot make the shared memory .*: No such file or directory; /dev/shm is missing' \
    "a program that needs it" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- \
    "$BUILD/examples/hello"
check "one that does not" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- true
check "without shared memory" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 --local net \
    --backend tcp -- "$BUILD/examples/hello"
done_testing
