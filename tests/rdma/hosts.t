#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA on three hosts: what works, and the sentence for each failure.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes STANDIN_KIND="active_mtu = 4096"
on_standin 3
. "${0%/*}/jobs.sh"

COLLECTIVES=$BUILD/tests/runtime/collectives
UNTIL_FAILURE=$BUILD/tests/rdma/until_failure
HELLO=$BUILD/examples/hello
export MLAUNCH_STALL=20
cases=12 # for random collectives
if is_long; then cases=100; fi

# next NAME: a job on all three hosts works after whatever came before.
next() {
    check "$1 ends well" job 3 -- "$HELLO"
    check_match '^we are 3,' "$OUT" "$1 has all ranks"
}

# --- it works
check "random collectives on 2 hosts end well" job 2 -- "$COLLECTIVES" --random 7 $cases
check_match "^2 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives on 2 hosts have no failure"
check "random collectives on 3 hosts end well" job 3 -- "$COLLECTIVES" --random 11 $cases
check_match "^3 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives on 3 hosts have no failure"
check "a job with backend auto on 3 hosts ends well" timeout 60 "$MLAUNCH" -v \
    --hostfile "$RDMA_HOSTFILE" -- "$HELLO"
check_match 'backend rdma: the hostfile.s RDMA wiring is complete' "$ERR" \
    "backend auto is rdma, and says why"
check "random collectives of 2 ranks on each of 3 hosts end well" job 6 --oversubscribe --ppn 2 -- \
    "$COLLECTIVES" --random 5 $cases
check_match "^6 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives of 2 ranks on each of 3 hosts have no failure"
check "random collectives over RDMA loopback of one host end well" \
    job 2 --ppn 2 --local net -- "$COLLECTIVES" --random 3 $cases

check "random collectives over RDMA inside and between hosts end well" \
    job 4 --oversubscribe --ppn 2 --local net -- "$COLLECTIVES" --random 19 $cases
check_match "^4 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives over RDMA inside and between hosts have no failure"

# --- ranks that are late, and ranks that never come
# Rank 1 comes when rank 0 is seen to sleep in ml_init.
ssh host1 mkfifo /run/late
come() {
    local pid
    pid=$(sed -n 's/^pid //p' "$OUT")
    wait_for "grep -q poll /proc/$pid/wchan" || diag "rank 0 does not sleep"
    ssh host1 'echo > /run/late'
}
# shellcheck disable=SC2016 # the rank's shell expands it
late='if [ $MLAUNCH_RANK = 0 ]; then echo "pid $$"; echo running; else read -r go < /run/late; fi; exec "$0"'
watched come -- 2 -- sh -c "$late" "$HELLO"
check_match '^we are 2,' "$OUT" "a rank that is late is waited for"
check_match '^status 0$' "$OUT" "a job with a rank that is late ends well"
# shellcheck disable=SC2016
check_error 1 'rank 1 on host host1 has not called ml_init within 3 s' \
    "a rank that does not come is named" \
    job 2 --init-timeout 3 -- sh -c '[ $MLAUNCH_RANK = 0 ] || exec tail -f /dev/null; exec "$0"' \
    "$HELLO"

# --- what breaks between the look at the wiring and ml_init
# broken COMMAND ARG…: rank 0 runs the command and calls ml_init.
broken() {
    local command=$1
    shift
    # shellcheck disable=SC2016
    job 2 --init-timeout 8 "$@" -- sh -c '[ $MLAUNCH_RANK = 1 ] || eval "$1"; exec "$0"' "$HELLO" \
        "$command"
}
check_error 125 '^mlaunch: --eager: rank [01] on host host[01]: .*rxe_p[01] port 1 .*rank [01] on host host[01].*: are these two devices on one cable' \
    "--eager: a wire that goes dead before ml_init is named, with both ends" broken \
    "$(fabric_line oneway 0/rxe_p1:1)" --eager
check_no_match '^we are' "$OUT" "--eager: nobody gets a group over a dead wire"
fabric bothways 0/rxe_p1:1
check_error 1 'rank 0 on host host0: rxe_p1 port 1 is down: check its cable' \
    "a port that goes down before ml_init is named" \
    broken "$(fabric_line down 0/rxe_p1:1)"
port_up 0 1
check_error 1 'rank 0 on host host0: rxe_p1 port 1 has an active MTU of 1024, so --mtu 4096 is too much' \
    "a port whose MTU becomes less than --mtu is named" broken "$(fabric_line mtu 0/rxe_p1:1 1024)" \
    --mtu 4096
check_error 125 '^mlaunch: host host0: rxe_p1 port 1 has an active MTU of 1024, so --mtu 4096 is too much' \
    "a port whose MTU is too small before the job starts no rank" job 2 --mtu 4096 -- "$HELLO"
fabric mtu 0/rxe_p1:1 4096
# The rank that looks first says it, with the other end.
check_error 1 'rank [01] on host host[01]: rxe_p[01] port 1: GID index 1 does not exist, or does not fit the GIDs of rank [01] on host host[01].s rxe_p[01]' \
    "an address that goes away before ml_init is named by its GID index" \
    broken "$(fabric_line gid 0/rxe_p1:1 1 ::)" --gid-index 1
