#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the binaries export and need: strangers' programs see ml_* alone, and a host needs nothing
# but libc.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

# needed FILE: its shared libraries, a line each, without the sanitizers' own.
needed() {
    objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^lib(asan|ubsan|tsan)\.'
}
# needs_only FILE REGEX
needs_only() {
    local extra
    extra=$(needed "$1" | grep -vE "^($2)\$")
    if [ -z "$extra" ]; then pass "${1##*/} needs no library but $2"; else
        fail "${1##*/} needs no library but $2" "$extra"
    fi
}
libc='libc\.so\.6|ld-linux.*'

shim=$BUILD/runtime/libmlaunch.so.0
if [ -e "$shim" ]; then
    nm -D --defined-only "$shim" | awk '$2 != "A" { print $3 }' | sort > "$T/exports"
    awk '$2 == "{" { node = $1 } /^ +ml_.*;$/ { sub(/;/, ""); print $1 "@@" node }' \
        "$SOURCE/runtime/libmlaunch.map" | sort > "$T/listed"
    check_output "" "libmlaunch.so.0 exports what libmlaunch.map lists, with its node" \
        diff "$T/listed" "$T/exports"
    sed -nE 's/^ML_EXPORT .*[ *](ml_[a-z_]+)\(.*/\1/p; s/^ML_NORETURN .*(ml_[a-z_]+)\(.*/\1/p' \
        "$SOURCE/common/mlaunch.h" |
        sort -u > "$T/declared"
    check_match '^ml_init$' "$T/declared" "the calls of mlaunch.h are found"
    check_output "" "libmlaunch.map lists the calls of mlaunch.h, and no others" \
        sh -c 'sed "s/@.*//" "$1" | diff "$2" -' sh "$T/listed" "$T/declared"
    needs_only "$shim" "$libc"
    strip -o "$T/stripped" "$(readlink -f "$shim")"
    size=$(stat -c %s "$T/stripped")
    check "the shim is small ($size bytes without debugging information)" test "$size" -lt 45056
else
    fail "libmlaunch.so.0 is built"
fi
module=$BUILD/runtime/mlaunch-runtime.so
if [ -e "$module" ]; then
    needs_only "$module" "$libc|libm\\.so\\.6"
else
    fail "mlaunch-runtime.so is built"
fi
verbs=$BUILD/rdma/mlaunch-rdma.so
if [ -e "$verbs" ]; then
    check_output mlaunch_rdma_table "mlaunch-rdma.so exports its table alone" \
        sh -c "nm -D --defined-only '$verbs' | awk '\$2 != \"A\" { print \$3 }'"
    needs_only "$verbs" "$libc|libibverbs\\.so\\.1"
else
    skip "mlaunch-rdma.so exports its table alone" "built without RDMA"
fi
check "the agent is built" test -x "$AGENT"
needs_only "$AGENT" "$libc|libm\\.so\\.6"

nm "$AGENT" 2> /dev/null | awk '{ print $NF }' > "$T/names"
check_match '^worker_run$' "$T/names" "the names in mlaunch-agent are looked at"
check_no_match '^(endpoint_module|sync_engine|tree_(hash|list|place))_' "$T/names" \
    "mlaunch-agent has nothing of RDMA and of tools"

# What is copied starts on hosts whose C library is older than this machine's: Ubuntu 22.04 and RHEL
# 9 among them. Compiled with glibc 2.38 and later, it needs that one's __isoc23_strtol.
limit=2.34
# newer FILE: the names that it needs of a later glibc.
newer() {
    objdump -T "$1" | sed -nE 's/.*GLIBC_(2\.[0-9]+)\)? +([^ ]+)$/\1 \2/p' |
        awk -v limit="$limit" '{ split($1, v, "."); split(limit, l, "."); if (v[2] + 0 > l[2] + 0) print }'
}
here=$(getconf GNU_LIBC_VERSION 2> /dev/null | sed 's/.*2\.//')
for copied in "$AGENT" "$shim" "$module" "$verbs" "$BUILD/rdma/probe/mlaunch-probe" \
    "$BUILD/launcher/tools/bench/mlaunch-bench" "$BUILD/launcher/pmix/mlaunch-pmix" \
    "$BUILD/launcher/tools/mlaunch-copier"; do
    [ -e "$copied" ] || continue
    what="${copied##*/} needs glibc $limit at most"
    if [ "$SANITIZE" != no ] || [ "${here:-99}" -ge 38 ]; then skip "$what" "not in this build"; else
        check_output "" "$what" newer "$copied"
    fi
done
limit=2.10
check "newer names of glibc would be found" test -n "$(newer "$AGENT")"

# Our libraries' prefixes are not ours to define: a second ssh_connect would shadow theirs.
nm --defined-only "$BUILD"/lib*.a 2> /dev/null |
    awk '$2 ~ /[TDBR]/ { print $3 }' > "$T/defined"
check_match '^plan_create$' "$T/defined" "our own names are looked at"
check_no_match '^(ssh|sftp|ini|hwloc|json|event|evbuffer|crypto|randombytes|sodium|ibv|PMI)_' \
    "$T/defined" \
    "none of our names begins like our libraries' names"

# A local job doesn't wait until libcrypto is loaded. Nor does it need what only tools use.
needs_only "$MLAUNCH" "$libc|libm\\.so\\.6"
for tool in "$BUILD"/launcher/tools/mlaunch-*; do needs_only "$tool" "$libc|libm\\.so\\.6"; done
nm "$MLAUNCH" 2> /dev/null | awk '{ print $NF }' > "$T/names"
check_match '^main$' "$T/names" "the names in mlaunch are looked at"
check_no_match '^(initscr|newterm)$' "$T/names" "mlaunch has no curses"
needed "$BUILD/launcher/mlaunch-ssh.so" > "$T/needed"
check_match '^libssh' "$T/needed" "SSH is in a module of its own"
done_testing
