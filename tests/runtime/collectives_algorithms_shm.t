#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Over shared memory, the algorithms that the table keeps for larger groups, or for none, against a
# plain reference (collectives.c).
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

MLAUNCH_ALGO=all_reduce:ring,all_gather:ring,broadcast:binomial,reduce:direct
export MLAUNCH_ALGO+=,reduce_scatter:direct
calls "shm, 4 ranks, other algorithms" -n 4 "${shm[@]}" --program
export MLAUNCH_ALGO=all_reduce:shared
calls "shm, 3 ranks, each a piece" -n 3 "${shm[@]}" --program
done_testing
