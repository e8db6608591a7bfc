#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of Open MPI on several hosts: the hosts' PMIx servers meet through their agents.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/mpi/openmpi.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 4
over() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }

check "two ranks on each of 2 hosts end well" over -H "$H1,$H2" -n 4 "$MPI"
all_right 4 "two ranks on each of 2 hosts are one job"
check "ranks dealt out over 4 hosts end well" over -H "$H1,$H2,$H3,$H4" -n 8 --map-by host "$MPI"
all_right 8 "ranks dealt out over 4 hosts are one job"
check "two hosts with --backend none end well" over -H "$H1,$H2" -n 2 --backend none "$MPI"
all_right 2 "two hosts with --backend none are one job"
check "two programs on two hosts end well" over -H "$H1,$H2" -n 1 "$MPI" : -n 1 "$MPI"
check_match 'rank 1 of 2 program 1' "$OUT" "the second of two programs is number 1"
check "a job where one host's program needs PMIx ends well" over -H "$H1,$H2" -n 1 "$MPI" : \
    -n 1 sh -c "$MPI"
check_match 'rank 1 of 2 program 1' "$OUT" "both hosts serve PMIx where one needs it"
all_right 2 "both hosts are one job where one needs PMIx"
check "ranks that ask for addresses one by one end well" over -H "$H1,$H2,$H3" -n 6 \
    -x OMPI_MCA_pmix_base_collect_data=0 "$MPI"
all_right 6 "ranks that ask for addresses one by one are one job"

check "ranks with names end well" over -H "$H1,$H2" -n 2 "$MPI" names
check_match 'name: port-of-rank-0' "$OUT" "names are found on the other host"
check_match 'unknown name: not found' "$OUT" "names that nobody published are not found"
check "a rank connects to a port on another host" over -H "$H1,$H2,$H3" -n 3 "$MPI" connect
check_match 'connected: right' "$OUT" "ranks on two hosts that are connected talk"

mark=$(new_mark hosts)
check_ends_on_hosts "$mark"
check "a job that was started again ends well" over -H "$H1,$H2" -n 2 --restarts 1 "$MPI" first 1
check_match 'rank 1 of 2 .*right' "$OUT" "the hosts of the second run are one job"
check "a job with --agent-command ends well" env TMPDIR="$T" "$MLAUNCH" \
    --agent-command "'$TEST_LIB/netns-hosts' exec {host}" -H "$H1,$H2" -n 2 "$MPI"
all_right 2 "two hosts with --agent-command are one job"
done_testing
