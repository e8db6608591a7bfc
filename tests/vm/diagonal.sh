#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# diagonal.sh: what is run both over Soft-RoCE, in virtual machines, and over the stand-in's devices
# (diagonal.t): every request of verbs, every call of the library over RC and UC, a lost rail, a
# dead host, a process that is stopped. Runs on host 0 of three. Lines with "# seen: " are the same
# on both.
TEST_LIMIT=580
. "${0%/*}/../lib/test.sh"
[ -z "${RDMA_STANDIN:-}" ] || . "${0%/*}/../standin/standin.sh"
. "${0%/*}/../rdma/jobs.sh"
JOB_LIMIT=300

seen() { sed "s/^/# seen: /"; }

# --- every request of verbs, and each way in which one fails
mkfifo "$T/ask" "$T/done"
exec 8<> "$T/ask"
asks() { printf 'echo %s > %s; read -r x < %s' "$1" "$T/ask" "$T/done"; }
ssh host1 "timeout 150 $BUILD/tests/vm/diagonal rxe_p0 18600" > "$T/server" 2> "$T/server.err" &
server=$!
wait_for 'grep -q listens "$T/server"'
(
    timeout 150 "$BUILD/tests/vm/diagonal" rxe_p1 18600 host1 "$(asks cable_cut)" "$(asks cable_mend)" \
        "$(asks "port_down 0 1")" "$(asks "port_up 0 1")" > "$T/client" 2> "$T/client.err"
    code=$?
    echo end > "$T/ask"
    exit $code
) &
client=$!
while read -r what <&8 && [ "$what" != end ]; do
    $what
    echo > "$T/done"
done
check "the client of all requests ends well" wait "$client"
check "the server of all requests ends well" wait "$server"
diag_file "$T/client.err"
diag_file "$T/server.err"
cat "$T/client" "$T/server" | seen

# --- every call of the library
for qp in rc uc; do
    check "every call over $qp ends well" job 2 --qp $qp -- "$BUILD/tests/runtime/collectives" \
        --program --diagonal
    sort "$OUT" | sed "s/^/calls over $qp: /" | seen
done

# --- a lost rail
rounds=150 # the program goes on for some seconds
[ -z "${RDMA_STANDIN:-}" ] || rounds=2000
rail_add
HOSTFILE=$T/rails.json watched cable_cut -- 2 -- "$BUILD/tests/rdma/checked" 20000 $rounds
cable_mend
check_match '^status 0$' "$OUT" "the job goes on over the other rail"
check_match 'warning: rank [01]: the link on rxe_p[01] port 1 .*going on over the other 1 of its rails' \
    "$ERR" "the rail that was lost is named"
sed -n 's/, longest.*//; s/ [0-9]* rounds//; s/^rank/a lost rail: rank/p' "$OUT" | sort | seen
rail_remove

# --- what the stand-in has not: a device that goes on while its process is stopped, and the
# kernel's look for an address
go() { echo go >&"$JOB_INPUT"; }
if [ -z "${RDMA_STANDIN:-}" ]; then
    for qp in rc uc; do
        what="$qp: what comes is written where it belongs by the device alone"
        watched go -- 2 --qp $qp -- "$BUILD/tests/rdma/zero_copy" stopped 524288
        check_match '^524288 of 524288 bytes are there while their receiver is stopped$' "$OUT" "$what"
        check_match '^0 wrong$' "$OUT" "$what, and all bytes are right"
    done
    check "a job whose target is stopped for 3 s ends well" job 2 --chaos 'stop 1 for 3s after 1s' \
        -- "$BUILD/tests/rdma/windows" stopped
    check_match '^the longest took 1?[0-9]{1,3} ms' "$OUT" \
        "the device of a target that is stopped goes on with its numbers"
    tc qdisc add dev p1 clsact
    tc filter add dev p1 ingress protocol arp matchall action drop
    ip neigh flush dev p1
    check_error 125 \
        'host host0: nothing comes through between rxe_p1 .* and rxe_p0 .* of host host1: (Connection timed out|No route to host); are these' \
        "a peer whose address does not answer is refused" job 2 -- "$BUILD/examples/hello"
    tc qdisc del dev p1 clsact
fi

# --- a dead host
watched host2_die -- 3 --on-failure continue -- "$BUILD/tests/rdma/until_failure" 5000
for rank in 0 1; do
    check_match "^rank $rank: error -[57] after [0-9]+ ms, .*host host2" "$OUT" \
        "rank $rank names the host that died"
done
sed -n 's/^rank \([01]\): error .*host host2.*/a dead host: rank \1 names host2/p' "$OUT" | sort | seen
done_testing