fabric gid 0/rxe_p1:1 1 10.78.1.1
next "the next job after all that"

# --- without a wiring it is found
check "a job on 3 hosts without a wiring ends well" timeout -k 5 60 "$MLAUNCH" -v --backend rdma \
    --hosts host0,host1,host2 -- "$HELLO"
check_match '^we are 3,|\] we are 3,' "$OUT" "ranks on 3 hosts without a wiring run"
check_match 'host host0: rxe_p2 port 1 .GID 1, ::ffff:10.78.2.1. to rxe_p0 port 1 .GID 1, ::ffff:10.78.2.3. of host host2: found, and traffic comes through; port: the only one that is up; GID: RoCE v2, IPv4 in one subnet; path MTU 4096: the smaller of both ports.; queue pairs: RC' \
    "$ERR" "each choice of the found wiring is told with its reason"

rail_add
check "random collectives end well over two rails in another order at each end" \
    timeout -k 5 60 "$MLAUNCH" --hostfile "$T/rails.json" --backend rdma -n 2 -- "$COLLECTIVES" \
    --random 9 $cases

# --- unreliable connections: what is lost is an error
check "random collectives over UC queue pairs end well" job 2 --qp uc -- "$COLLECTIVES" \
    --random 13 $cases
check_match "^2 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives over UC queue pairs have no failure"
# Loss before ml_init would be found by its own check of the wires.
watched fabric loss 0/rxe_p1:1 3% -- \
    2 --qp uc --on-failure continue -- "$BUILD/tests/rdma/checked" 20000 400
check_match 'checked: rank [01], round .*(data was lost on the way|has lost data)' \
    "$ERR" "UC, a lossy link: what is lost is an error in words"
check_no_match 'rounds, [1-9][0-9]* wrong' "$OUT" "UC, a lossy link: no number is wrong"
fabric loss 0/rxe_p1:1 0%

