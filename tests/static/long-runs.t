#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/long-runs has a line for each long form, and none of them has missed its turn (the head of
# lib/long_turn.py says when one has). Tables made here show that what is wrong is found.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

turn() { python3 tests/lib/long_turn.py "$@"; }
# A make above this one may have other TESTS.
long=$(env -u MAKEFLAGS make -C "$BUILD" -s print-long | tail -n 1)
check "the names of long tests are found" test "$(wc -w <<< "$long")" -gt 50
# shellcheck disable=SC2086 # names
if grep -qE 'HAVE_(CMOCKA|LLM)_TRUE"\]="#"' "$BUILD/config.status"; then
    skip "the table is whole and no form has missed its turn" "this build lacks some of the tests"
else
    check_output "" "the table is whole and no form has missed its turn" turn check $long
fi

# A file says so itself, or the script of the same name does, which it sources or guests run.
# collectives.t takes from collectives.sh only what has no long form.
{
    grep -rlE '^[^#]*\bis_long\b' tests --include='*.t'
    grep -rl 'getenv("MLAUNCH_TEST_LONG")' tests --include='test_*.c' | sed 's/\.c$//'
    grep -rlE '^[^#]*\bis_long\b' tests --include='*.sh' | while read -r script; do
        grep -ls "${script##*/}" "${script%.sh}.t"
    done
} | grep -vE '^tests/(static/(lib|long-runs)|runtime/collectives)\.t$' | sort -u > "$T/long"
while read -r test; do
    case " $long " in *" $test "*) ;; *) grep -qE "^${test}[: ]" tests/long-runs || echo "$test" ;; esac
done < "$T/long" > "$T/unlisted"
check_output "" "every test with a long form is in TESTS_LONG" cat "$T/unlisted"

# --- tables made here: 1,000 s in all, for which a form waits for three turns at most
mkdir "$T/tests"
for test in a b c; do echo 'TEST_TIER=quick' > "$T/tests/$test.t"; done
printf '%s\n' '/* A program.' ' * TEST_PARTS=2 */' > "$T/tests/d.c"
tests=(tests/a.t tests/b.t tests/c.t tests/d)
# made LINE…: a table of these lines, the columns of which may be separated by one blank.
made() { { echo '# head'; printf '%s\n' "$@"; } > "$T/table"; }
seeded() { env -C "$T" python3 "$SOURCE/tests/lib/long_turn.py" --table table "$@" "${tests[@]}"; }
rows=("tests/a.t 8 1234567 2026-01-02 300 passed" "tests/b.t 7 1234567 2026-01-01 200 passed"
    "tests/c.t 6 1234567 2026-01-01 100 passed" "tests/d:1 8 1234567 2026-01-02 200 passed"
    "tests/d:2 5 1234567 2025-12-31 200 passed")
# one_wrong SENTENCE NAME LINE…
one_wrong() {
    made "${@:3}"
    check_status 1 "$2 is found" seeded check
    cp "$OUT" "$T/said"
    check_output "$1" "$2 is told in a sentence" cat "$T/said"
}
made "${rows[@]}"
check_output "" "a form waits for three turns of eight minutes" seeded check
check_output $'tests/d:2 200\ntests/c.t 100\ntests/b.t 200\ntests/d:1 200' "those that have waited longest have their turn" \
    seeded choose
one_wrong "tests/d:2 has missed its turn: it has waited for 4 turns, and all forms take 3" \
    "a form that has waited too long" "tests/a.t 9 1234567 2026-01-03 300 passed" "${rows[@]:1}"
made "tests/a.t 9 1234567 2026-01-03 350 passed" "tests/b.t 7 1234567 2026-01-01 360 passed" \
    "tests/c.t 6 1234567 2026-01-01 340 passed" "${rows[@]:3}"
check_output "" "a form may wait for a fourth turn if all forms take longer" seeded check
one_wrong "tests/c.t has no line; add: tests/c.t 8 - never ~360 -" "a form without a line" \
    "${rows[@]:0:2}" "${rows[@]:3}"
one_wrong "tests/e.t has a line, but no long form" "a line without a form" "${rows[@]}" \
    "tests/e.t 8 1234567 2026-01-02 1 passed"
one_wrong "tests/d:2 takes 361 s: to be split, as a form takes 360 s at most" \
    "a form that takes too long" "${rows[@]:0:4}" "tests/d:2 8 1234567 2025-12-31 361 passed"
one_wrong "line 2 is none of a table: tests/a.t 8 1234567 yesterday 300 passed" "a line of another kind" \
    "tests/a.t 8 1234567 yesterday 300 passed" "${rows[@]}"

made "tests/a.t 8 1234567 2026-01-02 300 passed" "tests/b.t 8 - never ~200 -" "${rows[@]:2:2}" \
    "tests/d:2 5 1234567 2025-12-31 300 skipped since 2026-01-01: no GPU here"
