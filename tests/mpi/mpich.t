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

# Python's mpi4py is that of Open MPI, and is never imported: its script starts a program of MPICH.
if is_here mpicc.openmpi && [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ]; then
    mkdir -p "$T/site/mpi4py"
    echo 'int MPI_Init(int *, char ***); int use(void) { return MPI_Init(0, 0); }' > "$T/mpi4py.c"
    check "a module like mpi4py compiles" mpicc.openmpi -shared -fPIC -o "$T/site/mpi4py/MPI.x.so" \
        "$T/mpi4py.c"
    check "a script of a Python with the mpi4py of Open MPI ends well" "$MLAUNCH" -n 2 \
        -x "PYTHONPATH=$T/site" python3 -c 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])' "$MPI"
    all_right 2 "programs of MPICH that such a Python starts are one job"
    check_no_match . "$ERR" "programs of MPICH that such a Python starts are not warned of"
else
    skip "programs of MPICH that such a Python starts are one job" "$LACKS"
fi

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
check_error 1 'rank [01] on .* has run an MPI program that was not served, and a job of its own' \
    "ranks that --mpi pmix does not serve fail" "$MLAUNCH" -n 2 --mpi pmix "$MPI"
check_match 'warning: mpi_program, .* is a program of MPICH, but .*, because of --mpi pmix or a program' \
    "$ERR" "--mpi pmix says that it does not serve this program"
check_apart pmix
# MPICH's archive in the program, which needs what the library needs.
mapfile -t needed < <(readelf -d "$(mpicc.mpich -print-file-name=libmpich.so)" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/-l:\1/p')
if mpicc.mpich -Wl,--as-needed -o "$T/linked" "$SOURCE/tests/mpi/mpi_program.c" \
    "$(mpicc.mpich -print-file-name=libmpich.a)" "${needed[@]}" 2> "$T/why"; then
    check_no_match 'NEEDED.*mpich' <(readelf -d "$T/linked") "a program has MPICH linked into it"
    check "ranks with MPICH linked into them end well" "$MLAUNCH" -n 2 "$T/linked"
    all_right 2 "ranks with MPICH linked into them are one job"
    apart='rank [01] on .* runs an MPI program apart from the job: process [0-9]+ \(linked\) has MPICH linked'
    check_error 1 "$apart into it, and an environment without" \
        "a rank with MPICH linked into it that has lost its environment is named" \
        "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 env -i "PATH=$PATH" "$T/linked" stay
    check_error 1 "$apart into it, and is not served by PMI-1" \
        "a rank with MPICH linked into it that --mpi pmix does not serve is named" \
        "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 --mpi pmix "$T/linked" stay
    check "a program with MPICH linked into it that prints its version is not apart" \
        "$MLAUNCH" -n 2 --mpi pmix "$T/linked" version
else
    skip "a rank with MPICH linked into it is named" "it cannot be linked: $(head -n 1 "$T/why")"
fi
# A wrapper that closes all descriptors.
echo '#include <unistd.h>
int main(int c, char **v) { for (int i = 3; i < 1024; i++) close(i); execv(v[1], v + 1); return c; }' \
    > "$T/closes.c"
"$CC" -o "$T/closes" "$T/closes.c"
check_error 15 'warning: mpi_program, .* is a program of MPICH, but the socket .*PMI_FD. is closed' \
    "a program behind a wrapper that closes descriptors is told why it fails" \
    "$MLAUNCH" -n 2 "$T/closes" "$MPI"
check_match '^mlaunch: rank [01] on .* exited with status 15: mpi_program is .*PMI_FD. is closed: ' "$ERR" \
    "mlaunch's own sentence about the rank says so, too"
check "ranks with --no-compat and --mpi pmi1 end well" "$MLAUNCH" -n 2 --no-compat --mpi pmi1 "$MPI"
all_right 2 "ranks with --no-compat and --mpi pmi1 are one job"
check "a job within a rank ends well" "$MLAUNCH" -n 2 "$MLAUNCH" -q -n 2 --output raw "$MPI"
check_match 'rank 1 of 2' "$OUT" "a job within a rank is one of its own"
done_testing
