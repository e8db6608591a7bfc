#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Launches in a row of 64 short ranks, 20 here and up to 1,000 in check-long; and one of 1,024
# ranks. Expected: each ends with 0, and nothing is left.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fault.sh"

ROUNDS=20
is_long && ROUNDS=1000
: > "$EVENTS"
bad=0
for ((i = 1; i <= ROUNDS; i++)); do
    has_time || break
    "${JOB[@]}" -n 64 --oversubscribe -- true > "$OUT" 2> "$ERR"
    status=$?
    [ "$status" -eq 0 ] || { bad=$((bad + 1)) && diag "launch $i: status $status: $(head -n 3 \
        "$ERR")"; }
done
if [ "$bad" -eq 0 ]; then pass "$((i - 1)) launches of 64 ranks end well"; else
    fail "$((i - 1)) launches of 64 ranks end well" "$bad failed"
fi
nothing_left "nothing is left of $ROUNDS launches"
job_status 0 "a launch of 1,024 ranks ends well" -n 1024 --oversubscribe -- true

# The descriptor limit.
few() { (ulimit -n "$1" && shift && "$@"); }
check_error 125 "1024 ranks need [0-9]+ open files, but the limit is 100: raise it" \
    "too few descriptors for the ranks are an error" \
    few 100 "$MLAUNCH" -n 1024 --oversubscribe -- true
raised() { (ulimit -Sn 64 && "$@"); }
check "a soft limit of descriptors is raised" raised "$MLAUNCH" -n 128 --oversubscribe -- true

done_testing
