#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Both processes of an agent are stopped with SIGSTOP, here and on another host. Expected: the job
# fails and names the host; here, nothing is left; for the other host mlaunch says which command
# ends the ranks there, and that command does.
# shellcheck disable=SC2154 # mlaunch, status: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 1
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# agent_stop HOST [INIT]
agent_stop() {
    local pids process
    for process in worker guard; do
        pids+=" $("$SOURCE/tests/fault/look.py" agent "$EVENTS" "$1" "$process" "${@:2}")"
    done
    # shellcheck disable=SC2086
    must kill -STOP $pids
}

zoo_start 4
agent_stop localhost
zoo_end 125 "both processes here"
check_match "^mlaunch: host localhost was lost: nothing was heard from its agent for $(failure_s 10) s$" "$ERR" \
    "both processes here: the host is named"

WHERE=(-H "$H1")
zoo_start 4
agent_stop "$H1" "$(init_of "$H1")"
wait "$mlaunch" 2> /dev/null
check_output 125 "both processes on a host: status 125" echo $?
check_match "; if the agent has been stopped, mlaunch kill $(job_id) -H $H1 ends its ranks$" \
    "$T/err" "both processes on a host: what to do is said"
check "mlaunch kill succeeds on the host of the stopped agent" "$MLAUNCH" kill "$(job_id)" \
    -H "$H1" --ssh-config "$NETNS_SSH_CONFIG"
nothing_left "mlaunch kill leaves nothing on that host"
done_testing
