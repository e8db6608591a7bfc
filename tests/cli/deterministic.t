#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --deterministic: the same bits over shared memory, TCP and both, on any placement, with any
# algorithm and any split; bench --check-bits shows them.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

hosts=(--agent-command "sh -c 'shift; exec \"\$@\"' sh {host}")
# bits CALL OPTION…: the hash of a call, with mlaunch's OPTIONs.
bits() {
    "$MLAUNCH" bench "$1" --sizes 40,3K,300K --check-bits "${@:2}" 2> "$T/errors" |
        sed -n 's/^# bits //p'
}
# same NAME CALL OPTION…: the hash is the one in $first.
same() {
    # shellcheck disable=SC2154 # first is set below
    check_output "$first" "$1" bits "${@:2}"
}
tcp=(-n 4 --deterministic --backend tcp --local net)
for call in all_reduce reduce_scatter reduce; do
    first=$(bits $call -n 4 --deterministic)
    check "$call has a hash" test ${#first} -eq 32
    same "$call has the same hash on two hosts in turns" \
        $call -H a:3,b:1 --map-by host "${hosts[@]}" --deterministic
    other=$call:ring
    [ $call != reduce ] || other=reduce:binomial
    MLAUNCH_ALGO=$other same "$call has the same hash over TCP, with $other asked for" \
        $call "${tcp[@]}"
done
first=$(bits all_reduce -n 4 --deterministic)
MLAUNCH_ALGO=all_reduce:chain same "all_reduce has the same hash with an algorithm of many ranks" \
    all_reduce "${tcp[@]}"
same "all_reduce has the same hash by the variable" \
    all_reduce -n 4 -x MLAUNCH_DETERMINISTIC=1 --backend tcp --local net
MLAUNCH_ALGO=all_reduce:shared first=$(bits all_reduce -n 4)
check_no_match "$first" <(MLAUNCH_ALGO=all_reduce:doubling bits all_reduce -n 4) \
    "algorithms differ in some bits without --deterministic"

check "JSON has the hash" sh -c '"$@" | grep -qE "], \"bits\": \"[0-9a-f]{32}\"}$"' sh \
    "$MLAUNCH" bench --json --check-bits -n 2 --sizes 8
check_error 125 "--check-bits is for all_reduce, reduce_scatter and reduce: broadcast combines" \
    "--check-bits of a broadcast is refused" "$MLAUNCH" bench broadcast --check-bits -n 2
check_error 125 "--check-bits ends with a line of its own, which is no row of --csv" \
    "--check-bits with --csv is refused" "$MLAUNCH" bench --check-bits --csv -n 2
check_error 2 "MLAUNCH_DETERMINISTIC: 'yes' is not 0 or 1" \
    "a wrong value of the variable is refused" \
    "$MLAUNCH" bench -n 2 --sizes 8 -x MLAUNCH_DETERMINISTIC=yes
check_error 2 "MLAUNCH_ALGO or MLAUNCH_DETERMINISTIC of rank 1 on host localhost differs" \
    "ranks with different values of the variable are refused" \
    "$MLAUNCH" -n 1 -- "$BUILD/launcher/tools/bench/mlaunch-bench" : \
    -n 1 -x MLAUNCH_DETERMINISTIC=1 "$BUILD/launcher/tools/bench/mlaunch-bench"
done_testing
