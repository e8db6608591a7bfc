#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shell linter has nothing to say about any script, bootstrap as POSIX sh.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
needs shellcheck
mapfile -t files < <(grep -rlIE '^#!.*\b(ba)?sh\b|^# shellcheck shell=' bootstrap .ci tests \
    examples launcher 2> /dev/null | sort)
# SC2034: variables that test.sh or a test reads.
for file in "${files[@]}"; do
    check "shellcheck finds nothing in $file" shellcheck -x -S warning -e SC2034 "$file"
done
done_testing
