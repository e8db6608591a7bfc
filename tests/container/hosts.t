#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Containers on two hosts over SSH, which have no mlaunch: all that is needed is copied.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../mpi/judge.sh"
. "${0%/*}/image.sh"
needs bwrap
bwrap --ro-bind / / true 2> "$T/why" || skip_all "bwrap cannot make a container here: $(cat "$T/why")"
home=$(awk -F: '$3 == 0 { print $6; exit }' /etc/passwd)
NETNS_PRIVATE="$home" hosts_up 2
CONTAINER="bwrap --ro-bind $IMAGE /"
for mounted in "${MOUNTED[@]}"; do CONTAINER+=" --bind $mounted $mounted"; done
cd "$T" || exit 1
ml() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" --container "$CONTAINER" "$@"; }

check_output "the image's
the image's" "ranks of two hosts see the image" ml -n 2 --output raw -- cat /etc/whose
check "four ranks on two hosts make all collective calls" ml -n 4 --oversubscribe --output raw -- \
    "$BUILD/tests/runtime/collectives" --program --diagonal
for kind in mpich openmpi; do
    compiler=mpicc.$kind
    if ! is_here "$compiler"; then
        skip "a program of $kind runs on two hosts" "$LACKS"
        continue
    fi
    must "$compiler" -o "$T/mpi_$kind" "$SOURCE/tests/mpi/mpi_program.c"
    check_status 42 \
        "a program of $kind runs on two hosts" ml -n 4 --oversubscribe -- "$T/mpi_$kind" together 42
    all_right 4 "a program of $kind on two hosts is one job"
done
check_error 127 "rank 1 on host $H2 could not be started: the image $IMAGE has no program \./only-there" \
    "the host of a rank that cannot start is named" \
    ml -n 2 --output raw --wrap '1: ./only-there' -- sleep 100
done_testing
