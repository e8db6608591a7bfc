#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Collectives × types × ops × sizes × ranks × backends against a plain reference (collectives.c): in
# place and not, misaligned, the same bits on all ranks; and sequences of random calls.
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"

PROGRAM=$BUILD/tests/runtime/collectives
long=()
cases=40
ranks="1 2 3 4"
secure_ranks="2 3"
if [ "$SANITIZE" != no ]; then
    cases=15
    ranks=3
    secure_ranks=2
fi
if is_long; then
    long=(--long)
    cases=2000
    ranks="1 2 3 4 7"
    secure_ranks="2 3"
fi

# calls NAME MLAUNCH-OPTION… -- ARGUMENT…: no failure on any rank.
calls() {
    local name=$1
    shift
    run "$MLAUNCH" "${@/#--program/$PROGRAM}"
    # shellcheck disable=SC2154
    if [ "$status" -eq 0 ] && grep -q ', 0 failures$' "$OUT"; then
        pass "$name ($(sed 's/.*: //' "$OUT"))"
    else
        fail "$name"
        diag_run "$MLAUNCH" "$@"
    fi
}

for n in $ranks; do
    calls "shm, $n ranks" -n $n --oversubscribe --output raw --backend shm -- --program "${long[@]}"
    calls "tcp, $n ranks" -n $n --oversubscribe --output raw --backend tcp --local net -- \
        --program "${long[@]}"
done

# The limits of the records of --secure: a message's header of 32 bytes is in its first one.
secure=(--oversubscribe --output raw --backend tcp --local net --secure --)
for n in $secure_ranks; do
    calls "tcp --secure, $n ranks" -n $n "${secure[@]}" --program "${long[@]}"
    [ $n = 2 ] || is_long || continue
    for size in $((16384 - 32)) 16384 $((2 * 16384 - 32)) $((16 * 16384)); do
        calls "tcp --secure, $n ranks, around $size bytes" -n $n "${secure[@]}" --program --around \
            $size
    done
done

# The algorithms that the table keeps for larger groups.
MLAUNCH_ALGO=all_reduce:ring,all_gather:ring,broadcast:binomial,reduce:direct
export MLAUNCH_ALGO+=,reduce_scatter:direct
calls "shm, 4 ranks, other algorithms" -n 4 --oversubscribe --output raw --backend shm -- --program
MLAUNCH_ALGO=all_reduce:flat,all_gather:bruck,broadcast:scatter,reduce:binomial,reduce_scatter:flat
calls "tcp, 3 ranks, other algorithms" -n 3 --oversubscribe --output raw --backend tcp --local net \
    -- --program
export MLAUNCH_ALGO=all_reduce:shared
calls "shm, 3 ranks, each a piece" -n 3 --oversubscribe --output raw --backend shm -- --program
calls "tcp, 2 ranks, where nothing is shared" -n 2 --oversubscribe --output raw --backend tcp \
    --local net -- --program --random 7 30
export MLAUNCH_ALGO=all_reduce:rign
check_error 1 "MLAUNCH_ALGO: all_reduce has no algorithm 'rign'; it has: direct, doubling, flat, hierarchical, leaders, ring, shared, shared-flat" \
    "a slip in MLAUNCH_ALGO is said at ml_init" "$MLAUNCH" -n 2 -- "$PROGRAM"
unset MLAUNCH_ALGO
calls "3 ranks, an algorithm for each size" -n 3 --oversubscribe --output raw --backend tcp --local \
    net -x MLAUNCH_ALGO=all_reduce:doubling@..512,ring@2K.. -- --program
check_error 1 "MLAUNCH_ALGO of rank 1 on host localhost differs from that of rank 0 on host localhost: all ranks need the same" \
    "ranks with different algorithms don't begin" "$MLAUNCH" -n 1 -- "$PROGRAM" : -n 1 -x \
    MLAUNCH_ALGO=all_reduce:ring "$PROGRAM"

seeds=$((RANDOM * 32768 + RANDOM))
[ "$SANITIZE" != no ] && ! is_long || seeds+=" 1"
for seed in $seeds; do
    calls "random calls, shm, 5 ranks, seed $seed" -n 5 --oversubscribe --output raw --backend shm \
        -- --program --random $seed $cases
    calls "random calls, tcp, 3 ranks, seed $seed" -n 3 --oversubscribe --output raw --backend tcp \
        --local net -- --program --random $seed $cases
    calls "random calls, tcp --secure, 4 ranks, seed $seed" -n 4 "${secure[@]}" --program \
        --random $seed $cases
    calls "started and not, tcp --secure, 3 ranks, seed $seed" -n 3 "${secure[@]}" --program \
        --started --random $seed $cases
    calls "started and not, shm, 4 ranks, seed $seed" -n 4 --oversubscribe --output raw \
        --backend shm -- --program --started --random $seed $cases
    calls "started and not, tcp, 3 ranks, seed $seed" -n 3 --oversubscribe --output raw \
        --backend tcp --local net -- --program --started --random $seed $cases
done
calls "random calls in memory of ml_alloc, shm, 3 ranks" -n 3 --oversubscribe --output raw \
    --backend shm -- --program --alloc --random 3 $cases
calls "random calls in memory of ml_alloc, tcp, 3 ranks" -n 3 --oversubscribe --output raw \
    --backend tcp --local net -- --program --alloc --random 3 $cases
if is_long; then
    if [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 14 ] &&
        [ "$SANITIZE" = no ]; then
        calls "beyond 4 GiB, shm" -n 2 --output raw --backend shm -- --program --huge
        calls "beyond 4 GiB, tcp" -n 2 --output raw --backend tcp --local net -- --program --huge
    else
        skip "beyond 4 GiB" "needs 14 GiB of memory, and no sanitizer"
    fi
    calls "random calls, shm, 64 ranks" -n 64 --oversubscribe --output raw --backend shm -- \
        --program --random 64 100
fi
done_testing
