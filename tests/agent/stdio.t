#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent alone carries its ranks' streams: output, input, a terminal, slow readers.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/cases.sh"
cases stdio
