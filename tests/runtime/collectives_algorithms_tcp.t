#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Over TCP, the algorithms that the table keeps for larger groups, or for none, against a plain
# reference (collectives.c); one that cannot be used there; and one for each size.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

MLAUNCH_ALGO=all_reduce:flat,all_gather:bruck,broadcast:scatter,reduce:binomial
export MLAUNCH_ALGO+=,reduce_scatter:flat
calls "tcp, 3 ranks, other algorithms" -n 3 "${tcp[@]}" --program
export MLAUNCH_ALGO=all_reduce:shared
calls "tcp, 2 ranks, where nothing is shared" -n 2 "${tcp[@]}" --program --random 7 30
unset MLAUNCH_ALGO
calls "3 ranks, an algorithm for each size" -n 3 -x \
    MLAUNCH_ALGO=all_reduce:doubling@..512,ring@2K.. "${tcp[@]}" --program
done_testing
