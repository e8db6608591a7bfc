#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# MPI programs of both kinds in a Slurm job. srun also serves PMI and PMIx, so a rank must meet the
# server of mlaunch, not srun's.
# shellcheck disable=SC2154 # out: of slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
. "$SOURCE/tests/mpi/judge.sh"
slurm_up 2
cd "$T" || exit 1

# programs_of KIND MPI: mpi_program.c of that kind, in an allocation, in a job script and in a step
# that srun serves by MPI, in its own word.
programs_of() {
    local program=$T/$1
    check_status 42 "$1: the status is the ranks' under salloc" on_login salloc -Q -N 2 \
        --ntasks-per-node=2 "$MLAUNCH" --output raw "$program" together 42
    all_right 4 "$1: the ranks on two nodes are one job"
    batch --nodes 2 --ntasks-per-node 2 run --output raw -- "$program" abort 7
    ends FAILED 7:0 "$1: MPI_Abort gives a job script its status"
    check_match "rank 3 on host $N2 .*aborted the job: MPI_Abort with code 7" "$out" \
        "$1: MPI_Abort in a job script is named"
    check_status 42 "$1: mlaunch may be a task of srun" on_login srun --mpi="$2" -n 1 "$MLAUNCH" \
        --output raw --oversubscribe -n 2 "$program" together 42
    all_right 2 "$1: the ranks are one job, not srun's"
    check_error 137 "rank 1 on host $N2 .*was killed by signal 9" \
        "$1: a rank killed in a barrier is named" \
        on_login salloc -Q -N 2 --ntasks-per-node=1 "$MLAUNCH" "$program" kill
}

for kind in mpich openmpi; do
    if [ "$kind" = mpich ]; then served=pmi2; else served=pmix; fi
    compiler=mpicc.$kind
    if [ "$kind" = openmpi ] && [ ! -x "$BUILD/launcher/pmix/mlaunch-pmix" ]; then
        skip "programs of $kind" "built without libpmix (libpmix-dev)"
    elif command -v "$compiler" > "$T/which" &&
        "$compiler" -o "$T/$kind" "$SOURCE/tests/mpi/mpi_program.c"; then
        programs_of "$kind" "$served"
    else
        skip "programs of $kind" "no $compiler here"
    fi
done
done_testing
