# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# judge.sh: whether the ranks of mpi_program.c were one job, what it has left, and how it ends when
# a rank does what it must not.

# all_right N NAME: $OUT has N lines of `say`, and nothing in them is wrong.
all_right() {
    if [ "$(grep -c "rank [0-9]* of $1 .*sum right ring right" "$OUT")" = "$1" ]; then
        pass "$2"
    else
        fail "$2"
        diag_file "$OUT"
    fi
}

# nothing_left NAME MARK: no process of a job, and nothing in /dev/shm that was not there.
segments() { find /dev/shm -mindepth 1 -maxdepth 1 | sort; }
nothing_left() {
    no_survivors "$1: no process is left" "$2"
    check_output "$SEGMENTS" "$1: no segment is left" segments
}
SEGMENTS=$(segments)

# check_ends MARK: a rank of three aborts, is killed, leaves early or never calls MPI_Init.
check_ends() {
    local mark=$1
    check_error 7 'rank 2 on host .* aborted the job: MPI_Abort with code 7' \
        "MPI_Abort gives the status" "$MLAUNCH" -n 3 -x "$mark" "$MPI" abort 7
    nothing_left "MPI_Abort" "$mark"
    check_error 137 'rank 2 on host .* was killed by signal 9' \
        "a rank killed, others in a barrier" "$MLAUNCH" -n 3 -x "$mark" "$MPI" kill
    nothing_left "a rank killed" "$mark"
    check_error 1 'rank 2 on host .* exited with status 0 without calling MPI_Finalize' \
        "a rank that leaves early is named" "$MLAUNCH" -n 3 -x "$mark" "$MPI" leave
    nothing_left "a rank that leaves" "$mark"
    check_error 1 'rank 2 on host .* other ranks wait for it in MPI_Init, which it has not called' \
        "a rank without MPI_Init is named" "$MLAUNCH" -n 3 -x "$mark" "$MPI" absent
    check_error 137 'rank 1 on host .* was killed by signal 9' "a rank killed before MPI_Init" \
        "$MLAUNCH" -n 1 "$MPI" : -n 1 sh -c 'kill -9 $$'
}

# check_apart PROTOCOL: ranks whose environment is lost, and ranks of which that is said to be
# right. A program that only prints its version is not apart, and may be one that PROTOCOL does not
# serve.
check_apart() {
    check_error 1 'rank [01] on .* runs an MPI program apart from the job: process [0-9]+ \(mpi_program\)' \
        "a rank that has lost its environment is named, and the job fails" \
        "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 env -i "PATH=$PATH" "$MPI" stay
    check_error 1 'rank [01] on .* runs an MPI program apart from the job: process' \
        "a program below a rank that has lost its environment is named" \
        "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 sh -c 'env -i "PATH=$PATH" "$0" stay; true' "$MPI"
    check "--mpi none permits an MPI program without an environment" \
        "$MLAUNCH" -n 2 --mpi none env -i "PATH=$PATH" "$MPI"
    check "a program that prints its version may have no environment" \
        "$MLAUNCH" -n 2 env -i "PATH=$PATH" "$MPI" version
    check "a program that prints its version may be one that is not served" \
        "$MLAUNCH" -n 2 --mpi "$1" "$MPI" version
}

# check_ends_on_hosts MARK: the same on the second of two hosts; `over` is mlaunch.
check_ends_on_hosts() {
    local mark=$1
    check_error 7 "rank 3 on host $H2 .* aborted the job: MPI_Abort with code 7" \
        "MPI_Abort on another host" over -H "$H1,$H2" -n 4 -x "$mark" "$MPI" abort 7
    nothing_left "MPI_Abort" "$mark"
    check_error 137 "rank 3 on host $H2 .* was killed by signal 9" "a rank killed on another host" \
        over -H "$H1,$H2" -n 4 -x "$mark" "$MPI" kill
    nothing_left "a rank killed" "$mark"
    check_error 1 "rank 1 on host $H2 .* has ended, and other ranks wait for it in MPI" \
        "a host whose rank never calls MPI_Init" over -H "$H1,$H2" -n 2 -x "$mark" "$MPI" absent
    nothing_left "a host that does not come" "$mark"
}
