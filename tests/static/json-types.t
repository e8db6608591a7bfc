#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each argument of jansson's json_pack and json_unpack has the type that its format wants: an "i" or
# "b" is no bool, an "I" no int.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

read -ra flags < <(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$BUILD" \
    print-flags | tail -n 1)
# examples/llm names its headers as seen from the including file.
llm=(-Iexamples/llm -Iexamples/llm/serve -I"$BUILD/include")
# compile FILE…: with the arguments' types checked.
compile() {
    local copies
    mapfile -t copies < <(python3 "$SOURCE/tests/static/json_types.py" "$T" "$@")
    [ "${#copies[@]}" -eq $# ] &&
        "$CC" -fsyntax-only -I. -I"$BUILD" "${llm[@]}" -D_GNU_SOURCE -std=gnu11 "${flags[@]}" \
            "${copies[@]}"
}
rooms=(common coordinator examples launcher runtime rdma tests)
[ -x "$BUILD/launcher/pmix/mlaunch-pmix" ] || rooms+=(--exclude-dir=pmix)
grep -q "^#define HAVE_RDMA 1" "$BUILD/config.h" || rooms+=(--exclude-dir=rdma)
mapfile -t files < <(grep -rlE '\<(json_(un)?pack|REPORT_UNPACK)\(' --include='*.c' "${rooms[@]}")
check "the arguments of ${#files[@]} files have their types" compile "${files[@]}"

# refuses WRONG RIGHT CALL: an x of the type WRONG in CALL, and not one of the type RIGHT.
refuses() {
    local type expected=1 word="is refused"
    for type in "$1" "$2"; do
        cat > "$T/x.c" << END
#include <jansson.h>
#include <stdbool.h>
int f(json_t *j, json_int_t y, $type x);
int f(json_t *j, json_int_t y, $type x) { return j && y && x && $3; }
END
        check_status $expected "$type x: $3 $word" compile "$T/x.c"
        expected=0 word="is right"
    done
}
refuses bool int 'json_unpack(j, "{s:I, s?b}", "y", &y, "x", &x)'
refuses json_int_t int 'json_unpack(j, "[[Ii!]*]", &y, &x)'
refuses int json_int_t 'json_unpack(j, "{s?{sI}}", "a", "b", &x)'
refuses json_int_t int 'json_pack("{s:[sb]}", "a", "b", x)'
refuses int json_int_t 'json_pack("{s:s#, sI}", "a", "b", 1, "c", x)'
done_testing
