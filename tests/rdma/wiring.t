#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA's wiring on three virtual machines: found, written, verified, and every sentence for what is wrong (wiring.sh).
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"

[ -e "$BUILD/rdma/.libs/mlaunch-rdma.so" ] || skip_all "built without RDMA"
if ! "$SOURCE/tests/vm/prepare" > "$T/prepare" 2>&1; then
    # Where tests are compulsory, a machine without qemu is no excuse.
    [ -z "${CI:-}" ] || { fail "tests/vm/prepare" "$(cat "$T/prepare")"; done_testing; }
    skip_all "no virtual machines here: $(tail -n 1 "$T/prepare")"
fi
shares=()
for dir in "$SOURCE" "$BUILD"; do
    case $dir/ in /tmp/* | /run/* | /dev/*) shares+=(--share "$dir") ;; esac
done
cd "$SOURCE" || exit 1
"$SOURCE/tests/vm/run" -n 3 -t 590 -e "BUILD=$BUILD" -e "SOURCE=$SOURCE" -e "SANITIZE=$SANITIZE" "${shares[@]}" \
    -- bash tests/rdma/wiring.sh
code=$?
TEST_DONE=1
exit "$code"
