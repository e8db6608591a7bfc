#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parsers of the library, and of the programs for RDMA, take any bytes (fuzz.sh).
TEST_TIER=full
TEST_LIMIT=480
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fuzz.sh"
fuzz runtime 4
