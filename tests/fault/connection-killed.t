#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The process of sshd that serves one host's connection is killed. Expected: that host's ranks are
# gone, the others' as the grace says; the job fails and names the host.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

WHERE=(-H "$H1,$H2")
zoo_start 8
must agent_kill "$H2" sshd
zoo_end 125 "sshd's process"
check_match "^mlaunch: host $H2 was lost: " "$ERR" "the host is named"
check_no_match "host $H1 was lost" "$ERR" "the other host is not named"

done_testing
