#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host without /dev/shm, as a chroot may be: the sentence names what is missing.
. "${0%/*}/../lib/test.sh"
unshare --mount -- true 2> /dev/null || skip_all "needs mount namespaces, and so root"

cat > "$T/bare" << 'SH'
mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 &&
    mknod -m 666 /dev/urandom c 1 9 || exit 99
exec "$@"
SH
check_error 1 'cannot make the shared memory .*: No such file or directory; /dev/shm is missing' \
    "a program that needs it" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- \
    "$BUILD/examples/hello"
check "one that does not" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 -- true
check "without shared memory" unshare --mount -- sh "$T/bare" "$MLAUNCH" -n 2 --local net \
    --backend tcp -- "$BUILD/examples/hello"
done_testing
