#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts that call the head run a program of MPICH; one of them dies and joins again with its index,
# while the head still has its old connection, after the job has noticed, and after the job has
# ended. Expected: with --restarts the job starts again with that host, without it the job fails,
# and whoever comes too early or too late is told so. Nothing is left anywhere.
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../mpi/judge.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/join.sh"
NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 4
HOSTS=("$H1" "$H2" "$H3" "$H4")
must "$MLAUNCH" join --key-new "$KEY"
MPI=$T/mpi_program
MPICH=yes
is_here mpicc.mpich && mpicc.mpich -o "$MPI" "$SOURCE/tests/mpi/mpi_program.c" ||
    MPICH=""

# all_join [OPTION…] -- PROGRAM…: the four hosts
all_join() {
    : > "$EVENTS"
    for i in 0 1 2 3; do
        join_on "${HOSTS[i]}" "$i" 4 --events "$EVENTS" --grace 1 --output raw "$@"
    done
}
# shellcheck disable=SC2016,SC2154 # for wait_for; join.sh has joins
all_say() { wait_for "[ \"\$(grep -c '$1' '$T/0.out')\" -eq 4 ] || ! kill -0 ${joins[0]} 2> /dev/null"; }
# host_die INDEX: its mlaunch join is killed.
host_die() {
    kill -KILL "$(join_pid "$1")"
    wait "${joins[$1]}" 2> /dev/null
    unset "joins[$1]"
}

if [ "$MPICH" ]; then
    all_join -- "$MPI" together 42
    joins_end 42 "a program of MPICH runs on four hosts"
    cp "$T/0.out" "$OUT"
    all_right 4 "a program of MPICH on four hosts is one job"
    all_join -- "$MPI" stay
    all_say right
    kill -INT "$(join_pid 0)"
    joins_end 130 "Ctrl-C at index 0 ends MPICH's ranks"
    nothing_left "nothing is left of MPICH's ranks"

    # shellcheck disable=SC2016 # the words of the ranks' shell
    all_join --restarts 1 -- sh -c '
        if [ "$MLAUNCH_RESTART" = 1 ]; then exec "$1" together 42; fi; exec "$1" stay' sh "$MPI"
    all_say right
    host_die 2
    join_on "$H3" 2 4
    joins_end 42 "a host dies, joins again, and MPICH's program starts again with it"
    sed 1,4d "$T/0.out" > "$OUT"
    all_right 4 "MPICH's program is one job in its second run"
    nothing_left "nothing is left of MPICH's two runs"
else
    skip "a program of MPICH runs on four hosts" "no MPICH here (mpich, libmpich-dev)"
fi

# The first one is not gone yet: it is stopped, as a machine that hangs.
# shellcheck disable=SC2016 # the words of the ranks' shell
all_join --restarts 1 -- sh -c '
    [ "$MLAUNCH_RESTART" = 1 ] || { echo first; exec sleep 600; }; echo "again $MLAUNCH_RANK"'
all_say first
old=$(join_pid 1)
kill -STOP "$old"
mv "$T/1.err" "$T/1.first"
first=${joins[1]}
join_on "$H2" 1 4
wait "${joins[1]}"
check "a host that joins again too early is refused" test $? -eq 125
check_match "refused this host: index 1 has joined already, from $A2:[0-9]*; if that one is gone, .* within $(failure_s 10) s: join again then" \
    "$T/1.err" "a host that joins again too early is told to wait"
kill -KILL "$old"
kill -CONT -- "-$first" # nsenter stops with its child
wait "$first" 2> /dev/null
join_on "$H2" 1 4
joins_end 0 "a host joins again once the first one is gone"
check_output "again 0
again 1
again 2
again 3" "all ranks are started again" sh -c 'grep again "$1" | sort' sh "$T/0.out"
nothing_left "nothing is left of the two runs"

# Without --restarts.
all_join -- sh -c 'echo first; exec sleep 600'
all_say first
host_die 3
joins_end 125 "without --restarts the job fails"
check_match "^mlaunch: host $H4 was lost: " "$T/0.err" "without --restarts the dead host is named"
join_on "$H4" 3 4 --init-timeout 1
joins_end 125 "a host cannot join a job that has ended"
check_match "cannot join the head at $H1:$PORT within 1 s .--init-timeout.: .*refused" "$T/3.err" \
    "a host that joins too late says so"
nothing_left "nothing is left without --restarts"
done_testing
