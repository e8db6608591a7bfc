#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts of a job of --elastic with --restarts are lost, and spare hosts take their places while the
# others run: any host, rank 0's too, which has the coordinator, and one spare host after the other;
# spare hosts that do not start, or end while they do. Expected: the world has all its ranks again,
# every sum is right, and the job's status is 0; without a spare host that starts the others go on
# alone. Ctrl-C while a host is being opened ends all.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
hosts_up 5
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# spare_start SPARES [OPTION…]: two ranks on each of three hosts.
spare_start() {
    local spares=$1
    shift
    rm -f "$T/stop"
    job_start -n 6 --oversubscribe -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$spares" --elastic 2 \
        --restarts 2 --output raw "$@" -- "$SURVIVOR" "$T/stop"
    has_said 'membership 0' 6 || diag "not all ranks are up: $(cat "$T/err")"
}
# spare_end NAME RANKS
spare_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$1: every sum is right"
}
# The last word on members is that there are 6.
all_are_there() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q '"members":\[0,1,2,3,4,5\]'; }
# filled NAME HOST: two ranks have come there, and the job has all its ranks again.
filled() {
    check "$1: ranks come to $2" \
        wait_for '[ "$(grep -c "\"event\":\"replaced\".*\"host\":\"'"$2"'\",\"ms\":" "$EVENTS")" = 2 ]'
    check "$1: the world has all its ranks again" wait_for all_are_there
}

spare_start "$H4,$H5"
agent_kill "$H2" worker || fail "there is such a process"
filled "a host" "$H4"
check_match "^mlaunch: host $H2 was lost: .*; spare host $H4 takes its place \(ranks 2,3\)$" "$T/err" \
    "a host: mlaunch says so"
grep '"event":"replaced"' "$EVENTS" | grep '"ms"' | sed 's/^/# /'
agent_kill "$H1" worker || fail "there is such a process"
filled "rank 0's host, after it" "$H5"
check_match '"event":"coordinator","host":"'"($H3|$H4)"'"' "$EVENTS" "… the coordinator has moved"
spare_end "two hosts" 6

done_testing
