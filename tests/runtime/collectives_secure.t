#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Collectives × types × ops × sizes × ranks over TCP with --secure against a plain reference
# (collectives.c), and around the limits of its records.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

# A message's header of 32 bytes is in its first record.
for n in $secure_ranks; do
    calls "tcp --secure, $n ranks" -n $n "${secure[@]}" --program "${long[@]}"
    [ $n = 2 ] || is_long || continue
    for size in $((16384 - 32)) 16384 $((2 * 16384 - 32)) $((16 * 16384)); do
        calls "tcp --secure, $n ranks, around $size bytes" -n $n "${secure[@]}" --program --around \
            $size
    done
done
done_testing
