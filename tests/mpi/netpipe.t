#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NetPIPE as Debian builds it with MPICH, unmodified: ping-pong of a few sizes over two hosts, with
# its own check of the data, and on this host.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
needs NPmpich2
. "$SOURCE/tests/mpi/mpich.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2
cd "$T" || exit 1
# MPICH 4.0 may wait for ever in MPI_Finalize, one rank in its barrier of PMI and the other for UCX
# (mlaunch(1)): such a run, which ends with status 124, is made again.
here() {
    local rc
    for _ in 1 2 3; do
        rm -f np.out
        "$MLAUNCH" --timeout "$HANG_SECONDS" "$@"
        rc=$?
        [ "$rc" = 124 ] || break
    done
    return "$rc"
}
over() { here --ssh-config "$NETNS_SSH_CONFIG" "$@"; }
# sizes_are NAME: the file np.out has a line for each size up to the last, and all took time.
sizes_are() {
    check_output "right" "$1" awk '
        { n++; last = $1; if ($2 <= 0 || $3 <= 0) bad = 1 }
        END { print (n > 10 && last >= 65536 && !bad ? "right" : n " lines up to " last) }' np.out
}

check "NetPIPE runs on two hosts" over -H "$H1,$H2" -n 2 --cwd "$T" NPmpich2 -u 65539 -p 0 -n 5 -o \
    np.out
sizes_are "two hosts carry all sizes"
rm -f np.out
check "NetPIPE runs with its check of the data" over -H "$H1,$H2" -n 2 --cwd "$T" \
    NPmpich2 -i -u 4099 -p 0 -n 5 -o np.out
check_match "4097 bytes +5 times -->  Integrity check passed" "$ERR" \
    "NetPIPE finds long messages right"
check_no_match "bytes.*[Ff]ail" "$ERR" "NetPIPE finds no message wrong"

# A host without MPICH gets the program and its library.
library=$(ldconfig -p | awk '$1 == "libmpich.so.12" { print $NF; exit }')
must netns exec "$H2" mount --bind /dev/null "$library"
check_status 127 \
    "a host without the library fails the job" over -H "$H1,$H2" -n 2 --cwd "$T" NPmpich2 -u 64
check "--stage-libs brings the library to a host without it" over --stage-libs -v -H "$H1,$H2" -n \
    2 --cwd "$T" NPmpich2 -u 65539 -p 0 -n 5 -o np.out
size=$(stat -Lc %s "$(command -v NPmpich2)")
check_match "host $H1: has got its copy of $size bytes in" "$ERR" \
    "the host with the library gets the program alone"
sizes_are "two hosts carry all sizes with --stage-libs"
rm -f np.out
check "NetPIPE runs on this host" here -n 2 NPmpich2 -u 65539 -p 0 -n 5 -o np.out
sizes_are "this host carries all sizes"
done_testing
