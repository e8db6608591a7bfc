#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parsers of examples/llm take any bytes (fuzz.sh).
TEST_TIER=full
TEST_LIMIT=480
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fuzz.sh"
[ -x "$BUILD/examples/llm/llm" ] || skip_all "built without examples/llm"
fuzz examples 3
