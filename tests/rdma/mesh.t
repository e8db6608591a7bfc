#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA on four hosts: the full mesh works, and ml_init and ml_finalize leak nothing.
TEST_TIER=quick
TEST_PARTS=3
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
on_standin 4
. "${0%/*}/jobs.sh"

COLLECTIVES=$BUILD/tests/runtime/collectives
CYCLES=$BUILD/tests/rdma/cycles
cycles=20
cases=12  # for random collectives
JOB_LIMIT=150
if is_long; then
    JOB_LIMIT=3000
    ! in_part 0 || cases=60
    ! in_part 1 || cycles=1000
fi

check "random collectives on 4 hosts end well" job 4 -- "$COLLECTIVES" --random 17 $cases
check_match "^4 ranks: $cases cases, 0 failures\$" "$OUT" \
    "random collectives on 4 hosts have no failure"

check "started calls among blocking ones end well on 4 hosts" job 4 -- "$COLLECTIVES" --started \
    --random 17 $cases
check_match "^4 ranks: $cases cases, 0 failures\$" "$OUT" \
    "started calls among blocking ones have no failure"
# --- the same bits
bits() {
    timeout -k 5 $JOB_LIMIT "$MLAUNCH" bench all_reduce --sizes 40,30K --check-bits --deterministic \
        "$@" 2> "$T/errors" | sed -n 's/^# bits //p'
}
first=$(bits -n 4)
check "--deterministic: all_reduce has a hash over shared memory" test ${#first} -eq 32
check_output "$first" \
    "--deterministic: all_reduce has the same hash over RDMA" bits --hostfile "$RDMA_HOSTFILE" \
    --agent-command 'ssh {host}' --backend rdma -n 4

if is_long && in_part 2; then # minutes
    check "a job with a message of more than 4 GiB ends well" job 2 -- "$BUILD/tests/runtime/beyond"
    check_match '^4299967307 bytes are right$' "$OUT" "a message of more than 4 GiB arrives"
fi

# --- nothing is left behind
run job 2 -- "$CYCLES" "$cycles" "$(fabric_line objects 0/rxe_p1)"
# shellcheck disable=SC2154 # status is run's
if [ "$status" = 0 ] && [ "$(grep -c "^rank [01]: $cycles cycles" "$OUT")" = 2 ]; then
    pass "$cycles times ml_init and ml_finalize: no descriptor is left open"
else
    fail "$cycles times ml_init and ml_finalize: no descriptor is left open"
    diag_run
fi
check_match '^now$' "$OUT" "the device is asked what it has after $cycles cycles"
sed -n '/^then$/,$ { /cycles pd/p }' "$OUT" > "$T/objects"
check_output "" "the device has nothing after $cycles cycles" cat "$T/objects"

# --- a cable that is dead before the job
fabric oneway 0/rxe_p1:1
run job 2 --init-timeout 6 -- "$BUILD/examples/hello"
check_match 'rxe_p[01] port 1.* (rank|host) ?[^ ]*' "$ERR" \
    "a cable that carries nothing: the pair is named"
check_no_match '^we are' "$OUT" "a cable that carries nothing: nobody gets a group"
fabric bothways 0/rxe_p1:1
done_testing
