#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Collectives × types × ops × sizes × ranks over TCP against a plain reference (collectives.c): in
# place and not, misaligned, the same bits on all ranks.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=full
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

for n in $ranks; do calls "tcp, $n ranks" -n $n "${tcp[@]}" --program "${long[@]}"; done
beyond_4g "beyond 4 GiB, tcp" --backend tcp --local net
done_testing
