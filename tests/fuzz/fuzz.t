#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parsers of what users write, and of what other hosts send, take any bytes: seeds, and mutations of
# them, without a crash, a hang or a sanitizer's complaint. Each fuzz_X has seeds/X and X.dict.
# `make check-long` runs libFuzzer for an hour, if clang has it, and reports what was reached.
# shellcheck disable=SC2154 # status: of test.sh
TEST_LIMIT=480
. "${0%/*}/../lib/test.sh"

HOUR=3600
names=()
for target in "$BUILD"/tests/fuzz/*/fuzz_*; do
    [ -x "$target" ] || continue
    case $target in *.*) continue ;; esac
    names+=("${target##*/fuzz_}")
done
check "there are targets" test "${#names[@]}" -ge 20

rounds=10000
[ "$SANITIZE" = no ] || rounds=2000
if is_long; then
    run "$SOURCE/tests/fuzz/libfuzzer" "$BUILD/fuzz-long" \
        $((HOUR / ${#names[@]})) "${names[@]}"
    diag "$(cat "$OUT")"
    if [ "$status" -eq 77 ]; then
        rounds=$((rounds * 100))
    else
        check "libFuzzer finds nothing in an hour" test "$status" -eq 0
        rounds=0
    fi
fi
for name in "${names[@]}"; do
    [ "$rounds" -gt 0 ] || break
    check "$name takes anything" "$BUILD"/tests/fuzz/*/"fuzz_$name" \
        "$SOURCE/tests/fuzz/seeds/$name" "$SOURCE/tests/fuzz/$name.dict" "$rounds"
done
done_testing
