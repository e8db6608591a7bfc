#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The test library itself: a failing check fails, a hang and a process left behind are failures with
# a message.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

script() {
    printf '%s\n' "#!/usr/bin/env bash" "$1" ". '$SOURCE/tests/lib/test.sh'" "$2" > "$T/inner.t"
    env -u MLAUNCH_TEST_MARK -u MLAUNCH_TEST_LONG SANITIZE=no bash "$T/inner.t" > "$T/all"
    set -- $?
    grep -v '^# used [0-9]* s of a processor in [0-9]* s$' "$T/all"
    return "$1"
}

check_output $'ok 1 - a\n1..1' "a check passes" script '' 'check a true; done_testing'
check_status 1 "a failed check fails the file" script '' 'check a false; done_testing'
check_match '^not ok 1 - a$' "$OUT" "a failed check is named"
check_status 1 "a file that ends early fails" script '' 'check a true'
check_match '^Bail out! ended before' "$OUT" "a file that ends early says so"
check_status 124 "a hang ends" script TEST_LIMIT=1 'check a sleep 100; done_testing'
check_match '^Bail out! no end after [0-9]+ seconds' "$OUT" "a hang says how long it took"
check_status 1 "a process left behind fails the file" script 'export MLAUNCH_TEST_PATIENCE=2' \
    'setsid sleep 100 > /dev/null & check a true; done_testing'
check_match '^Bail out! left processes' "$OUT" "a process left behind is reported"
check_match 'pid [0-9]+: sleep 100' "$OUT" "a process left behind is named"
check_output $'1..0 # SKIP why' "a file can be skipped" script '' 'skip_all why'
check_output "$(printf 'ok 1 - a\nok 2 - b\n1..2')" "statuses and stderr are compared" script '' \
    'check_status 3 a sh -c "exit 3"; check_error 4 "^why" b sh -c "echo why >&2; exit 4"; done_testing'
check "wait_for waits for its condition" script '' \
    '(nap 200; touch "$T/x") & wait_for "test -e $T/x" 5 && pass a; done_testing'
check_status 1 "wait_for gives up in time" script '' 'check a wait_for false 1; done_testing'

check_output $'ok 1 - 1\nok 2 - 4\n1..2' "a part has every third of many things" script \
    'MLAUNCH_TEST_PART=2/3' 'for i in {0..5}; do ! in_part $i || pass $i; done; done_testing'
check_output $'ok 1 - 0\nok 2 - 1\n1..2' "all things are there without a part" script '' \
    'for i in 0 1; do ! in_part $i || pass $i; done; done_testing'
check_status 124 "a long form in a turn has another limit" script \
    'export MLAUNCH_TEST_LONG=1 MLAUNCH_TEST_LIMIT=1' 'check a sleep 100; done_testing'
check_output '1..0 # SKIP the check has no more time: other tests took all of it on this machine' \
    "no file begins after the end of a check" script 'export MLAUNCH_TEST_UNTIL=1' 'check a true; done_testing'

# What a test used of a processor, by itself and by its children, is the last line.
check "a script that works ends well" script '' \
    'i=0; while [ "$i" -lt 300000 ]; do i=$((i + 1)); done
    check a sh -c "i=0; while [ \$i -lt 1500000 ]; do i=\$((i + 1)); done"; done_testing'
check_match '^# used [1-9][0-9]* s of a processor in [0-9]* s$' "$T/all" \
    "the work of a script is measured"

# Tiers.
tier() { env -C "$T" "$SOURCE/tests/lib/tier" "$@"; }
mkdir -p "$T/tests/unit" "$T/logs"
echo '# TEST_TIER=quick' > "$T/a.t"
echo 'TEST_TIER=full' > "$T/b.t"
echo '/* A program. TEST_TIER=full */' > "$T/c.c"
echo > "$T/d.t"
echo > "$T/tests/unit/e.c"
all=(a.t b.t c d.t tests/unit/e)
check_output $'a.t\ntests/unit/e' "unit tests are quick" tier quick "${all[@]}"
check_output $'b.t\nc' "tests that say so are full" tier full "${all[@]}"
check_output d.t "a test that does not say is found" tier none "${all[@]}"
mapfile -t many < <(printf '%s.t\n' {a..u})
for test in "${many[@]}"; do echo '# used 15 s of a processor in 20 s' > "$T/logs/${test%.t}.log"; done
check_output "" "equal tests use equal parts" tier late "$T/logs" "${many[@]}"
echo '# used 16 s of a processor in 20 s' > "$T/logs/a.log"
check_output "a.t 16 15" "what used too much is found" tier late "$T/logs" "${many[@]}"
done_testing
