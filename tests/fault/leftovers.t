#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ranks leave behind when a job ends as it should: a daemon, a child deaf to SIGTERM, a stopped
# one, 1,000 children in sessions of their own; after a good end, a failure, Ctrl-C, and --timeout.
# Expected: gone when mlaunch returns.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 1
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

for where in localhost "$H1"; do
    WHERE=(-H "$where")
    [ "$where" = localhost ] && CHILDREN=1000
    zoo_start 4
    must kill -INT "$mlaunch"
    wait "$mlaunch" 2> /dev/null
    nothing_left "$where: Ctrl-C, $CHILDREN children" 0
    CHILDREN=100
    zoo_start 4 --timeout 5
    zoo_end 124 "$where: --timeout"
    zoo_start 4
    pid=$(sed -n 's/.*"event":"started".*"rank":1,.*"pid":\([0-9]*\).*/\1/p' "$EVENTS")
    # A host's pids mean other processes here.
    if [ "$where" = localhost ]; then kill -KILL "$pid"; else netns exec "$where" kill -KILL \
        "$pid"; fi
    zoo_end 137 "$where: a rank is killed"
    check_match "^mlaunch: rank 1 on host .* was killed by signal 9 \(Killed\)$" "$ERR" \
        "$where: the rank that was killed is named"
    job_status 0 \
        "$where: a rank leaves a daemon, and the job ends well" "${WHERE[@]}" -n 1 -- sh -c \
        '(setsid sh -c "trap \"\" TERM; sleep 300 & exec sleep 300" > /dev/null 2>&1 &) ; kill -0 $$'
    nothing_left "$where: a rank leaves a daemon, and nothing is left" 0
done

done_testing
