#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks with more threads than the host has processors: one hint at the end, unless --threads is
# given. The agent counts after 1, 2 and 4 s, so the ranks are at work for 6.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

# spin COUNT OPTION…: one rank, which has COUNT processes that spin.
spin() {
    local n=$1
    shift
    "$MLAUNCH" "$@" -- sh -c 'i=0; while [ $i -lt "$0" ]; do
        timeout 6 sh -c "while :; do :; done" & i=$((i + 1)); done; wait' "$n"
}
many=$(($(nproc) * 2))

check "a job with twice as many threads as processors runs" spin $many
cp "$ERR" "$T/hint"
check_match "^mlaunch: on host localhost, 1 rank had up to [0-9]+ threads at work on $(nproc) processors?: --threads auto" \
    "$T/hint" "too many threads are told at the end"
check_output 1 "too many threads are told once" grep -c 'at work on' "$T/hint"
check "a job with too many threads and --threads runs" spin $many --threads 1
cp "$ERR" "$T/silent"
check_output "" "no hint is given with --threads" cat "$T/silent"
check "a job with a rank of one thread runs" spin 1
cp "$ERR" "$T/silent"
check_output "" "no hint is given for one thread" cat "$T/silent"
done_testing
