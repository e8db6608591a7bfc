#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parsers of what users write, and of what other hosts send, take any bytes: seeds, and mutations of
# them, without a crash, a hang or a sanitizer's complaint. Each fuzz_X has seeds/X and X.dict.
# `make check-long` runs a hundred times as many.
TEST_LIMIT=480
. "${0%/*}/../lib/test.sh"

rounds=10000
[ "$SANITIZE" = no ] || rounds=2000
! is_long || rounds=$((rounds * 100))
for target in "$BUILD"/tests/fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    case $target in *.*) continue ;; esac
    name=${target##*/fuzz_}
    check "$name takes anything" "$target" "$SOURCE/tests/fuzz/seeds/$name" \
        "$SOURCE/tests/fuzz/$name.dict" "$rounds"
done
check "there were targets" test "$TEST_COUNT" -ge 20
done_testing
