#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The collectives on two hosts with two ranks each: shared memory within a host, TCP between them.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"

hosts_up 2

PROGRAM=$BUILD/tests/runtime/collectives
long=()
if is_long; then long=(--long); fi
check "2 hosts × 2 ranks end well over shm and tcp" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" --output raw -- "$PROGRAM" \
    "${long[@]}"
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "no case fails over shm and tcp"
check "2 hosts × 2 ranks end well with random calls" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" --output raw -- "$PROGRAM" \
    --random 7 60
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "no random case fails"
check "2 hosts × 2 ranks end well, encrypted between them" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" --secure --output raw -- \
    "$PROGRAM" --random 7 60
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" \
    "no random case fails, encrypted between hosts"
# Each algorithm for several hosts, also where the table would choose another one; on hosts with
# equally and with unequally many ranks.
leaders=all_reduce:leaders,reduce:leaders,all_gather:leaders,broadcast:leaders,barrier:leaders
hierarchical=all_reduce:hierarchical,all_gather:hierarchical
for hosts in "$H1:2,$H2:2" "$H1:1,$H2:3"; do
    for algorithms in "$leaders" "$hierarchical"; do
        check "$hosts end well with $algorithms" env MLAUNCH_ALGO="$algorithms" "$MLAUNCH" \
            --ssh-config "$NETNS_SSH_CONFIG" -H "$hosts" \
            --output raw -- "$PROGRAM" --random 11 60
        check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" \
            "each result is right on $hosts with $algorithms"
        check "$hosts end well with $algorithms, started too" env MLAUNCH_ALGO="$algorithms" \
            "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" \
            -H "$hosts" --output raw -- "$PROGRAM" --started --random 12 60
        check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" \
            "each result is right on $hosts with $algorithms, started too"
    done
done

check "2 hosts × 2 ranks end well with started and blocking calls" \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" --output raw -- "$PROGRAM" \
    --started --random 5 60
check_match '^4 ranks: [0-9]+ cases, 0 failures$' "$OUT" "no started or blocking call fails"
done_testing
