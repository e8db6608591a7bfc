#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls that differ from rank to rank, on two hosts with two ranks each, whose algorithms may differ
# by that too: all ranks report the mismatch. Ranks that die in a call: the others hear of it.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
[ "$SANITIZE" = no ] || skip_all "a sanitized library in python3, over SSH"
needs python3

export PYTHONDONTWRITEBYTECODE=1
hosts_up 2

leaders=all_reduce:leaders,reduce:leaders,all_gather:leaders,broadcast:leaders,barrier:leaders
hierarchical=all_reduce:hierarchical,all_gather:hierarchical
for algorithms in "" "$leaders" "$hierarchical"; do
    check "unlike calls end no job, ${algorithms:-as the table has it}" env \
        MLAUNCH_ALGO="$algorithms" "$MLAUNCH" \
        --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" --output raw -- python3 \
        "$SOURCE/tests/runtime/unlike_calls.py"
    check_match '^[0-9]+ groups, 0 wrong$' "$OUT" \
        "all ranks hear of each mismatch, ${algorithms:-as the table has it}"
done
for call in barrier all_reduce reduce broadcast all_gather reduce_scatter; do
    for victim in 0 3; do
        run env MLAUNCH_ALGO="$leaders" "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" \
            --on-failure continue \
            -H "$H1:2,$H2:2" --output raw -- python3 "$SOURCE/tests/runtime/unlike_calls.py" \
            $call $victim
        cp "$OUT" "$T/heard"
        check_output 3 "$call: rank $victim dies, and the others hear of it" grep -c \
            "^rank [0-3]: heard of it$" "$T/heard"
    done
done
done_testing
