#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of MPICH start unmodified on one host, as one job, and end as other programs do.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
ALONE=-n
. "$SOURCE/tests/mpi/mpich.sh"

for n in 1 2 4 16; do
    check "$n ranks of MPICH end well" "$MLAUNCH" -n "$n" "$MPI"
    all_right "$n" "all $n ranks are one job"
done
check "ranks with --bind-to core, --backend none and --output raw end well" \
    "$MLAUNCH" -n 2 --bind-to core --backend none --output raw "$MPI"
all_right 2 "both ranks with these options are one job"
check "two programs end well" "$MLAUNCH" -n 2 "$MPI" : -n 1 "$MPI"
all_right 3 "two programs are one job"
check_match 'rank 1 of 3 program 0' "$OUT" "the first program is number 0"
check_match 'rank 2 of 3 program 1' "$OUT" "the second program is number 1"
check "ranks in a shell script end well" "$MLAUNCH" -n 2 sh -c "$MPI; true"
all_right 2 "ranks in a shell script are one job"

mark=$(new_mark mpich)
check_ends "$mark"

check "names are published" "$MLAUNCH" -n 2 "$MPI" names
check_match 'name: port-of-rank-0' "$OUT" "published names are found"
check_match 'unknown name: not found' "$OUT" "names that nobody published are not found"
check "ranks with names end well with --backend none" "$MLAUNCH" -n 2 --backend none "$MPI" names
check_match 'name: port-of-rank-0' "$OUT" "names are found with --backend none, too"

# A rank that does not come to a call of MPI.
if is_here eu-stack || is_here gdb; then
    "$MLAUNCH" -n 3 --name "late-$$" "$MPI" late > "$T/late" 2>&1 &
    late=$!
    wait_for 'test "$(grep -c "of 3" "$T/late")" = 3'
    wait_for '"$MLAUNCH" ps --stacks "late-$$" > "$T/ps" 2>&1 && grep -q MPI_Barrier "$T/ps"'
    check_match '^0,1 are in MPI_Barrier, called (at|by) .*main$' "$T/ps" \
        "a report of a hang names the call of MPI, and who is in it"
    check_match '^2 (is|are) in .*main$' "$T/ps" "a report of a hang says where another rank is"
    kill -TERM "$late"
    wait "$late"
else
    skip "a report of a hang names the call of MPI, and who is in it" "$LACKS"
fi

check "started again after a failure" \
    "$MLAUNCH" -n 2 --restarts 1 -x "$mark" "$MPI" first 1
check_match 'rank 1 of 2 .*right' "$OUT" "the ranks of the second run are one job"
nothing_left "a job that was started again" "$mark"

check "ranks with --mpi none end well" "$MLAUNCH" -n 2 --mpi none "$MPI"
check_match 'rank 0 of 1' "$OUT" "--mpi none makes each rank a job of its own"
check_output "" \
    "--mpi none sets no variable" "$MLAUNCH" --mpi none -- sh -c 'env | grep ^PMI_; true'
check_output "" \
    "--no-compat sets no variable" "$MLAUNCH" --no-compat -- sh -c 'env | grep ^PMI_; true'
check_status 141 "a second program in a script fails" "$MLAUNCH" -n 2 sh -c "$MPI; $MPI"
check_match 'warning: mpi_program, .* is a program of MPICH, but the rank has run an MPI' "$ERR" \
    "a second program in a script is told why it fails"
check "ranks with --mpi pmix end well" "$MLAUNCH" -n 2 --mpi pmix "$MPI"
check_match 'warning: mpi_program, .* is a program of MPICH, but the ranks are served by PMIx' \
    "$ERR" "--mpi pmix says that it does not serve this program"
check "ranks with --no-compat and --mpi pmi1 end well" "$MLAUNCH" -n 2 --no-compat --mpi pmi1 "$MPI"
all_right 2 "ranks with --no-compat and --mpi pmi1 are one job"
check "a job within a rank ends well" "$MLAUNCH" -n 2 "$MLAUNCH" -q -n 2 --output raw "$MPI"
check_match 'rank 1 of 2' "$OUT" "a job within a rank is one of its own"
done_testing
