#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No files use each other in a circle. A file is a .c with its .h. Neither their includes close a
# circle, nor the names that they use of each other: by their objects, and of functions that headers
# define.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/includes.sh"
. "${0%/*}/symbols.sh"
cd "$BUILD" || exit 1

folders="common coordinator examples/llm launcher rdma runtime"

# "runtime/a runtime/b": a.c or a.h includes b.h.
file_includes() {
    local files
    cd "$SOURCE" || exit 1
    # shellcheck disable=SC2086
    mapfile -t files < <(find $folders -name '*.[ch]')
    includes "${files[@]}" | sed -nE 's/^([^:]*)\.[ch]:[0-9]*:(.*\/.*)\.h$/\1 \2/p' |
        awk '$1 != $2' | sort -u
}

# "runtime/a runtime/b": a.o lacks a name that b.o defines.
objects() {
    # shellcheck disable=SC2086
    symbols $folders | awk '
        $2 ~ /^[TDBRVWC]$/ { where[$3] = $1 }
        $2 == "U" { lacks[++n] = $3; who[n] = $1 }
        END {
            for (i = 1; i <= n; i++)
                if (lacks[i] in where && where[lacks[i]] != who[i]) print who[i], where[lacks[i]]
        }' | sort -u
}

# "runtime/a runtime/b": a.c or a.h names a function that b.h defines (static inline), which no object shows.
inlines() {
    cd "$SOURCE" || exit 1
    # shellcheck disable=SC2086
    find $folders -name '*.h' -print0 | xargs -0 awk '
        FNR == 1 { inside = 0 }
        /^static .*inline/ { inside = 1 }
        inside && match($0, /[a-z_0-9]+\(/) {
            print substr($0, RSTART, RLENGTH - 1), substr(FILENAME, 1, length(FILENAME) - 2)
            inside = 0
        }' > "$T/inline"
    cut -d' ' -f1 "$T/inline" > "$T/names"
    # shellcheck disable=SC2086
    grep -rohwFH --include='*.[ch]' -f "$T/names" $folders | sed 's/\.[ch]:/ /' | sort -u |
        awk 'NR == FNR { where[$1] = $2; next } where[$2] != $1 { print $1, where[$2] }' "$T/inline" - | sort -u
}

# check_circles NAME LEAST FILE: at least LEAST arrows were found, and they close no circle.
check_circles() {
    local circle n
    n=$(wc -l < "$3")
    if [ "$n" -ge "$2" ]; then pass "$1 are found"; else fail "$1 are found" "only $n"; fi
    if circle=$(tsort "$3" 2>&1 > /dev/null); then pass "$1 close no circle"; else
        fail "$1 close no circle" "$circle"
    fi
}

(file_includes) > "$T/includes"
check_circles "the includes between files" 500 "$T/includes"
objects > "$T/objects"
(inlines) > "$T/inlines"
check_circles "the functions that headers define" 30 "$T/inlines"
sort -u "$T/objects" "$T/inlines" > "$T/uses"
check_circles "the names that files use of each other" 500 "$T/uses"
done_testing
