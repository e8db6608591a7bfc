#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The collectives on two hosts with two ranks each: shared memory within a host, TCP between them.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"

HOSTS=$SOURCE/tests/lib/netns-hosts
"$HOSTS" usable > "$T/reason" 2>&1 || skip_all "$(cat "$T/reason")"
at_exit "$HOSTS" down mlcoll
# shellcheck disable=SC1090
. "$("$HOSTS" up 2 mlcoll)"

PROGRAM=$BUILD/tests/runtime/collectives
long=()
if is_long; then long=(--long); fi
check "2 hosts × 2 ranks, shm and tcp" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H mlcoll1:2,mlcoll2:2 --output raw -- "$PROGRAM" "${long[@]}"
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "no case failed"
check "2 hosts × 2 ranks, random calls" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H mlcoll1:2,mlcoll2:2 --output raw -- "$PROGRAM" --random 7 60
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "no random case failed"
check "2 hosts × 2 ranks, by hierarchy" env MLAUNCH_ALGO=all_reduce:hierarchical \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H mlcoll1:2,mlcoll2:2 --output raw -- "$PROGRAM" --random 11 40
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "each sum is right"
check "2 hosts × 2 ranks, started and blocking calls" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H mlcoll1:2,mlcoll2:2 --output raw -- "$PROGRAM" --started --random 5 60
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "none of them failed"
done_testing
