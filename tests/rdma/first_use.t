#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Queue pairs that come up with the first message between two ranks, on three hosts.
TEST_TIER=full
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes
on_standin 3
. "${0%/*}/jobs.sh"

FIRST_USE=$BUILD/tests/rdma/first_use
groups=8
if is_long; then groups=1000 JOB_LIMIT=2400; fi

# --- how many, and when
# pairs RANK: how many queue pairs the program has on the rank's host.
{
    echo 'case $1 in'
    for rank in 0 1 2; do
        echo "$rank)"
        for peer in 0 1 2; do
            [ $rank = $peer ] || printf '%s\n' "$(fabric_line objects $rank/rxe_p$peer)"
        done
        echo ';;'
    done
    # A program's words: PID NAME pd N cq N qp N mr N
    echo 'esac | sed "s/^ok//" | tr ";" "\n" | awk "\$2 == \"first_use\" { n += \$8 } END { print n + 0 }"'
} > "$T/pairs"
check "a job ends well in which two of 3 hosts exchange a message" job 3 -- "$FIRST_USE" middle "sh $T/pairs"
for rank in 0 1 2; do
    check_match "^rank $rank: 0 queue pairs after ml_init\$" "$OUT" \
        "rank $rank has no queue pair after ml_init"
done
check_match '^rank 1: got 17$' "$OUT" "the message between two hosts arrives"
for rank in 0 1; do
    check_match "^rank $rank: 1 queue pairs at the end\$" "$OUT" \
        "rank $rank has one queue pair at the end"
done
check_match '^rank 2: 0 queue pairs at the end$' "$OUT" \
    "rank 2, which talks to none, has no queue pair at the end"
check "a job with --eager ends well" job 3 --eager -- "$FIRST_USE" middle "sh $T/pairs"
for rank in 0 1 2; do
    check_match "^rank $rank: 2 queue pairs after ml_init\$" "$OUT" \
        "rank $rank has queue pairs to both others after ml_init with --eager"
done
check "all ranks send to all at once, in $groups groups" job 3 -- "$FIRST_USE" at-once "$groups"
for rank in 0 1 2; do
    check_match "^rank $rank: $groups groups, 0 wrong\$" "$OUT" \
        "all messages at once are right on rank $rank"
done
check "a rank that waits in one group answers in another" job 3 -- "$FIRST_USE" others
check_match '^rank 1: got 2 in the world$' "$OUT" "the rank that answered goes on in the world"
check_match '^rank 1: got 0 in the group of two$' "$OUT" \
    "the rank that answered receives in its group"

# --- a peer that is in no call
go() { ssh host1 touch /run/go; }
stalled() {
    wait_for "grep -q 'rank 0 on host host0 has waited' $ERR" 60 || diag "no stall is reported"
    go
}
MLAUNCH_STALL=2 watched stalled -- 2 -- "$FIRST_USE" busy /run/go
check_match 'rank 0 on host host0 has waited .* for rank 1 on host host1' "$ERR" \
    "a peer that computes before it answers: the wait is reported"
check_match '^rank 1: got 17$' "$OUT" "a peer that computes before it answers: the message arrives"
check_match '^status 0$' "$OUT" "a peer that computes before it answers: the job ends well"
ssh host1 rm /run/go
asked() {
    wait_for 'objects 0 1 | grep -q "first_use .* qp [1-9]"' 60 || diag "rank 0 has opened no device"
    go
}
watched asked -- 2 --on-failure continue -- "$FIRST_USE" dies /run/go
check_match '^rank 0: error -5, .*rank 1 .*(was killed by signal 9|has ended without)' "$OUT" \
    "a peer that dies before it answers is named"
ssh host1 rm /run/go

# --- a peer that dies, without which the others go on
for dead in 1 0; do
    check "with --elastic rank $dead dies, and the others go on" \
        job 3 --elastic 2 -- "$BUILD/tests/cli/elastic_rank" 2 kill "$dead"
    check_match "^lives $((1 - dead)) [0-9]+ 0/2\$" "$OUT" \
        "rank $((1 - dead)) goes on over new queue pairs without rank $dead"
    check_match '^lives 2 [0-9]+ 1/2$' "$OUT" "rank 2 goes on without rank $dead"
done

# --- what breaks before the first message
# while_waiting COMMAND… -- HOW MANY [ARG…]: the command runs when rank 1 has asked rank 0, which
# is in no call, and then rank 0 sends, too.
meanwhile() {
    wait_for 'objects 1 0 | grep -q "first_use .* qp [1-9]"' 60 || diag "rank 1 has opened no device"
    "$@"
    echo >&"$JOB_INPUT"
}
before_first() {
    local what=()
    while [ "$1" != -- ]; do what+=("$1") && shift; done
    shift
    HOSTFILE=$RAILS watched meanwhile "${what[@]}" -- 2 "$@" --on-failure continue -- \
        "$FIRST_USE" sums 10
}
went_on() {
    if [ "$(grep -c '^rank [01]: 10 sums, 0 wrong$' "$OUT")" = 2 ] && grep -q '^status 0$' "$OUT"; then
        pass "$1"
    else
        fail "$1"
        diag_run
    fi
}
RAILS=$RDMA_HOSTFILE
before_first port_down 0 1 --
check_match '^rank 0: error -[67], rank 0 on host host0: rxe_p1 port 1 is down: check its cable' \
    "$OUT" "a port that is down at the first message is an error that names it"
check_match '^rank 1: error -[67], rank 0 on host host0: rxe_p1 port 1 is down' "$OUT" \
    "a port that is down at the first message is the peer's error, too"
port_up 0 1
before_first cable_cut --
check_match '^rank [01]: error -7, .*the link on rxe_p[01] port 1 .* towards rank [01] on host host[01] .*failed' \
    "$OUT" "a far cable that is cut before the first message is an error that names it"
cable_mend

rail_add
RAILS=$T/rails.json
before_first true --
went_on "two rails work if nothing breaks before the first message"
before_first port_down 0 1 --
went_on "two rails, a port goes down before the first message: the job goes on over the other"
check_match 'warning: rank 0: rxe_p1 port 1 is down: .*; going on over the other 1 of its rails' \
    "$ERR" "a warning names the port that went down before the first message"
port_up 0 1
before_first port_down 1 0 --
went_on "two rails, the port of a peer that has asked goes down: the job goes on over the other"
check_match 'warning: rank [01]: .*rxe_p[01] port 1.*going on over the other 1 of its rails' "$ERR" \
    "a warning names the port of the peer that went down"
port_up 1 0
before_first cable_cut --
went_on "two rails, a far cable is cut before the first message: the job goes on over the other"
check_match 'warning: rank [01]: the link on rxe_p[01] port 1 .*going on over' "$ERR" \
    "a warning names the far cable that was cut"
cable_mend
before_first cable_cut -- --qp uc
went_on "two rails over UC, one is cut before the first message: the job goes on over the other"
cable_mend
rail_remove
check "the next job ends well" job 3 -- "$BUILD/examples/hello"
check_match '^we are 3,' "$OUT" "the next job has all ranks"
done_testing
