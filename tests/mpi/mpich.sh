# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# mpich.sh: after test.sh, compiles mpi_program.c with MPICH to $MPI, or skips the whole file. The
# file runs in namespaces of its own, unshare's -m and $ALONE: with a /dev/shm where only its jobs
# leave something, and with ALONE=-n without the network devices that other tests make and remove
# while MPICH lists them. Without root it runs where it is.
needs mpicc.mpich
# shellcheck disable=SC2086 # ALONE may be empty
if [ -z "${MPICH_IS_ALONE:-}" ] && unshare -m ${ALONE:-} true 2> /dev/null; then
    MPICH_IS_ALONE=1 unshare -m --propagation private ${ALONE:-} bash "$0"
    status=$?
    TEST_DONE=1
    exit "$status"
fi
if [ -n "${MPICH_IS_ALONE:-}" ]; then
    "$TEST_LIB/cover" /dev/shm mode=1777 || skip_all "no mounts of our own here"
    [ -z "${ALONE:-}" ] || ip link set lo up
fi
MPI=$T/mpi_program
mpicc.mpich -o "$MPI" "$SOURCE/tests/mpi/mpi_program.c" ||
    skip_all "MPICH cannot compile"
# shellcheck source=tests/mpi/judge.sh
. "$SOURCE/tests/mpi/judge.sh"