# --- one of two rails fails, and the job goes on
# while_running COMMAND… -- PROGRAM ARG…: starts two ranks over two rails, and runs the command when
# they are running.
while_running() {
    local what=()
    while [ "$1" != -- ]; do what+=("$1") && shift; done
    HOSTFILE=$T/rails.json watched "${what[@]}" -- 2 ${QP:+--qp "$QP"} --on-failure continue "$@"
}
# within MS MOST: promises of a time can be kept only where nothing else runs, as in check-long.
within() { ! is_long || [ "$1" -le "$2" ]; }
# went_on MS WHAT: after while_running with `checked`.
went_on() {
    local longest
    mapfile -t longest < <(sed -n 's/^rank [01]: .* rounds, 0 wrong, longest \([0-9]*\) ms$/\1/p' "$OUT" |
        sort -n)
    if [ ${#longest[@]} = 2 ] && within "${longest[1]}" "$1" && grep -q '^status 0$' "$OUT"; then
        pass "$2 (${longest[1]} ms)"
    else
        fail "$2"
        diag_run
    fi
}
while_running port_down 0 1 -- "$BUILD/tests/rdma/checked" 20000 2000
went_on 8000 "two rails, a port goes down: the job goes on over the other, nothing is lost"
# A queue pair may fail before its port's event has come.
check_match 'warning: rank 0: .*rxe_p1 port 1.* (has gone|may be) down.*going on over the other 1 of its rails' "$ERR" \
    "a warning names the port that went down"
port_up 0 1
while_running cable_cut -- "$BUILD/tests/rdma/checked" 20000 2000
went_on 30000 "two rails, a far cable is cut: the job goes on over the other, nothing is lost"
check_match 'warning: rank [01]: the link on rxe_p[01] port 1 .*going on over' "$ERR" \
    "a warning names the far cable that was cut"
cable_mend
if is_long; then # first_use.sh cuts one before the first message
    QP=uc while_running cable_cut -- "$BUILD/tests/rdma/checked" 20000 2000
    went_on 20000 "two rails over UC, one is cut: the job goes on over the other, nothing is lost"
    cable_mend
fi
rail_remove

# heard LEAST MOST NAME SED: the sed expression finds a number in $OUT, the smallest of which lies
# within these bounds, in ms.
heard() {
    local least=$1 most=$2 name=$3 ms
    ms=$(sed -n "$4" "$OUT" | sort -n | head -n 1)
    if [ "${ms:--1}" -ge "$least" ] && within "$ms" "$most"; then
        pass "$name ($ms ms)"
    else
        fail "$name (${ms:-none} ms)"
        diag_run
    fi
}

# --- a rank dies
run job 3 --on-failure continue -- "$UNTIL_FAILURE" 20000 1 20
for rank in 0 2; do
    heard 0 1000 "rank $rank hears of a killed rank" \
        "s/^rank $rank: error -5 after \\([0-9]*\\) ms.*rank 1 .*\\(was killed by signal 9\\|has ended without\\).*/\\1/p"
done
next "the next job after a killed rank"

# --- a local port goes down
down() { # down COMMAND…: when the job is running
    watched "$@" -- "${RANKS:-2}" ${QP:+--qp "$QP"} --on-failure continue -- "$UNTIL_FAILURE" 5000
}
down port_down 0 1
heard 0 1000 "a local port that goes down is an error" \
    's/^rank 0: error -6 after \([0-9]*\) ms, .*rxe_p1.*/\1/p'
check_match 'rank 0: .*rxe_p1 port 1, the link to rank 1 on host host1, has gone down' "$OUT" \
    "the error of a local port names the link"
check_match 'rank 1: error' "$OUT" "the error of a local port is the other rank's, too"

# --- what is wrong with the hosts is said before a rank starts
# refused NAME REGEX ARG…: mlaunch's own status, one sentence, and no rank's word.
refused() {
    local name=$1 regex=$2
    shift 2
    check_error 125 "$regex" \
        "$name is refused" timeout -k 5 60 "$MLAUNCH" --backend rdma -n 2 "$@" -- "$HELLO"
    check_no_match 'hello:' "$ERR" "$name starts no rank"
}
refused "a port that is down" 'host host0: rxe_p1 port 1 is down: check its cable' --hostfile \
    "$RDMA_HOSTFILE"
port_up 0 1
sed 's/rxe_p1/mlx5_7/' "$RDMA_HOSTFILE" > "$T/wrong.json"
refused "a device that is not there" \
    'host host0: there is no RDMA device mlx5_7 here, only rxe_p1, rxe_p2' \
    --hostfile "$T/wrong.json"
refused "a GID index that is not there" 'host host.: rxe_p. port 1 has no GID of index 77' \
    --gid-index 77 --hostfile "$RDMA_HOSTFILE"
refused "a port that is not there" 'host host.: rxe_p. has no port 2, only 1 to 1' \
    --rdma-port 2 --hostfile "$RDMA_HOSTFILE"
check "a job with an MTU of our own ends well" job 2 --mtu 512 --gid-index 1 -- "$COLLECTIVES" \
    --random 5 10
sed '1s/rxe_p1/rxe_px/; 1s/rxe_p2/rxe_p1/; 1s/rxe_px/rxe_p2/' "$RDMA_HOSTFILE" > "$T/swapped.json"
check_error 125 'host host0: .*says that rxe_p2 leads to host host1, but it is on one cable with rxe_p0 of host host2' \
    "two swapped devices are refused" timeout -k 5 60 "$MLAUNCH" --hostfile "$T/swapped.json" \
    --backend rdma -- "$HELLO"
check_no_match 'hello:' "$ERR" "two swapped devices start no rank"
# Each row with the null where it belongs.
sed '2s/"rdma": .*/"rdma": ["rxe_p0", null, "rxe_p1"]},/; 3s/"rdma": .*/"rdma": ["rxe_p0", "rxe_p2", null]}]/' "$RDMA_HOSTFILE" > "$T/rows.json"
check_error 125 'host host1: there is no RDMA device rxe_p1 here|host host2: there is no RDMA device rxe_p2 here' \
    "two hosts with swapped rows are refused" timeout -k 5 60 "$MLAUNCH" --hostfile "$T/rows.json" \
    --backend rdma -- "$HELLO"
check_no_match 'hello' "$OUT" "two hosts with swapped rows start no rank"
sed '2s/"rdma": .*/"rdma": ["rxe_p0", null]},/' "$RDMA_HOSTFILE" > "$T/ragged.json"
check_error 125 'ragged.json: hosts\[1\] \(host1\): .*rdma' "a row that is too short is refused" \
    timeout -k 5 60 "$MLAUNCH" --hostfile "$T/ragged.json" --backend rdma -- "$HELLO"

# --- mlaunch-probe
check "mlaunch-probe ends well" "$BUILD/rdma/probe/mlaunch-probe"
cp "$OUT" "$T/probe.json"
check "mlaunch-probe tells of devices, ports and GIDs" python3 \
    "$SOURCE/tests/rdma/probe_answer.py" "$T/probe.json"

# --- a far cable is cut silently
down cable_cut
for rank in 0 1; do
    heard 9000 15000 "a far cable that is cut is rank $rank's error after 10 s" \
        "s/^rank $rank: error -7 after \\([0-9]*\\) ms, .*: rank [01] on host host[01]: the link on rxe_p[01] port 1.*/\\1/p"
done
cable_mend
QP=uc down cable_cut
heard 1000 15000 "UC, a far cable that is cut: who waits asks, and it is an error" \
    's/^rank [01]: error -7 after \([0-9]*\) ms, .*has lost data: .*/\1/p'
cable_mend

# --- a host dies
# The connection dies with it.
RANKS=3 down host2_die
for rank in 0 1; do
    heard 0 15000 "a host that dies is rank $rank's error, by name" \
        "s/^rank $rank: error -[57] after \\([0-9]*\\) ms, .*host host2.*/\\1/p"
done
check "the next job of the other hosts ends well" job 2 -- "$HELLO"
check_match '^we are 2,' "$OUT" "the next job of the other hosts has both ranks"
done_testing
