# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# local_rows.sh: the rows of the failure table that need one host; run as several users and in
# several places. Source it after fault.sh.
# shellcheck disable=SC2154 # mlaunch: of fault.sh

local_rows() {
    local process
    zoo_start 4
    must kill -KILL "$mlaunch"
    zoo_end 137 "mlaunch is killed"
    for process in worker guard; do
        zoo_start 4 --grace 1
        must agent_kill localhost $process
        zoo_end 125 "the $process is killed"
        check_match "^mlaunch: host localhost was lost: " "$ERR" \
            "the $process is killed: the host is named"
    done
    zoo_start 4 --grace 1
    must kill -INT "$mlaunch"
    zoo_end 130 "Ctrl-C"
    zoo_start 4 --grace 1
    must kill -KILL "$(sed -n 's/.*"event":"started".*"rank":1,.*"pid":\([0-9]*\).*/\1/p' "$EVENTS")"
    zoo_end 137 "a rank is killed"
    check_match "^mlaunch: rank 1 on host .* was killed by signal 9 \(Killed\)$" "$ERR" \
        "a rank is killed: the rank is named"
    job_status 0 "a rank leaves a daemon: the job ends well" -n 1 -- sh -c \
        '(setsid sh -c "trap \"\" TERM; sleep 300 & exec sleep 300" > /dev/null 2>&1 &) ; kill -0 $$'
    nothing_left "a rank leaves a daemon: nothing is left" 0
    zoo_start 4
    must both_kill
    wait "$mlaunch" 2> /dev/null
    check "both are killed: mlaunch clean succeeds" "$MLAUNCH" clean "$(job_id)"
    nothing_left "both are killed: nothing is left after mlaunch clean" 0
}
