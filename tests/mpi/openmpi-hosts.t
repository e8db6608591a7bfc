#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of Open MPI on several hosts: the hosts' PMIx servers meet through their agents.
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/mpi/openmpi.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 4
over() { timeout 60 "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }

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

mark=$(new_mark hosts)
check_error 7 "rank 3 on host $H2 .* aborted the job: MPI_Abort with code 7" \
    "MPI_Abort on another host" over -H "$H1,$H2" -n 4 -x "$mark" "$MPI" abort 7
nothing_left "MPI_Abort" "$mark"
check_error 137 "rank 3 on host $H2 .* was killed by signal 9" "a rank killed on another host" \
    over -H "$H1,$H2" -n 4 -x "$mark" "$MPI" kill
nothing_left "a rank killed" "$mark"
check_error 1 "rank 1 on host $H2 .* has ended, and other ranks wait for it in MPI" \
    "a host whose rank never calls MPI_Init" over -H "$H1,$H2" -n 2 -x "$mark" "$MPI" absent
nothing_left "a host that does not come" "$mark"
check "started again" over -H "$H1,$H2" -n 2 --restarts 1 "$MPI" first 1
check_match 'rank 1 of 2 .*right' "$OUT" "the hosts of the second run are one job"
check "by --agent-command" env TMPDIR="$T" timeout 60 "$MLAUNCH" \
    --agent-command "'$TEST_LIB/netns-hosts' exec {host}" -H "$H1,$H2" -n 2 "$MPI"
all_right 2 "the hosts are one job"
done_testing
