#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llm's words: they are listed, and any other is refused.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
llm=$BUILD/examples/llm/llm

check "--help succeeds" "$llm" --help
for word in bench generate serve; do check_match "^  $word " "$OUT" "--help lists $word"; done
check_error 2 "^usage: " "without a word the words are listed too" "$llm"
check_error 2 'no word .train.; there are bench, generate and serve' "another word is refused" \
    "$llm" train
done_testing
