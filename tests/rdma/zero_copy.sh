#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs on host 0 of two VMs (tests/vm); its TAP is that of zero_copy.t.
TEST_LIMIT=780
. "${0%/*}/../lib/test.sh"
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

# --- the device writes where the message belongs
# stopped NAME ARG…: rank 1 waits for 512 KiB, and is stopped; they arrive all the same.
stopped() {
    local name=$1
    shift
    watched go -- 2 "$@" -- "$ZERO_COPY" stopped 524288
    check_match '^524288 of 524288 bytes are there while their receiver is stopped$' "$OUT" "$name"
    check_match '^0 wrong$' "$OUT" "$name, and all bytes are right"
}
go() { echo go >&"$JOB_INPUT"; }
stopped "RC: what comes is written where it belongs by the device alone"
stopped "UC: what comes is written where it belongs by the device alone" --qp uc

# --- registered once, and no longer than ml_free and the job
regions() { rdma resource | sed -n 's/.*rxe_p1: .* mr \([0-9]*\) .*/\1/p'; }
before=$(regions)
check "a job of messages of 3 MB ends well" job 2 -- "$ZERO_COPY" passed 3000001 20
check_match '^rank 1: 20 rounds, 0 wrong' "$OUT" "messages of 3 MB are right"
check_output "$before" "no memory of 3 MB messages is registered any more" regions

# --- no more memory may be locked: a warning, and the job continues
ulimit_job() { # as an ordinary user: root may lock what it likes
    setpriv --reuid 1000 --clear-groups env HOME=/tmp XDG_CONFIG_HOME=/tmp sh -c \
        'ulimit -l 20000; exec "$@"' sh "$@"
}
check "a job with more memory than may be locked ends well" ulimit_job timeout -k 5 60 "$MLAUNCH" \
    -n 2 --local net --backend rdma --rdma-device rxe_p1 \
    --output raw -- "$ZERO_COPY" passed 30000000 2
check_match '^rank 1: 2 rounds, 0 wrong' "$OUT" \
    "messages in more memory than may be locked are right"
check_match 'warning: rank [01]: 29[0-9]* KiB of ml_alloc are copied instead: cannot register memory on rxe_p1 .*: Cannot allocate memory; the limit of locked memory is too low: raise it .ulimit -l.*\(the limit is 20000 KiB\)' \
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
down() { ip link set p1 down; }
while_running down 3000001
went_on "two rails, a port goes down: its chunks go again, over the other one"
port_up
while_running cut 3000001
went_on "two rails, a cable is cut: its chunks go again, over the other one"
mend
unset HOSTFILE

# --- a call that fails: nothing is written any more when it returns
sed '1s/"ssh"/"slots": 1, "ssh"/; 2s/"ssh"/"slots": 2, "ssh"/' "$RDMA_HOSTFILE" > "$T/slots.json"
tc qdisc add dev p1 root netem rate 40mbit limit 100000
run env HOSTFILE="$T/slots.json" timeout -k 5 60 "$MLAUNCH" --hostfile "$T/slots.json" \
    --backend rdma --output raw -n 3 \
    --on-failure continue -- "$ZERO_COPY" broken 8000000
tc qdisc del dev p1 root
check_match '^rank 1: -5: .*rank 2.*' "$OUT" \
    "a rank dies while another one's message comes: the call fails"
check_match '^[1-9][0-9]* of 8000000 bytes had come; nothing has changed since$' "$OUT" \
    "a rank dies while another one's message comes: nothing is written any more"
done_testing
