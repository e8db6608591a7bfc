#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs in one VM with two memory nodes (tests/vm); its TAP is that of nodes.t.
TEST_LIMIT=580
. "${0%/*}/../lib/test.sh"

NODES=$BUILD/tests/vm/nodes
if [ "$(cat /sys/devices/system/node/online)" != 0-1 ]; then
    fail "the virtual machine has two memory nodes" "$(cat /sys/devices/system/node/online)"
    done_testing
fi

# A part has equally many pages on every rank's node, and so have a rank's rings, which follow all
# parts; one shared page precedes the first part.
# on_own_nodes NAME "NODE-OF-RANK-0 NODE-OF-RANK-1 …" MLAUNCH-ARG…
on_own_nodes() {
    local name=$1 rank=0 node nodes segment first last pages
    read -ra nodes <<< "$2"
    shift 2
    check "$name end well" timeout 60 "$MLAUNCH" -n ${#nodes[@]} --backend shm --output raw "$@"
    # Adjacent parts, and adjacent ranks' rings, on one node appear as one range. The first half of
    # the ranks is on one node, the other half on the other.
    first=${nodes[0]}
    last=${nodes[-1]}
    pages=$(sed -n 's/^rank 0 .*: segment [01]x[0-9]* [01]x\([0-9]*\) .*/\1/p' "$OUT")
    segment=" ${first}x$((${pages:-0} + 1)) ${last}x${pages:-0}"
    pages=$(sed -n 's/^rank 0 .*x\([0-9]*\); .*/\1/p' "$OUT")
    segment+=" ${first}x${pages:-0} ${last}x${pages:-0}"
    for node in "${nodes[@]}"; do
        check_match "^rank $rank on node $node: segment$segment; vector ${node}x[0-9]+\$" "$OUT" \
            "$name: rank $rank is on node $node, as are its vectors, part and rings"
        rank=$((rank + 1))
    done
}
on_own_nodes "2 ranks bound to a node each" "0 1" --bind-to numa -- "$NODES"
on_own_nodes "2 ranks bound to a core each" "0 1" --bind-to core -- "$NODES"
on_own_nodes "4 ranks, the first two on the first node" "0 0 1 1" --bind-to numa --oversubscribe \
    -- "$NODES"
# shellcheck disable=SC2016 # the rank's shell expands it
on_own_nodes "2 ranks the other way round" "1 0" -- sh -c \
    'exec taskset -c $((1 - MLAUNCH_RANK)) "$0"' "$NODES"
done_testing
