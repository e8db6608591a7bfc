#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host's cable is pulled: packets vanish, nothing is closed. Expected: noticed on both sides
# within 15 s; the job fails and names the host; the ranks on the cut-off host are gone 3 s later.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_LIMIT=120
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

WHERE=(-H "$H1,$H2")
zoo_start 8
begin=${EPOCHREALTIME/./}
netns cut "$H2"
wait "$mlaunch"
status=$?
took=$(((${EPOCHREALTIME/./} - begin) / 1000))
if [ $took -lt $(($(slow 15) * 1000)) ]; then pass "noticed within 15 s"; else
    fail "noticed within 15 s" "$took ms"
fi
if [ "$status" -eq 125 ]; then pass "status 125"; else fail "status 125" "$status"; fi
check_match "^mlaunch: host $H2 was lost: nothing was heard" "$T/err" "the host is named"
nothing_left "nothing is left 18 s after the cut" 5
netns join "$H2"

done_testing
