#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host's cable is pulled: packets vanish, nothing is closed. Expected: both sides notice
# the silence; the job fails and names the host; the ranks on the cut-off host are ended there.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

WHERE=(-H "$H1,$H2")
zoo_start 8
netns cut "$H2"
wait "$mlaunch"
status=$?
if [ "$status" -eq 125 ]; then
    pass "the job's status is 125"
else
    fail "the job's status is 125" "$status"
fi
check_match "^mlaunch: host $H2 was lost: nothing was heard from its agent for $(failure_s 10) s" "$T/err" \
    "the host is named, and why it was lost"
nothing_left "nothing is left, on either side of the cut"
netns join "$H2"

done_testing
