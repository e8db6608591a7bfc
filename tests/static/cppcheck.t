#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cppcheck finds no error, warning or leak.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
needs cppcheck
for folder in common coordinator launcher runtime rdma examples; do
    [ -n "$(find "$folder" -name '*.c' 2> /dev/null)" ] || continue
    # What is suppressed is in the sources, with its reason.
    check "cppcheck finds nothing in $folder/" cppcheck --quiet --error-exitcode=1 --inline-suppr \
        --enable=warning,portability \
        --std=c11 --language=c --template=gcc -D__linux__ -D_GNU_SOURCE -I. -j "$(nproc)" "$folder"
done
done_testing
