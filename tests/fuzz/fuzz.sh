# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# fuzz.sh: the targets of one folder, for a *.t, behind test.sh:
#
#     fuzz common 5            # there are at least 5
#
# Parsers of what users write, and of what other hosts send, take any bytes: seeds, and mutations of
# them, without a crash, a hang or a sanitizer's complaint. Each fuzz_X has seeds/X and X.dict.
# `make check-long` runs libFuzzer, an hour for all folders, if clang has it, and reports what was
# reached; a turn of it takes 2 minutes for a folder.
HOUR=3600

# targets FOLDER: their names; of all folders with '*'.
targets() {
    local target
    for target in "$BUILD"/tests/fuzz/$1/fuzz_*; do
        case $target in *.*) continue ;; esac
        [ ! -x "$target" ] || echo "${target##*/fuzz_}"
    done
}

# fuzz FOLDER LEAST
fuzz() {
    local names name rounds=2000 seconds
    mapfile -t names < <(targets "$1")
    check "there are at least $2 targets" test "${#names[@]}" -ge "$2"
    if is_long; then
        seconds=$((HOUR / $(targets '*' | wc -l)))
        [ -z "${MLAUNCH_TEST_SECONDS:-}" ] || seconds=$((MLAUNCH_TEST_SECONDS / ${#names[@]} + 1))
        run "$SOURCE/tests/fuzz/libfuzzer" "$BUILD/fuzz-long" "$seconds" "${names[@]}"
        diag "$(cat "$OUT")"
        # shellcheck disable=SC2154 # of test.sh
        if [ "$status" -eq 77 ]; then
            rounds=1000000
            [ -z "${MLAUNCH_TEST_SECONDS:-}" ] || rounds=100000
        else
            check "libFuzzer finds nothing in $seconds s for each target" test "$status" -eq 0
            rounds=0
        fi
    fi
    for name in "${names[@]}"; do
        [ "$rounds" -gt 0 ] || break
        check "$name takes anything" "$BUILD/tests/fuzz/$1/fuzz_$name" \
            "$SOURCE/tests/fuzz/seeds/$name" "$SOURCE/tests/fuzz/$name.dict" "$rounds"
    done
    done_testing
}
