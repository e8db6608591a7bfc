#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Groups of torch.distributed whose members change: reconfigure() and shrink() of the backend, as
# newer versions of torch call them (torch_newer.py), with real ranks.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"

export EXCHANGE=$T/exchange
mkdir "$EXCHANGE"
# cases "CASE…" OPTION…
cases() {
    local names
    read -ra names <<< "$1"
    run "$MLAUNCH" -n 4 --oversubscribe --init-timeout 60 "${@:2}" -- "$PYTHON" \
        "$SOURCE/tests/runtime/torch_reconfigure.py" "${names[@]}"
}

cases "identity merge late shrink"
cp "$OUT" "$T/said"
check_output 4 "the same members can be named in any order" grep -c "identity done" "$T/said"
check_output 4 "two groups become one, and two others" grep -c "merge done" "$T/said"
check_output 4 "a member that does not come is named, and nothing is lost" grep -c "late done" \
    "$T/said"
check_output 4 \
    "a group can have fewer members, in place and as another group" grep -c "shrink done" "$T/said"

rm "$EXCHANGE"/*
cases abort
cp "$OUT" "$T/said"
check_output 4 "calls of other threads end as the group gets other members" grep -c "abort done" \
    "$T/said"

rm "$EXCHANGE"/*
cases grow --elastic 2 --restarts 1 --replace-wait 60
cp "$OUT" "$T/said"
check_output 4 "those that live go on without a repair, and a newcomer comes in as another leaves" \
    grep -c "grow done" "$T/said"
done_testing
