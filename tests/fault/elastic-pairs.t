#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two things happen to a job of --elastic --restarts --keep 2, one after the other: it grows by a
# host, a rank dies and is replaced, the coordinator's host is lost and a spare one takes its place,
# each after each other one; and a rank dies on the spare host. Expected: all ranks meet after each,
# what has been kept is there for all of them unless one has joined that has never kept anything,
# every sum is right, and the status is 0.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 4
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# Two ranks on each of two hosts, and a spare one.
pair_start() {
    rm -f "$T/stop"
    members=0,1,2,3 ranks=4
    job_start -n 4 --oversubscribe -H "$H1:2,$H2:2" --spare-hosts "$H4" --elastic 2 --restarts 3 \
        --keep 2 --output raw -- python3 "$SOURCE/tests/fault/keeping.py" "$T/stop"
    has_said 'keeps, 4 ranks' 4 || diag "not all ranks are up: $(cat "$T/err")"
    id=$(job_id)
}

# The last word on members is that all are there.
# shellcheck disable=SC2317 # by wait_for
last_members() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q "\"members\":\[$members\]"; }

grow() {
    check "$1: mlaunch grow" "$MLAUNCH" grow "$id" -H "$H3"
    members=0,1,2,3,4 ranks=5 expected=0
}
replace() {
    must netns exec "$H2" kill -KILL "$(rank_pid 3)"
    expected='[1-9][0-9]*'
}
lose() {
    must agent_kill "$H1" worker
    expected='[1-9][0-9]*'
}

# since LINE REGEX: each rank has written a line with it from that one on.
since() { [ "$(tail -n "+$1" "$T/out" | grep -Ec "$2, $ranks ranks")" -ge "$ranks" ]; }

# happens NAME WHAT: all say what they have found, after all have met again, and keep anew.
happens() {
    local from
    from=$(($(wc -l < "$T/out") + 1))
    "$2" "$1"
    check "$1: all ranks meet" wait_for last_members || diag "$(tail -n 3 "$EVENTS" "$T/err")"
    check "$1: what was kept is there for all" wait_for "since $from 'version $expected'" ||
        diag "$(tail -n 9 "$T/out")"
    check "$1: all go on" wait_for "since $from keeps"
}

for first in grow replace lose; do
    for second in grow replace lose; do
        [ "$first" != "$second" ] || continue
        name="$first, then $second"
        pair_start
        happens "$name: $first" "$first"
        happens "$name: $second" "$second"
        must touch "$T/stop"
        zoo_end 0 "$name"
        check_output "$ranks" "$name: all have ended well" grep -c ': done' "$T/out"
        check_no_match 'wrong|Traceback|backend none' "$T/out" "$name: every sum and part is right"
        check_no_match 'Traceback|backend none' "$T/err" "$name: no call has failed"
    done
done

# A rank dies on the host that has come later: what the host counts is compared there, too.
late() {
    must netns exec "$H4" kill -KILL "$(rank_pid 1)"
    expected='[1-9][0-9]*'
}
name="lose, then a death on the spare host"
pair_start
happens "$name: lose" lose
happens "$name: late" late
must touch "$T/stop"
zoo_end 0 "$name"
check_match "rank 1 on host $H4 .*killed by signal 9 .Killed.; another process takes its place" \
    "$T/err" "$name: it is said, and no other cause"
done_testing
