#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parsers of mlaunch and of the agent take any bytes (fuzz.sh).
TEST_TIER=full
TEST_LIMIT=480
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fuzz.sh"
fuzz launcher 20
