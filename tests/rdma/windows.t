#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows over RDMA between two hosts: the devices read and write the other rank's memory by
# themselves, also while rails fail; nothing is left behind.
TEST_TIER=quick
TEST_PARTS=3
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes
on_standin 2
. "${0%/*}/jobs.sh"
JOB_LIMIT=150

WINDOWS=$BUILD/tests/rdma/windows
if is_long; then JOB_LIMIT=1500; fi
# rounds_in PART: 100000 in the long form, in that part of it.
rounds_in() {
    rounds=1000
    ! is_long || ! in_part "$1" || rounds=100000
}

# random NAME ARG…
random() {
    local name=$1
    shift
    check "$name end well" job 2 "$@" -- "$WINDOWS" random $rounds
    right "$name"
}
# right NAME
right() {
    check_match "^rank 0: $rounds rounds, 0 wrong" "$OUT" "$1: rank 0 finds nothing wrong"
    check_match "^rank 1: $rounds rounds, 0 wrong" "$OUT" "$1: rank 1 finds nothing wrong"
}

rounds_in 0
random "random puts and gets by the devices, both ways,"
rounds=500 random "random puts and gets over UC, where they are messages," --qp uc

# --- those that are started
# On a busy machine a rank may lose its processor in any call, so the best of five runs counts.
for ((i = 0; i < 5; i++)); do
    run job 2 -- "$WINDOWS" started
    ! grep -qE '^start: 1?[0-9] % and 1?[0-9] % of the whole, 0 wrong' "$OUT" || break
done
check_match '^start: 1?[0-9] % and 1?[0-9] % of the whole, 0 wrong' "$OUT" \
    "started puts and gets do not wait, and end while no call waits"
# shellcheck disable=SC2154 # status is run's
check "started puts and gets end well" test "$status" -eq 0

# --- nothing is left behind
check "a job of 50 windows ends well" job 2 -- "$WINDOWS" cycles 50
check_match '^rank 0: 50 windows, 0 wrong' "$OUT" "all 50 windows are right"
check_output "" "all 50 windows leave nothing on the device" objects 0 1

# --- a rank dies, which is told in time where nothing else runs, as in check-long
told='^after [0-9]+ ms: -5: .*rank 1'
is_long && told='^after [0-9]{1,4} ms: -5: .*rank 1'
run job 2 --on-failure continue -- "$WINDOWS" killed
check_match "$told" "$OUT" \
    "a target that is killed: the put fails, and names it"
check_match '^get: -5$' "$OUT" "a target that is killed: later calls fail"
check_match '^started get: -5$' "$OUT" "a target that is killed: calls that are started fail"

run job 2 --on-failure continue -- "$WINDOWS" killed add
check_match "$told" "$OUT" "a target that is killed: an atomic operation fails"

# --- atomic operations by the devices
# numbers NAME ARG…: each rank has made 600 additions, and 60 under a lock.
numbers() {
    local name=$1
    shift
    check "$name end well" job 2 "$@" -- "$WINDOWS" numbers 600
    check_match '^rank 0: 1200 and 120$' "$OUT" "$name: none is lost, and rank 0 wakes"
    check_match '^rank 1: 1200 and 120$' "$OUT" "$name: none is lost, and rank 1 wakes"
}
numbers "atomic operations and signals of both ranks on the same numbers"

# --- rails
rail_add
export HOSTFILE=$T/rails.json
rounds_in 1
random "random puts and gets over two rails"
numbers "atomic operations over two rails, where processors do them"
rounds_in 2
[ $rounds != 1000 ] || rounds=4000 # waiting for the rails takes most of the time
watched cable_cut -- 2 -- "$WINDOWS" random $rounds
check_match '^status 0$' "$OUT" "two rails, a cable is cut: what it had not done goes over the other"
right "two rails, a cable is cut"
check_match 'warning: rank [01]: .*going on over the other 1 of its rails' "$ERR" \
    "two rails, a cable is cut: a warning says so"
cable_mend
done_testing
