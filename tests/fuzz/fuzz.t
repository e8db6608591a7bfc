#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The parsers of what users, ranks, agents and other hosts write take any bytes, seeds and mutations
# of them, without a crash or a sanitizer's complaint. Each fuzz_X has seeds/X and X.dict. `make
# check-long` runs fifty times as many.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"

rounds=20000
[ "$SANITIZE" = no ] || rounds=4000
! is_long || rounds=$((rounds * 50))
for target in "$BUILD"/tests/fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    case $target in *.*) continue ;; esac
    name=${target##*/fuzz_}
    check "$name takes anything" "$target" "$SOURCE/tests/fuzz/seeds/$name" \
        "$SOURCE/tests/fuzz/$name.dict" "$rounds"
done
check "there were targets" test "$TEST_COUNT" -ge 4
done_testing
