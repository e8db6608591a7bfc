#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All that queue pairs of the stand-in do, at random, between two hosts whose wire loses packets:
# every byte and every completion is right, connections that fail are made anew, and the end of one
# side is an error at the other (stress.c).
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/standin.sh"
STANDIN_WIRE="loss = 1%"
standin_up 2
STRESS=$BUILD/tests/standin/stress
seeds=(1 2)
for seed in "${seeds[@]}" "${SEED:-$RANDOM}"; do
    on 1 timeout 90 "$STRESS" "$seed" 6 > "$T/server" 2>&1 &
    server=$!
    wait_for 'on 1 ss -Hltn | grep -q ":18520 "'
    check "a client finds nothing wrong with seed $seed" on 0 timeout 90 "$STRESS" "$seed" 6 host1
    cat "$OUT" "$ERR" > "$T/client"
    wait "$server"
    check_output 0 "a server finds nothing wrong with seed $seed" echo $?
    check_no_match 'stand-in' <(cat "$T/client" "$T/server") "no rule is broken with seed $seed"
done
check_rules
done_testing
