#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long messages between memory of ml_alloc: the devices move them over all rails, also while rails
# fail, and never after a call has returned.
TEST_TIER=quick
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
STANDIN_RAIL=yes
on_standin 2
. "${0%/*}/jobs.sh"
JOB_LIMIT=100
cases=12 # for random collectives
if is_long; then cases=60; fi

COLLECTIVES=$BUILD/tests/runtime/collectives
ZERO_COPY=$BUILD/tests/rdma/zero_copy

# random SEED WHAT ARG…: random collectives in memory of ml_alloc.
random() {
    local seed=$1 what=$2
    shift 2
    check "random collectives in memory of ml_alloc end well $what" job 2 "$@" -- "$COLLECTIVES" \
        --alloc --random "$seed" $cases
    check_match "^2 ranks: $cases cases, 0 failures\$" "$OUT" \
        "random collectives in memory of ml_alloc have no failure $what"
}
random 21 "over RC"
random 22 "over UC" --qp uc

# --- registered once, and no longer than ml_free and the job
check "a job of messages of 3 MB ends well" job 2 -- "$ZERO_COPY" passed 3000001 20
check_match '^rank 1: 20 rounds, 0 wrong' "$OUT" "messages of 3 MB are right"
check_output "" "no memory of 3 MB messages is registered any more" objects 0 1

# --- no more memory may be locked: a warning, and the job continues
ulimit_job() { # root may lock what it likes, as long as it has that capability
    sh -c 'ulimit -l 8000; exec "$@"' sh setpriv --bounding-set -ipc_lock "$@"
}
check "a job with more memory than may be locked ends well" ulimit_job timeout -k 5 60 "$MLAUNCH" \
    -n 2 --local net --backend rdma --rdma-device rxe_p1 \
    --output raw -- "$ZERO_COPY" passed 30000000 2
check_match '^rank 1: 2 rounds, 0 wrong' "$OUT" \
    "messages in more memory than may be locked are right"
check_match 'warning: rank [01]: 29[0-9]* KiB of ml_alloc are copied instead: cannot register memory on rxe_p1 .*: Cannot allocate memory; the limit of locked memory is too low: raise it .ulimit -l.*\(the limit is 8000 KiB\)' \
    "$ERR" "the warning about locked memory names limit and remedy"

# --- rails
rail_add
export HOSTFILE=$T/rails.json
random 23 "over two rails"
random 24 "over two rails of UC" --qp uc
# while_running COMMAND SIZE ARG…: the command when a job passes SIZE bytes around.
while_running() {
    local what=$1 size=$2
    shift 2
    watched "$what" -- 2 "$@" -- "$ZERO_COPY" passed "$size" 60
}
went_on() {
    check_match '^status 0$' "$OUT" "$1"
    check_match '^rank 0: 60 rounds, 0 wrong' "$OUT" "$1: nothing is wrong at rank 0"
    check_match '^rank 1: 60 rounds, 0 wrong' "$OUT" "$1: nothing is wrong at rank 1"
    check_match 'warning: rank [01]: .*going on over the other 1 of its rails' "$ERR" \
        "$1: a warning says so"
}
down() { port_down 0 1; }
while_running down 3000001
went_on "two rails, a port goes down: its chunks go again, over the other one"
port_up 0 1
while_running cable_cut 3000001
went_on "two rails, a cable is cut: its chunks go again, over the other one"
cable_mend
unset HOSTFILE

# --- a call that fails: nothing is written any more when it returns
sed '1s/"ssh"/"slots": 1, "ssh"/; 2s/"ssh"/"slots": 2, "ssh"/' "$RDMA_HOSTFILE" > "$T/slots.json"
fabric rate 0/rxe_p1:1 40mbit
run env HOSTFILE="$T/slots.json" timeout -k 5 60 "$MLAUNCH" --hostfile "$T/slots.json" \
    --backend rdma --output raw -n 3 \
    --on-failure continue -- "$ZERO_COPY" broken 8000000
fabric rate 0/rxe_p1:1 100gbit
check_match '^rank 1: -5: .*rank 2.*' "$OUT" \
    "a rank dies while another one's message comes: the call fails"
check_match '^[1-9][0-9]* of 8000000 bytes had come; nothing has changed since$' "$OUT" \
    "a rank dies while another one's message comes: nothing is written any more"
done_testing
