#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What programs that are linked with libmlaunch.so.0 rely on is as runtime/libmlaunch.abi has it:
# the calls, their arguments, the types of mlaunch.h and the numbers of its constants.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
needs abidiff
[ "$(uname -m)" = x86_64 ] || skip_all "runtime/libmlaunch.abi is of x86-64"
dump=$SOURCE/runtime/libmlaunch.abi

check "make abi-dump writes what there is" make -C "$BUILD" -s abi-dump ABI_DUMP="$T/now.abi"
[ -s "$T/now.abi" ] || done_testing
# That a constant or a call was added breaks nothing.
if ! abidiff --no-added-syms "$dump" "$T/now.abi" > "$T/found" 2>&1; then
    fail "programs that were linked before still run" "$(cat "$T/found")

This change breaks programs that are linked with libmlaunch.so.0. Leave what they use as it was, and
add what is new under a name of its own. If the change is meant (doc/stability.md says when it may
be), give the library the next soname, run make -C build abi-dump, and commit the new
runtime/libmlaunch.abi with the change."
elif ! abidiff --harmless "$dump" "$T/now.abi" > "$T/found" 2>&1; then
    fail "runtime/libmlaunch.abi has all that there is" "$(cat "$T/found")

No program breaks by this change, but from now on programs may use what is new: run make -C build
abi-dump, and commit the new runtime/libmlaunch.abi with the change."
else
    pass "programs that were linked before still run"
fi

# differs STATUS NAME SED: what abidiff says of a library that was before as SED makes the dump.
differs() {
    sed "$3" "$dump" > "$T/before.abi"
    check_status "$1" "$2" abidiff --no-added-syms "$T/before.abi" "$T/now.abi"
}
differs 12 "abidiff would find a call that is gone" "s/ml_flush/ml_flushed/g"
differs 12 "abidiff would find a call that has moved to another node" "s/MLAUNCH_0.1/MLAUNCH_0.0/g"
differs 4 "abidiff would find an argument of another type" \
    "/function-decl name='ml_flush'/,/<return/s/id='95e97e5e'/id='b59d7dce'/"
differs 4 \
    "abidiff would find another number of a constant" "s/'ML_PROD' value='1'/'ML_PROD' value='7'/"
differs 4 \
    "abidiff would find a member at another place" "s/offset-in-bits='192'/offset-in-bits='200'/"
differs 0 "abidiff finds nothing in a constant that was added" "/'ML_XOR'/d"

# Constants that are of no type are in programs, but not in the dump.
cat > "$T/constants.c" << 'C'
#include "common/mlaunch.h"
#define IS(number, name) _Static_assert(name == (number), #name " has changed")
IS(-1, ML_NOBODY);
IS(-2, ML_ANY);
IS(-3, ML_ALL);
IS(-1, ML_ERR_ARGUMENT);
IS(-2, ML_ERR_STATE);
IS(-3, ML_ERR_MEMORY);
IS(-4, ML_ERR_MISMATCH);
IS(-5, ML_ERR_PEER);
IS(-6, ML_ERR_DEVICE);
IS(-7, ML_ERR_LINK);
IS(-8, ML_ERR_TIMEOUT);
IS(-9, ML_ERR_REFUSED);
IS(-10, ML_ERR_SYSTEM);
C
check "the other constants have their numbers" "$CC" -fsyntax-only -I"$SOURCE" "$T/constants.c"
done_testing
