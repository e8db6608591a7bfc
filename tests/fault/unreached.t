#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two hosts of a job do not reach each other any more, although mlaunch reaches both; and a rank
# connects for the first time to a host that was just cut off. Expected: the calls end within some
# 13 s with an error that names both hosts. In a job of --elastic mlaunch gives up one of the two
# hosts, that with fewer ranks, or the one that is cut off; the others repair, every sum of theirs
# is right, and the job's status is 0.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# part HOST ADDRESS: what it sends there goes to a card that nobody has.
part() { must netns exec "$1" ip neigh replace "$2" lladdr 02:00:00:00:00:fe nud permanent dev eth0; }
unite() { must netns exec "$1" ip neigh del "$2" dev eth0; }
second_and_third() {
    "$1" "$H2" "$A3"
    "$1" "$H3" "$A2"
}
# unreached_start RANKS OPTION…
unreached_start() {
    rm -f "$T/stop"
    job_start -n "$1" --oversubscribe --output raw "${@:2}" -- "$SURVIVOR" "$T/stop"
}
connected() { wait_for 'netns exec "$H2" ss -Htn state established dst "$A3" | grep -q .'; }
# one_goes NAME WHY: the second host, which has one of five ranks.
one_goes() {
    check "$1: the others go on" has_said 'membership [1-9], 4 ranks' 4
    check_match "^mlaunch: host $H2 was lost: ranks there and on host $H3 do not reach each other, although mlaunch reaches both hosts: rank . on host ($H2|$H3).* rank . on host ($H2|$H3).*$2.*; 4 ranks may go on" \
        "$T/err" "$1: mlaunch names both hosts, and why"
    must touch "$T/stop"
    second_and_third unite
    zoo_end 0 "$1"
    check_output 4 "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum|survivor:' "$T/err" "$1: every sum is right, and no call has failed"
}
THREE=(-H "$H1:2,$H2:1,$H3:2" --elastic 2)

unreached_start 5 "${THREE[@]}"
connected
second_and_third part
one_goes "connections that fall silent" "Connection timed out"

second_and_third part
unreached_start 5 "${THREE[@]}"
one_goes "connections that cannot be made" "(No route to host|no answer in time)"

unreached_start 3 -H "$H1,$H2,$H3"
connected
second_and_third part
wait_for '! kill -0 "$mlaunch" 2> /dev/null' || fail "without --elastic: the job ends by itself"
second_and_third unite
zoo_end 3 "without --elastic"
check_match "survivor: a step: .*rank . on host ($H2|$H3)(: its| cannot connect| has).*host ($H2|$H3)" "$T/err" \
    "without --elastic: the call's error names both hosts"

rm -f "$T/go"
job_start -n 3 -H "$H1,$H2,$H3" --elastic 1 --output raw -- \
    python3 "$SOURCE/tests/fault/first_connection.py" "$T/go"
has_said up 3 || diag "not all ranks are up: $(cat "$T/err")"
netns cut "$H3"
must touch "$T/go"
check "the first connection to a host that was cut off: the others repair" has_said '^repaired 2' 2
check_match "^error PEER: .*rank 2 .*host $H3 was lost" "$T/out" \
    "the first connection to a host that was cut off: the error names it"
netns join "$H3"
zoo_end 0 "the first connection to a host that was cut off"

done_testing
