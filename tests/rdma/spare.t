#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts of a job over RDMA are lost; spare hosts whose wiring the hostfile states take their places
# while the others run, and so do hosts that join again, on four hosts. Each link has a device of
# its own at both ends, rxe_pN towards host N, so ranks that come to another place use others.
# Expected:
# the rank of a lost host comes to a spare one over these, and the job grows there; a host whose
# device is down is passed over; a host that joins again has the wiring that was found.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
on_standin 4
. "${0%/*}/jobs.sh"
. "$SOURCE/tests/fault/fault.sh"
JOB+=(--hostfile "$RDMA_HOSTFILE" --agent-command 'ssh {host}' --backend rdma --ppn 1
    --oversubscribe --grace 1 --output raw)
SURVIVOR=$BUILD/tests/fault/survivor
STOP=/tmp/survivors-stop # hosts have a /tmp of their own each

on_all() { local h; for h in 0 1 2 3; do ssh host$h "$@"; done; }
# spare_start RANKS SPARES [OPTION…]
spare_start() {
    local ranks=$1 spares=$2
    shift 2
    on_all "rm -f $STOP*"
    job_start -n "$ranks" --spare-hosts "$spares" --elastic 1 --restarts 2 "$@" -- "$SURVIVOR" "$STOP"
    has_said 'membership 0' "$ranks" || fail "all ranks are up" "$(cat "$T/err")"
}
# host_kill HOST: its agent dies, and its guard ends the ranks.
host_kill() {
    must ssh "$1" kill -KILL \
        "$(sed -nE 's/.*"event":"connected".*"host":"'"$1"'","pid":([0-9]+).*/\1/p' "$EVENTS" | tail -n 1)"
}
# all_are_there RANKS: the last word on members is that they are 0 to RANKS - 1.
all_are_there() {
    grep '"event":"repaired"' "$EVENTS" | tail -n 1 |
        grep -qF "\"members\":[$(seq -s, 0 $(($1 - 1)))]"
}
# came NAME RANKS
came() {
    if wait_for "all_are_there $2"; then pass "$1: the world has $2 ranks"; else
        fail "$1: the world has $2 ranks" "$(grep -E 'repaired|lost|replaced' "$EVENTS" | tail -n 5)"
        diag_file "$T/err"
    fi
}
# used HOST PEER NAME: ranks of that host have queue pairs on its device towards the peer.
used() {
    objects "$1" "$2" > "$T/objects"
    check_match ' survivor pd [0-9]+ cq [0-9]+ qp [1-9]' "$T/objects" "$3"
}
# spare_end NAME RANKS
spare_end() {
    on_all "touch $STOP"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$1: every sum is right"
}

must port_down 2 0
spare_start 2 host2,host3
host_kill host1
came "a host is lost" 2
check_match '^mlaunch: host host2 did not start: .*rxe_p0.*; spare host host3 takes its place \(rank 1\)$' \
    "$T/err" "a host is lost: a spare host whose device is down is passed over"
used 3 0 "a host is lost: the other spare host uses the device that is stated"
used 0 3 "a host is lost: the other end uses the device that is stated"
check "mlaunch grow adds a rank on the spare host" "$MLAUNCH" grow \
    "$(sed -nE 's/.*"event":"launched".*"job":"([^"]+)".*/\1/p' "$EVENTS" | head -n 1)" -H host3:1
came "a host is lost, and the job grows" 3
spare_end "a host is lost" 3
must port_up 2 0

# Hosts that call the head, whose wiring is found when the job begins; one joins again.
must "$MLAUNCH" join --key-new "$T/key"
must ssh host1 "cat > /tmp/key && chmod 600 /tmp/key" < "$T/key"
: > "$EVENTS"
on_all "rm -f $STOP*"
JOIN=(join --hosts 2 --backend rdma --ppn 1 --grace 1 --elastic 1 --restarts 1)
set -m
"$MLAUNCH" "${JOIN[@]}" --head host0:7000 --index 0 --key-file "$T/key" --events "$EVENTS" --output raw -- \
    "$SURVIVOR" "$STOP" > "$T/out" 2> "$T/err" &
mlaunch=$!
set +m
# join_on_1: mlaunch join on host 1, whose pid $T/pid has.
join_on_1() {
    ssh host1 "echo \$\$; exec '$MLAUNCH' ${JOIN[*]} --head host0:7000 --index 1 --key-file /tmp/key -- $SURVIVOR $STOP" \
        > "$T/pid" 2> "$T/1.err" &
}
join_on_1
has_said 'membership 0' 2 || fail "hosts that join are up" "$(cat "$T/err" "$T/1.err")"
must ssh host1 kill -KILL "$(head -n 1 "$T/pid")"
wait_for 'grep -q "takes its place" "$T/err"' || fail "the loss is known" "$(cat "$T/err")"
join_on_1
came "a host that joins again" 2
used 0 1 "a host that joins again uses the device that was found"
spare_end "a host that joins again" 2

done_testing
