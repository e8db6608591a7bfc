#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of MPICH on several hosts: the ranks learn of each other through the hosts' agents.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/mpi/mpich.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 4
over() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" "$@"; }

check_status 42 \
    "the status of two ranks on each of 2 hosts is theirs" over -H "$H1,$H2" -n 4 "$MPI" together 42
all_right 4 "two ranks on each of 2 hosts are one job"
check_status 42 "the status of ranks dealt out over 4 hosts is theirs" over -H "$H1,$H2,$H3,$H4" \
    -n 8 --map-by host "$MPI" together 42
all_right 8 "ranks dealt out over 4 hosts are one job"
check_status 42 "the status with --backend none is the ranks'" over -H "$H1,$H2" -n 2 \
    --backend none "$MPI" together 42
all_right 2 "two hosts with --backend none are one job"
check_status 42 "the status of two programs is theirs" over -H "$H1,$H2" -n 1 "$MPI" together 42 : \
    -n 1 "$MPI" together 42
check_match 'rank 1 of 2 program 1' "$OUT" "the second of two programs is number 1"
check_status 42 \
    "the status of ranks with names is theirs" over -H "$H1,$H2" -n 2 "$MPI" names 0 together 42
check_match 'name: port-of-rank-0' "$OUT" "names are found on the other host"

check "a start and an end without MPI's own messages" over -H "$H1,$H2" -n 4 --mpi pmi1 --output raw \
    python3 "$SOURCE/tests/mpi/pmi_speak.py" init cmd=get_my_kvsname \
    "3:cmd=put kvsname=NAME key=a value=x" cmd=barrier_in "cmd=get kvsname=NAME key=a" \
    "cmd=get kvsname=NAME key=PMI_process_mapping" cmd=barrier_in cmd=finalize
cp "$OUT" "$T/answers"
check_output 4 "all ranks find what one has put" grep -c 'msg=success value=x$' "$T/answers"
check_output 4 "all ranks find who shares a host" grep -c 'value=(vector,(0,2,2))$' "$T/answers"

mark=$(new_mark hosts)
check_ends_on_hosts "$mark"
check_status 42 "the status of the second run is the ranks'" over -H "$H1,$H2" -n 2 --restarts 1 \
    "$MPI" first 1 together 42
check_match 'rank 1 of 2 .*right' "$OUT" "the hosts of the second run are one job"
check_status 42 "the status with --agent-command is the ranks'" env TMPDIR="$T" "$MLAUNCH" \
    --agent-command "'$TEST_LIB/netns-hosts' exec {host}" -H "$H1,$H2" -n 2 "$MPI" together 42
all_right 2 "two hosts with --agent-command are one job"
done_testing
