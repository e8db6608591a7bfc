#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch grow adds ranks to a job of --elastic: over shm, over TCP where one of them is killed and
# replaced, and on several hosts, before and after the coordinator's host is lost. Expected: the new
# ranks have the next numbers, which are never given twice, all others meet them in a world that is
# larger than the first one, every sum is right, and the job's status is 0.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor

# grow_start RANKS OPTION…
grow_start() {
    rm -f "$T/stop"
    job_start -n "$1" --oversubscribe --output raw "${@:2}" -- "$SURVIVOR" "$T/stop"
    has_said 'membership 0' "$1" || diag "not all ranks are up: $(cat "$T/err")"
    id=$(job_id)
}
# grow_end NAME RANKS
grow_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum|survivor:' "$T/err" "$1: every sum is right, and no call has failed"
}
# grows NAME HOSTS WORDS: the command says that these ranks run.
grows() {
    check_output "job $id: $3, and become members when the others call ml_repair (ml_changed)" \
        "$1: the command returns when they run" "$MLAUNCH" grow "$id" -H "$2"
}
# one_grows NAME HOST RANK
one_grows() {
    check_output "job $id: rank $3 runs, and becomes a member when the others call ml_repair (ml_changed)" \
        "$1: the command returns when it runs" "$MLAUNCH" grow "$id" -H "$2"
}
rank_kill() {
    kill -KILL "$(sed -nE 's/.*"event":"started".*"rank":'"$1"',.*"pid":([0-9]+).*/\1/p' "$EVENTS" | tail -n 1)"
}
# last_members LIST: the last word on members.
# shellcheck disable=SC2317 # by wait_for
last_members() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q "\"members\":\[$1\]"; }

grow_start 2 --elastic 2
grows "here" localhost:2 "ranks 2-3 run"
check "here: all meet" wait_for 'last_members 0,1,2,3'
check "here: newcomers find the larger world" has_said '^id [23]: has come, [34] ranks' 2
check_match '^mlaunch: the job gets ranks 2,3 \(mlaunch grow by .* on host ' "$T/err" "here: mlaunch says so"
check_match '"event":"grown".*"rank":3,"host":"localhost","ms":' "$EVENTS" \
    "here: an event names the new rank"
check "here: one of each kind leaves" "$MLAUNCH" shrink "$id" 1,3
one_grows "here again" localhost 4
check "here again: the new rank has a new number" wait_for 'last_members 0,2,4'
check_output 3/5 "here again: mlaunch ps knows the new rank" \
    sh -c '"$1" ps "$2" | sed -nE "2s/.* ([0-9]+\/[0-9]+) .*/\1/p"' sh "$MLAUNCH" "$id"
grow_end "here" 3

grow_start 2 --elastic 1 --restarts 2 --backend tcp --local net --secure
one_grows "over TCP" localhost 2
check "over TCP: all meet" wait_for 'last_members 0,1,2'
for time in 1 2; do
    rank_kill 2
    check "over TCP: another process takes its place, $time" \
        wait_for '[ "$(grep -c "\"event\":\"replaced\"" "$EVENTS")" = '"$time"' ]'
done
check "over TCP: all meet again" wait_for 'last_members 0,1,2'
rank_kill 0
check "over TCP: the others are replaced, too" has_said 'came 0$' 2
grow_end "over TCP" 3

hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
grow_start 3 -H "$H1,$H2,$H3" --elastic 1 --restarts 1
grows "hosts" "$H2,$H3,$H1" "ranks 3-5 run"
check "hosts: all meet" wait_for 'last_members 0,1,2,3,4,5'
check_match '"event":"grown".*"rank":3,"host":"'"$H2"'"' "$EVENTS" "hosts: each rank is where it was asked for"
must agent_kill "$H1" worker
check "hosts: the others go on without rank 0's host" wait_for 'last_members 1,2,3,4'
one_grows "the next coordinator" "$H3" 6
check "the next coordinator: all meet" wait_for 'last_members 1,2,3,4,6'
check_error 1 "job $id: host $H1 is not there any more" "a lost host gets no ranks" \
    "$MLAUNCH" grow "$id" -H "$H1"
grow_end "hosts" 5
done_testing
