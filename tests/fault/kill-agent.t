#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process of one host's agent is killed with SIGKILL: the worker, then the guard; here and on one
# host of two. Expected: that host's ranks and all they have started are gone; the
# others' as the grace says; the job fails and names the host.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

for process in worker guard; do
    WHERE=(-H localhost)
    zoo_start 4
    must agent_kill localhost $process
    zoo_end 125 "the $process here"
    check_match "^mlaunch: host localhost was lost: " "$ERR" "the $process here: the host is named"

    WHERE=(-H "$H1,$H2")
    zoo_start 8
    must agent_kill "$H2" $process
    zoo_end 125 "the $process on a host"
    check_match "^mlaunch: host $H2 was lost: " "$ERR" "the $process on a host: the host is named"
done

done_testing
