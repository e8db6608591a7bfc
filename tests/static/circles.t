#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inside a folder calls go one way, too: no file uses a name of another one that, on whatever way,
# uses one of its own.
. "${0%/*}/../lib/test.sh"
cd "$BUILD" || exit 1

# "runtime/group/wait.c runtime/group/bell.c": the first lacks a name that the second defines, by
# their objects. An object is called as its source, behind its program's name where that has flags
# of its own. Two programs may have a name twice: the same folder's counts.
arrows() {
    {
        (cd "$SOURCE" && find common coordinator launcher rdma runtime -name '*.c')
        find common coordinator launcher rdma runtime -name '*.o' -print0 | xargs -0 nm -A --
    } | awk '
        NF == 1 { is_source[$1] = 1; next }
        {
            file = $1
            sub(/:.*/, "", file)
            sub(/\.libs\//, "", file)
            sub(/[^\/]*-/, "", file)
            sub(/o$/, "c", file)
            folder = file
            sub(/[^\/]*$/, "", folder)
        }
        !(file in is_source) { next } # of an older build
        $(NF - 1) ~ /^[TDBRVWC]$/ { where[folder, $NF] = anywhere[$NF] = file }
        $(NF - 1) == "U" { lacks[++n] = $NF; who[n] = file; its_folder[n] = folder }
        END {
            for (i = 1; i <= n; i++) {
                from = (its_folder[i], lacks[i]) in where ? where[its_folder[i], lacks[i]] : anywhere[lacks[i]]
                if (from != "" && from != who[i]) print who[i], from
            }
        }' | sort -u
}

all=$(arrows)
n=$(wc -l <<<"$all")
if [ "$n" -gt 500 ]; then pass "the arrows between files are found"; else fail \
    "the arrows between files are found" "$n"; fi
if circle=$(tsort <<<"$all" 2>&1 >/dev/null); then pass "none of them closes a circle"; else
    fail "none of them closes a circle" "$circle"
fi
done_testing
