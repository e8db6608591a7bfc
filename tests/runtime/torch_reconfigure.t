#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Groups of torch.distributed whose members change: reconfigure() and shrink() of the backend, as
# newer versions of torch call them (torch_newer.py), with real ranks.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"

# expect_case CASE WHAT RANKS OPTION…: RANKS end the script.
expect_case() {
    local case=$1 what=$2 rank
    export EXCHANGE=$T/$case
    mkdir "$EXCHANGE"
    : > "$T/expected"
    for rank in $3; do echo "[$rank] $case done" >> "$T/expected"; done
    run "$MLAUNCH" -n 4 --oversubscribe --init-timeout 60 "${@:4}" -- \
        "$PYTHON" "$SOURCE/tests/runtime/torch_reconfigure.py" "$case"
    check "$what" diff "$T/expected" <(sort "$OUT")
}

expect_case identity "the same members, in any order" "0 1 2 3"
expect_case merge "two groups become one, and two others" "0 1 2 3"
expect_case shrink "fewer members, in place and as another group" "0 1 2 3"
expect_case late "a member that does not come is named, and nothing is lost" "0 1 2 3"
expect_case die "those that live go on without a repair" "0 2 3" --elastic 2
expect_case grow "a newcomer comes in, also when another rank leaves" "0 1 2 3" --elastic 2 \
    --restarts 1 --replace-wait 60
done_testing
