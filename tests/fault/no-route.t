#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One host has no route to the coordinator's, though mlaunch reaches both: for a moment, as when a
# network comes back, or for good. Expected: the job waits for the route; if none comes, it fails
# with the reason, also a job of --elastic, whose other ranks hear of those that have ended there
# before their ml_init times out.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
SURVIVOR=$BUILD/tests/fault/survivor
has_started() { wait_for '[ "$(grep -c "\"event\":\"started\"" "$EVENTS")" = 3 ]'; }

must netns exec "$H2" ip route add unreachable "$A1"
job_start -H "$H1,$H2:2" -- "$SURVIVOR" "$T/stop"
has_started || diag "not all have started: $(cat "$T/err")"
must netns exec "$H2" ip route del unreachable "$A1"
check "for a moment: all ranks meet" has_said 'membership 0, 3 ranks' 3
must touch "$T/stop"
zoo_end 0 "for a moment"

rm "$T/stop"
must netns exec "$H2" ip route add unreachable "$A1"
job_start -H "$H1,$H2:2" --elastic 1 --init-timeout 300 -- "$SURVIVOR" "$T/stop"
zoo_end 125 "for good"
check_match "host $H2 was lost: the job's coordinator at $A1:[0-9]+: .*: No route to host" "$T/err" \
    "for good: the reason is named"

# The ranks there end by themselves, and their agent cannot tell the coordinator.
# shellcheck disable=SC2016 # a rank's
job_start -v -H "$H1,$H2:2" --elastic 1 --init-timeout 300 -- sh -c '
    [ "$MLAUNCH_RANK" = 0 ] && exec "$1" "$2.stop"
    until [ -e "$2.leave" ]; do sleep 0.1; done
    exit 7' - "$SURVIVOR" "$T/file"
check "mlaunch hears that the host is cut off" \
    wait_for 'grep -q "host $H2: the job.s coordinator at" "$T/err"'
must touch "$T/file.leave"
zoo_end 7 "ranks that have ended there"
check_match 'stopping the job: signal 15' "$T/err" \
    "the other rank's ml_init fails, so the job is stopped before any time is up"
must netns exec "$H2" ip route del unreachable "$A1"

done_testing
