#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cppcheck finds no error, warning or leak.
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
command -v cppcheck > /dev/null || skip_all "no cppcheck here"
for folder in common coordinator launcher runtime rdma examples; do
    [ -n "$(find "$folder" -name '*.c' 2> /dev/null)" ] || continue
    # cppcheck reads no system headers, so the one macro that looks like a statement is told to it.
    # What is suppressed stands in the sources, with its reason.
    check "$folder/" cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,portability \
        --std=c11 --language=c --template=gcc -D__linux__ -D_GNU_SOURCE \
        '-Djson_array_foreach(array,index,value)=for (index = 0; (value = json_array_get(array, index)); index++)' -I. -j "$(nproc)" "$folder"
done
done_testing
