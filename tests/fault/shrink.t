#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch shrink takes ranks out of a job of --elastic: over shm, over TCP with --restarts, one that
# ignores SIGTERM, and all of the coordinator's host. Expected: the others repair at once and every
# sum of theirs is right, those that leave are ended with the grace and not replaced, the command
# returns 0 once they have ended, and so does the job.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor

# shrink_start RANKS OPTION… -- COMMAND…
shrink_start() {
    rm -f "$T/stop"
    job_start -n "$1" --oversubscribe --output raw "${@:2}" "$T/stop"
    has_said 'membership 0' "$1" || diag "not all ranks are up: $(cat "$T/err")"
    id=$(job_id)
}
# shrink_end NAME RANKS
shrink_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that stay have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum|warning|error' "$T/err" "$1: every sum is right, and nothing has failed"
}
# leave NAME RANKS MEMBERSHIP LEFT
leave() {
    check_output "job $id: the ranks have left" "$1: the command returns when they have ended" \
        sh -c '"$1" shrink "$2" "$3" | tail -n 1' sh "$MLAUNCH" "$id" "$2"
    check "$1: the others go on" has_said "membership $3, $4 ranks" "$4"
}

shrink_start 4 --elastic 2 -- "$SURVIVOR"
leave "two ranks" 1,3 1 2
check_match '^mlaunch: ranks 1,3 leave the job \(mlaunch shrink by .* on host .*\); 2 ranks may go on \(--elastic 2\)$' \
    "$T/err" "two ranks: mlaunch says so"
check_match '"event":"shrunk".*"ranks":\[1,3\]' "$EVENTS" "two ranks: so does an event"
shrink_end "two ranks" 2
check_match '^mlaunch: the job has ended well with 2 of 4 ranks, without ranks 1,3$' "$T/err" \
    "two ranks: the job's last word"

# Nobody waits for newcomers, which would be 10 s.
shrink_start 4 --elastic 1 --restarts 5 --replace-wait 600 --backend tcp --local net --grace 1 -- \
    sh -c 'trap "" TERM; exec "$0" "$@"' "$SURVIVOR"
leave "one that ignores SIGTERM" 0 1 3
check_match '"event":"exited".*"rank":0,.*"signal":9' "$EVENTS" \
    "one that ignores SIGTERM: SIGKILL comes after the grace"
# A dead rank's place is filled again, but not that of one which has left.
kill -KILL "$(sed -nE 's/.*"event":"started".*"rank":2,.*"pid":([0-9]+).*/\1/p' "$EVENTS")"
check "one that ignores SIGTERM: others are still replaced" has_said 'membership 2, 3 ranks, came 2$' 2
shrink_end "one that ignores SIGTERM" 3

hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
shrink_start 6 -H "$H1,$H2,$H3" --elastic 1 --restarts 1 --replace-wait 600 -- "$SURVIVOR"
leave "the ranks beside the coordinator" 0-1 1 4
leave "a rank of another host" 5 2 3
must agent_kill "$H1" worker
check "the coordinator beside no ranks: another host gets it" \
    wait_for 'grep -q "\"event\":\"coordinator\"" "$EVENTS"'
leave "after the coordinator has moved" 4 '[34]' 2
must touch "$T/stop"
zoo_end 0 "hosts"
check_output 2 "hosts: all that stay have ended well" grep -c ': done' "$T/out"
done_testing
