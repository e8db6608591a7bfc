#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No name exists twice in the product, so that a backtrace, a search or an editor's list says which
# is meant: file names, exported functions and variables, and tags of structs, unions and enums.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/symbols.sh"
cd "$SOURCE" || exit 1

folders="common coordinator examples/llm launcher rdma runtime"

# shellcheck disable=SC2086
find $folders -name '*.[ch]' > "$T/files"
check_output "" "every file has a name of its own" sh -c "sed 's|.*/||' '$T/files' | sort | uniq -d"
check_output "" "a source and a header of one name lie in one folder" sh -c "sed 's|\.[ch]\$||' '$T/files' | sort -u |
    sed 's|.*/||' | sort | uniq -d"

xargs -a "$T/files" grep -hoE '^(struct|union|enum) [a-z_0-9]+ \{' | sort | uniq -d > "$T/tags"
check_output "" "every struct, union and enum has a tag of its own" cat "$T/tags"

# Programs have a main each, and jansson_stdin.c replaces a name of libc's.
# shellcheck disable=SC2086
symbols $folders | awk '
    $2 ~ /^[TDBRC]$/ && $3 != "main" && !seen[$1, $3]++ {
        n[$3]++
        where[$3] = where[$3] " " $1 ".c"
    }
    END {
        for (name in n) {
            all++
            if (n[name] > 1) print name ":" where[name]
        }
        if (all < 500) print "only " all + 0 " names were found"
    }' | sort > "$T/symbols"
check_output "" "every exported function and variable has a name of its own" cat "$T/symbols"
done_testing
