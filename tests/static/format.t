#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang-format has nothing to say.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
needs clang-format
for folder in common coordinator launcher runtime rdma examples tests; do
    mapfile -t files < <(find "$folder" -name '*.[ch]' 2> /dev/null | sort)
    [ "${#files[@]}" = 0 ] || check "clang-format has nothing to say of $folder/" clang-format \
        --dry-run -Werror "${files[@]}"
done
done_testing
