#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header compiles alone; the public one also as strict C11 and as C++.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# Not as a part of `make -jN check`: then make would talk of its job server and its directories. The
# flags are the last line, because make may bring its own files up to date first.
read -ra flags < <(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$BUILD" print-flags |
    tail -n 1)
# needs_verbs HEADER: libibverbs's, itself or by one of ours.
needs_verbs() {
    local other
    grep -q '^#include <infiniband/' "$1" && return
    while IFS= read -r other; do
        needs_verbs "$other" && return
    done < <(sed -n 's/^#include "\(rdma\/.*\)"$/\1/p' "$1")
    return 1
}
while IFS= read -r header; do
    if ! grep -q '^#define HAVE_RDMA 1' "$BUILD/config.h" && needs_verbs "$header"; then
        skip "$header compiles alone" "built without RDMA"
        continue
    fi
    case $header in
        launcher/pmix/*) [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ] || continue ;;
    esac
    folders=(-I"$SOURCE" -I"$BUILD")
    case $header in
        examples/*) folders=(-I"$BUILD/include") ;; # where mlaunch.h is, and nothing else of ours
    esac
    echo "#include \"$SOURCE/$header\"" > "$T/alone.c"
    check "$header compiles alone" "$CC" -fsyntax-only -Wall -Wextra -Werror "${folders[@]}" \
        -D_GNU_SOURCE -std=gnu11 "${flags[@]}" "$T/alone.c"
done < <(find common coordinator examples launcher runtime rdma -name '*.h' | sort)
# public COMPILER LANGUAGE STANDARD…: the public header in programs of these standards; $what is in
# them.
public() {
    local compiler=$1 language=$2 standard
    shift 2
    for standard; do
        if ! is_here "$compiler"; then
            skip "$what compiles with $compiler -std=$standard" "$LACKS"
            continue
        fi
        check "$what compiles with $compiler -std=$standard" "$compiler" -x "$language" \
            -fsyntax-only -Wall -Wextra -Werror -pedantic -std="$standard" -Icommon "$T/public.c"
    done
}
# In C++98 a comma at the end of an enumeration is an error, and so is // in strict C90.
echo '#include <mlaunch.h>' > "$T/public.c"
what=mlaunch.h
for compiler in gcc clang; do public $compiler c c90 c99 c11 gnu17; done
for compiler in g++ clang++; do public $compiler c++ c++98 c++11 c++17 c++20; done
# A function that calls ml_abort needs no value behind it.
echo 'int f(void) { ml_abort(1, NULL); }' >> "$T/public.c"
what="a call of ml_abort"
public gcc c c99 c11
public g++ c++ c++98 c++17
done_testing
