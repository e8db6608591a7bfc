#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of Open MPI on several hosts: the hosts' PMIx servers meet through their agents.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/mpi/openmpi.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 4
over() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }

check "2 hosts of 2 ranks" over -H "$H1,$H2" -n 4 "$MPI"
all_right 4 "are one job"
check "4 hosts, ranks dealt out" over -H "$H1,$H2,$H3,$H4" -n 8 --map-by host "$MPI"
all_right 8 "are one job"
check "with --backend none" over -H "$H1,$H2" -n 2 --backend none "$MPI"
all_right 2 "the hosts are one job"
check "two programs" over -H "$H1,$H2" -n 1 "$MPI" : -n 1 "$MPI"
check_match 'rank 1 of 2 program 1' "$OUT" "the second is number 1"
check "where only one host's program needs PMIx" over -H "$H1,$H2" -n 1 "$MPI" : \
    -n 1 sh -c "$MPI"
check_match 'rank 1 of 2 program 1' "$OUT" "both hosts serve it"
all_right 2 "and are one job"
check "with addresses that are asked for one by one" over -H "$H1,$H2,$H3" -n 6 \
    -x OMPI_MCA_pmix_base_collect_data=0 "$MPI"
all_right 6 "the hosts are one job"

check "names" over -H "$H1,$H2" -n 2 "$MPI" names
check_match 'name: port-of-rank-0' "$OUT" "are found on the other host"
check_match 'unknown name: not found' "$OUT" "not where there is none"
check "a rank connects to a port on another host" over -H "$H1,$H2,$H3" -n 3 "$MPI" connect
check_match 'connected: right' "$OUT" "and they talk"

mark=$(new_mark hosts)
check_ends_on_hosts "$mark"
check "started again" over -H "$H1,$H2" -n 2 --restarts 1 "$MPI" first 1
check_match 'rank 1 of 2 .*right' "$OUT" "the hosts of the second run are one job"
check "by --agent-command" env TMPDIR="$T" "$MLAUNCH" \
    --agent-command "'$TEST_LIB/netns-hosts' exec {host}" -H "$H1,$H2" -n 2 "$MPI"
all_right 2 "the hosts are one job"
done_testing
