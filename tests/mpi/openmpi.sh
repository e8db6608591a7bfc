# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# openmpi.sh: after test.sh, compiles mpi_program.c with Open MPI to $MPI, or skips the whole file.
# The file runs in a mount namespace of its own, with a /dev/shm where only its jobs leave
# something. Without root it runs where it is.
[ -x "$BUILD/launcher/pmix/mlaunch-pmix" ] || skip_all "built without libpmix (libpmix-dev)"
needs mpicc.openmpi
if [ -z "${OPENMPI_IS_ALONE:-}" ] && unshare -m true 2> /dev/null; then
    OPENMPI_IS_ALONE=1 unshare -m --propagation private bash "$0"
    status=$?
    TEST_DONE=1
    exit "$status"
fi
if [ -n "${OPENMPI_IS_ALONE:-}" ]; then
    "$TEST_LIB/cover" /dev/shm mode=1777 || skip_all "no mounts of our own here"
fi
MPI=$T/mpi_program
mpicc.openmpi -o "$MPI" "$SOURCE/tests/mpi/mpi_program.c" || skip_all "Open MPI cannot compile"
# shellcheck source=tests/mpi/judge.sh
. "$SOURCE/tests/mpi/judge.sh"
