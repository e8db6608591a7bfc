#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch grow adds ranks on hosts that the job does not have: one, and two at once beside one that
# it has; then the coordinator's host is lost, and new hosts are, with and without a spare one. Hosts
# that cannot be reached, that end before they are ready, and that are asked for while others come.
# Expected: the new ranks have the next numbers, all meet them, every sum is right, and the status
# is 0; nothing is left of a host that does not come, and the job goes on as it was.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
hosts_up 5
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# two_start [OPTION…]: two ranks on each of two hosts.
two_start() {
    rm -f "$T/stop" "$T/hold" "$T/held"
    job_start -n 4 --oversubscribe -H "$H1:2,$H2:2" --elastic 2 "$@" --output raw -- \
        "$SURVIVOR" "$T/stop"
    has_said 'membership 0' 4 || diag "not all ranks are up: $(cat "$T/err")"
    id=$(job_id)
}
# two_end NAME RANKS
two_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum|survivor:' "$T/err" "$1: every sum is right, and no call has failed"
}
# grows NAME HOSTS WORDS
grows() {
    check_output "job $id: $3, and become members when the others call ml_repair (ml_changed)" \
        "$1: the command returns when they run" "$MLAUNCH" grow "$id" -H "$2"
}
# all_are NAME LIST: the last word on members.
# shellcheck disable=SC2317 # by wait_for
last_members() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q "\"members\":\[$1\]"; }
all_are() { check "$1: all meet" wait_for "last_members $2" || diag "$(tail -n 3 "$EVENTS" "$T/err")"; }
# nothing_is_left NAME HOST
nothing_is_left() {
    check "$1: nothing is left on $2" wait_for '! netns exec '"$2"' pgrep -f "^mlaunch-agent|survivor $T"'
}

two_start
grows "one host" "$H3:2" "ranks 4-5 run"
all_are "one host" 0,1,2,3,4,5
check "one host: newcomers find the larger world" has_said '^id [45]: has come, [56] ranks' 2
check_match '"event":"grown".*"rank":5,"host":"'"$H3"'","ms":' "$EVENTS" "one host: an event says where"
"$MLAUNCH" ps "$id" > "$OUT" 2>&1
check_match "^ *5 .*$H3" "$OUT" "one host: ps knows its ranks"
grows "the same host again" "$H3:2" "ranks 6-7 run"
all_are "the same host again" 0,1,2,3,4,5,6,7
check "one host: its ranks can leave" "$MLAUNCH" shrink "$id" 4-7
all_are "its ranks have left" 0,1,2,3
nothing_is_left "its ranks have left" "$H3"
grows "two hosts" "$H2,$H4,$H5" "ranks 8-10 run"
all_are "two hosts" 0,1,2,3,8,9,10
agent_kill "$H1" worker || fail "there is such a process"
all_are "without the coordinator's host" 2,3,8,9,10
agent_kill "$H2" worker || fail "there is such a process"
all_are "a new host has the coordinator" 9,10
check_match '"event":"coordinator".*"host":"'"$H4"'"' "$EVENTS" "… as an event says"
check_error 1 "job $id: host $H1 is not there any more" "a lost host gets no ranks" \
    "$MLAUNCH" grow "$id" -H "$H1"
two_end "the new hosts alone" 2

done_testing
