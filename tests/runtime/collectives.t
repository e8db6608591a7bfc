#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A diagonal through collectives × types × ops × sizes × places (case_diagonal), over each transport
# that this machine has alone, and over two hosts: once for each algorithm of the library's table.
# The whole matrix is in collectives_*.t, the algorithms without transports in
# tests/unit/runtime/collective/test_collectives.c.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

# refusal ALGORITHMS WORDS: what the library says behind WORDS when it refuses MLAUNCH_ALGO.
refusal() { MLAUNCH_ALGO=$1 "$MLAUNCH" -n 1 -- "$PROGRAM" 2>&1 | sed -n "s/.*$2//p" | head -n 1; }

# In round i each call has the algorithm of that number, and again its first behind its last.
rounds=()
declare -A known
most=0
names=$(refusal nothing 'with a call of ')
for call in ${names//,/}; do
    known[$call]=$(refusal "$call:?" "it has: ")
    # shellcheck disable=SC2086
    set -- ${known[$call]}
    [ $# -le "$most" ] || most=$#
done
for ((i = 0; i < most; i++)); do
    for call in "${!known[@]}"; do
        IFS=', ' read -ra names <<< "${known[$call]}"
        rounds[i]+=,$call:${names[i % ${#names[@]}]}
    done
    rounds[i]=${rounds[i]#,}
done
check "the table has calls with several algorithms" test "${#known[@]}" -gt 1 -a "$most" -gt 1
diag "$(printf '%s\n' "${rounds[@]}")"

calls "shm, 4 ranks" -n 4 "${shm[@]}" --program --diagonal "${rounds[@]}"
calls "tcp, 3 ranks" -n 3 "${tcp[@]}" --program --diagonal "${rounds[@]}"
calls "tcp --secure, 2 ranks" -n 2 "${secure[@]}" --program --diagonal "${rounds[@]}"
# Two agents here, that mlaunch takes for two hosts: shared memory in each, TCP between them.
hosts=(--agent-command "sh -c 'shift; exec \"\$@\"' sh {host}" --output raw)
for where in a:2,b:2 a:1,b:3; do
    calls "hosts $where, shm and tcp" -H $where "${hosts[@]}" -- --program --diagonal "${rounds[@]}"
done

# Slips in MLAUNCH_ALGO.
check_error 1 "MLAUNCH_ALGO: all_reduce has no algorithm 'rign'; it has: chain, direct, doubling, flat, hierarchical, leaders, ring, shared, shared-flat" \
    "a slip in MLAUNCH_ALGO is said at ml_init" env MLAUNCH_ALGO=all_reduce:rign \
    "$MLAUNCH" -n 2 -- "$PROGRAM"
check_error 1 "MLAUNCH_ALGO or MLAUNCH_DETERMINISTIC of rank 1 on host localhost differs from that of rank 0 on host localhost: all ranks need the same" \
    "ranks with different algorithms don't begin" "$MLAUNCH" -n 1 -- "$PROGRAM" : -n 1 -x \
    MLAUNCH_ALGO=all_reduce:ring "$PROGRAM"
done_testing
