#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system that fail, one in each run of a unit test's program: memory, processes,
# descriptors, mappings, reading, writing, waiting; only those that the product makes, not the test
# (fail_calls.c). Expected of each run: the test may fail, but the product does not crash, hang, or
# lose memory, which the address sanitizer sees (walk_unit.py). In check-long every call fails once;
# otherwise a sample of them, and in a turn of it those for which there is time, at random.
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
is_long || [ "$SANITIZE" = no ] || skip_all "with a sanitizer only in check-long"
case $SANITIZE in
*thread*) skip_all "the thread sanitizer must be loaded first" ;;
esac
# What the programs leave when they end in the middle of a test is gone with the namespaces.
inside container

mapfile -t programs < <(find "$BUILD/tests/unit" -type f -name "test_*" ! -name "*.*" -perm -1 |
    sort)
[ ${#programs[@]} -gt 0 ] || skip_all "no unit tests were built"
readelf --debug-dump=aranges "${programs[0]}" 2> /dev/null | grep -q 'Address  *Length' ||
    skip_all "the programs do not say which source their code is from (gcc -g does)"

export T FAIL_CALLS=$BUILD/tests/inject/fail_calls.so
export ASAN_OPTIONS=verify_asan_link_order=0:abort_on_error=1 # it comes second
# What the loader keeps for good; behind fail_calls.so the sanitizer does not see who asked.
echo leak:ld-linux > "$T/leaks"
export LSAN_OPTIONS=suppressions=$T/leaks:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
calls=25
! is_long || calls=all
check "no unit crashes, hangs or loses memory when a call fails" python3 \
    "$SOURCE/tests/inject/walk_unit.py" "$calls" "${programs[@]}"
diag "$(cat "$OUT")"
done_testing
