#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A network namespace whose loopback interface is down, as a new one is: the sentence says so, and
# blames no peer.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
unshare --net -- true 2> /dev/null || skip_all "needs network namespaces, and so root"

check_error 1 'cannot connect to 127.0.0.1:[0-9]+: the loopback interface is down .ip link set lo up' \
    "ranks that meet fail with loopback's sentence" \
    unshare --net -- "$MLAUNCH" -n 2 -- "$BUILD/examples/hello"
check "ranks that meet are not said to have lost a peer" sh -c '! grep "lost a peer" "$1"' - "$ERR"
check "ranks that don't meet need no loopback" unshare --net -- "$MLAUNCH" -n 2 -- true
done_testing
