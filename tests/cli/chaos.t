#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --chaos: each fault happens at its time, once, is announced, and ends as a real one does.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

job_says 137 'rank 1 on host localhost .* killed by signal 9' \
    "kill: the job ends as after any death" -n 2 --chaos 'kill 1' -- sleep 60
check_match '^mlaunch: --chaos: rank 1 is killed \(SIGKILL\)$' "$ERR" "a kill is announced"
check_match '"event":"chaos".*"action":"kill","ranks":\[1\]' "$EVENTS" "a kill is an event"

# Rank 0 sees rank 1, which may not have begun its program, stopped, and running again.
job_status 0 "stop: the rank goes on afterwards" -n 2 --timeout 100 \
    --chaos 'stop 1 for 8s after 1s' -- sh -c '
    if [ "$MLAUNCH_RANK" = 1 ]; then
        until [ -e "$0/seen" ]; do sleep 0.05; done
        exit 0
    fi
    events=$1
    pid_of() { sed -nE "s/.*\"event\":\"started\".*\"rank\":1,.*\"pid\":([0-9]+).*/\1/p" "$events"; }
    until pid=$(pid_of) && [ "$pid" ]; do sleep 0.05; done
    is() { read -r text 2> /dev/null < "/proc/$pid/stat" && [ "${text#*) "$1"}" != "$text" ]; }
    until is T; do sleep 0.05; done
    while is T; do sleep 0.05; done
    touch "$0/seen"' "$T" "$EVENTS"
check_match '^mlaunch: --chaos: rank 1 is stopped for 8.000 s \(SIGSTOP\)$' "$ERR" \
    "a stop is announced"
check_match '"action":"continue","ranks":\[1\]' "$EVENTS" "the end of a stop is an event"

job_status 0 "a job that is started again meets each fault once" -n 2 --restarts 1 \
    --chaos 'kill 0 after 2s' -- sh -c 'if [ $MLAUNCH_RESTART = 0 ]; then exec sleep 60; fi'
check_output 1 "the events have the fault once" grep -c '"action":"kill"' "$EVENTS"
job_says 0 '^mlaunch: --chaos: none of the ranks to kill runs now$' \
    "a kill without a rank that runs is said" -n 2 \
    --chaos 'kill 1 after 4s' -- sh -c '[ $MLAUNCH_RANK = 1 ] ||
        until grep -q "none of the ranks" "$0"; do sleep 0.05; done' "$ERR"

job_says 125 'host localhost was lost: its connection was cut by --chaos' \
    "cut: the host is lost" -n 2 --chaos 'cut localhost' -- sleep 60
check_match '^mlaunch: --chaos: the connection to host localhost is cut$' "$ERR" \
    "a cut is announced"

check_error 125 "--chaos: 'explode 1': an action begins with kill, stop or cut" \
    "an action that is not there is refused" "$MLAUNCH" -n 2 --chaos 'kill 0; explode 1' -- true
check_error 125 "--chaos: there is no rank 2: the job has ranks 0 to 1" \
    "a rank that is not there is refused" "$MLAUNCH" -n 2 --chaos 'kill 2' -- true
check_error 125 "--chaos: host b is not one of the job's" "a host that is not there is refused" \
    "$MLAUNCH" -n 2 --chaos 'cut b' -- true
done_testing
