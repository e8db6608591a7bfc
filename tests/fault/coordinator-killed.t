#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rank 0's host, where the coordinator runs, dies in each way: its worker, its guard, both, or all
# of the job's processes there are killed. Expected: that host is named each time, though the others
# notice the coordinator's end first.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
times=3
is_long && times=50

# blame WHAT: kills it on $H1, once the ranks are in their calls; silent and true if $H1 is named.
blame() {
    job_start -H "$H1:2,$H2:2" -n 4 -- "$FAULTY" call 4 none
    has_said ready 4 && agent_kill "$H1" "$1" || return 1
    wait "$mlaunch" 2> /dev/null
    status=$?
    [ "$status" -eq 125 ] && grep -q "^mlaunch: host $H1 was lost: " "$T/err" &&
        ! grep -q "host $H2 was lost" "$T/err"
}

for what in worker guard both all; do
    named=0
    for ((i = 0; i < times; i++)); do
        if blame "$what"; then
            named=$((named + 1))
        else
            diag "status $status: $(cat "$T/err")"
        fi
        # Nobody cleans up after both.
        [ "$what" = worker ] || [ "$what" = guard ] ||
            run "$MLAUNCH" clean --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" "$(job_id)"
    done
    check_output "$times" "$what: the host is named, $times of $times times" echo "$named"
    nothing_left "$what: nothing is left"
done

done_testing
