#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./bootstrap configures its build folder once: again only when another --prefix is asked for, and
# not because a later command names none. `check` adds up the checks of all its parts, compiles for
# the sanitizers behind the tests, and fails if anything did. The tools are stand-ins.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"

mkdir "$T/tree" "$T/bin"
cp "$SOURCE/bootstrap" "$T/tree/"
cd "$T/tree" || exit 1
printf '#!/bin/sh\necho "$@" >> ../configured\n: > Makefile\n' > configure
printf '#!/bin/sh\necho "$@" >> "%s"\n' "$T/made" > "$T/bin/make"
for tool in cc autoconf automake libtoolize pkg-config; do
    printf '#!/bin/sh\n' > "$T/bin/$tool"
done
chmod +x configure "$T"/bin/*
PATH=$T/bin:$PATH

check "a first build" ./bootstrap build
check_output "-q" "is configured" cat configured
check "with a prefix" ./bootstrap --prefix "$T/one"
check_output "-q --prefix=$T/one" "it is configured again" tail -n +2 configured
check_match ' install$' "$T/made" "and installed"
: > "$T/made"
check "a later build without one" ./bootstrap
check_output "-q --prefix=$T/one" "keeps the prefix" tail -n +2 configured
check_no_match ' clean$| install$' "$T/made" "compiles nothing anew and installs nothing"
check "another prefix" ./bootstrap --prefix="$T/two" build
check_output "-q --prefix=$T/two" "is configured" tail -n +3 configured

# What is run, and how nice, is in $T/made; a command with $BROKEN in it fails.
cat > "$T/bin/make" << 'SH'
#!/bin/sh
echo "nice $(nice) $*" >> "$MADE"
case "$*" in
*print-names*) echo a.t b ;;
*"${BROKEN:-broken}"*) echo "# FAIL: 1"; exit 2 ;;
*TESTS=) ;;
*check*) printf '# PASS: 3\n# SKIP: 1\n' ;;
esac
SH
mkdir -p tests/vm
printf '#!/bin/sh\n' > tests/vm/prepare
chmod +x tests/vm/prepare
# The pulse's sleep outlives it.
sed -i 's/^needs_check="/needs_check=$needs_build others="/; s/\(needs_compile=\).*/\1$needs_build/
    s/sleep 20/sleep 1/' bootstrap
export MADE=$T/made
: > "$MADE"
check "a whole check" ./bootstrap check
check_match '^19 passed, 0 failed, 5 skipped$' "$OUT" "has the sum of its parts"
cp "$MADE" "$T/first"
check_match "^nice $(nice) .*build-check/gcc check " "$T/first" "tests have the usual priority"
check_match '^nice 19 -C build-check/asan -s -j' "$T/first" "a build behind them has the least"
check_output "build tests" "the sanitized tests come after their build" awk '
    /asan .* TESTS=$/ { printf "build " }
    /asan check-asan/ { print "tests" }' "$T/first"
check_status 1 "a build that fails" env BROKEN="build-check/tsan -s -j" ./bootstrap check
check_match '^bootstrap: failed: build with the thread sanitizer; ' "$OUT" "is named at the end"
check_match 'tests with the thread sanitizer: not run, because the build failed' "$OUT" \
    "… its tests are not run"
check_match '^15 passed, 1 failed, ' "$OUT" "… and the others are"
check_status 1 "the first build fails" env BROKEN="build-check/gcc -s -j" ./bootstrap check
check_match 'failed: build with gcc -Werror; 8 of 9 parts were not run; ' "$OUT" "nothing else is run"
check_status 1 "checks that fail behind the tests" env BROKEN=check-static ./bootstrap check
check_match '^bootstrap: failed: static checks: 1 .logs in build-check/gcc/tests.; ' "$OUT" \
    "are named, too"
done_testing