check_output $'tests/b.t 200\ntests/d:2 1\ntests/c.t 100\ntests/a.t 300\ntests/d:1 200' \
    "a form that was never run comes first, and one that was skipped takes no time" seeded choose

# --- a turn; two forms at a time, in any order; make's part is played by a script
mkdir "$T/bin"
cat > "$T/bin/make" << 'END'
#!/bin/sh
for word; do case $word in TESTS=*) test=${word#TESTS=} ;; esac; done
log=build/${test%.t} outcome=PASS
mkdir -p "${log%/*}"
echo "1..1" > "$log.log"
case $test in
*a.t) outcome=FAIL ;;
*c.t) outcome=SKIP; echo "1..0 # SKIP no GPU here" > "$log.log" ;;
*d) # waits for a.t beside it, and is never there twice
    mkdir build/d-runs || outcome=FAIL
    tries=0
    until [ -e build/tests/a.log ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.02; done
    [ -e build/tests/a.log ] || outcome=FAIL
    echo "# part $MLAUNCH_TEST_PART, $MLAUNCH_TEST_SECONDS s" >> "$log.log"
    rmdir build/d-runs ;;
esac
echo "# used 3 s of a processor in 42 s" >> "$log.log"
echo ":global-test-result: $outcome" > "$log.trs"
END
chmod +x "$T/bin/make"
# The checkout's one commit needs no user's name or configuration.
commit() {
    git init -q && git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q \
        --allow-empty -m a
}
# taken ENV-ARGUMENT…; the first may be --seconds=N
taken() {
    local -a length=()
    case $1 in --seconds=*) length=("$1"); shift ;; esac
    env -C "$T" "$@" "PATH=$T/bin:$PATH" python3 "$SOURCE/tests/lib/long_turn.py" --table table \
        "${length[@]}" run "${tests[@]}"
}
given=("tests/a.t 1 1234567 2026-01-02 90 passed" "tests/b.t 2 1234567 2026-01-01 100 passed"
    "tests/c.t 3 1234567 2026-01-01 50 passed" "tests/d:1 4 1234567 2026-01-01 481 passed"
    "tests/d:2 4 - never ~110 -")
made "${given[@]}"
cp "$T/table" "$T/before"
check_status 1 "a turn outside a checkout, one of whose forms fails" taken -u CI
check_match '^long-turn: table is only read: the sources are no git checkout' "$OUT" \
    "outside a checkout the table is only read, which is said"
check_match '^long-turn: failed: tests/a\.t$' "$OUT" "the form that failed is named"
check "outside a checkout the table stays" cmp "$T/before" "$T/table"
made "tests/a.t 1 1234567 2026-01-02 9 passed" "${rows[@]:1:2}" "tests/d:1 8 - never ~20 -" \
    "tests/d:2 8 - never ~20 -"
rm "$T/build/tests/a.log"
check_status 1 "a turn of two parts of one test" taken -u CI
cp "$OUT" "$T/said"
check_output "long-turn: tests/d:1: PASS
long-turn: tests/d:2: PASS" "two forms run side by side, but no two parts of one test" \
    sh -c 'grep -oE "^long-turn: tests/d:.: [A-Z]+" "$0" | sort' "$T/said"
made "${given[@]}"
if command -v git > /dev/null; then
    (cd "$T" && commit) || fail "the checkout is made"
    check_status 1 "a turn under continuous integration" taken CI=true
    check "under continuous integration the table stays" cmp "$T/before" "$T/table"
    check_status 1 "a turn in a checkout" taken -u CI
    today=$(date +%Y-%m-%d) commit=$(git -C "$T" rev-parse --short HEAD)
    tr -s ' ' < "$T/table" > "$T/now"
    check_output "# head
${given[0]}
tests/b.t 5 $commit $today 42 passed
tests/c.t 5 1234567 2026-01-01 50 skipped since $today: no GPU here
${given[3]}
tests/d:2 5 $commit $today 42 passed" \
        "a turn is recorded, with what was skipped, and without what failed or does not fit" cat "$T/now"
    made "${given[@]}"
    check_status 0 "a turn that has less time" taken --seconds=80 -u CI
    tr -s ' ' < "$T/table" > "$T/now"
    check_output "# head
${given[0]}
${given[1]}
tests/c.t 4 1234567 2026-01-01 50 skipped since $today: no GPU here
${given[3]}
${given[4]}" "a turn that has less time takes what fits, for the turn before it" cat "$T/now"
    check_match '^# part 2/2, 120 s$' "$T/build/long-turn/tests-d:2.log" \
        "a part and a soak's seconds are said to the test, whose log is kept"
else
    skip "a turn in a checkout" "there is no git"
fi
done_testing
