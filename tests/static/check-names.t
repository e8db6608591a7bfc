#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each check of a *.t has a name that says by itself, in a log, what is claimed, and that no other
# check of the file has (check_names.py). A *.t which is little more than another file says how it
# differs.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

names() { python3 "$SOURCE/tests/static/check_names.py" tests/lib/test.sh "$@"; }

mapfile -t files < <(find tests -name '*.t' -o -name '*.sh' | sort)
check "the names of all checks are read" names "${files[@]}"
cp "$OUT" "$T/found"
if [ -s "$T/found" ]; then
    fail "each name is a claim and stands for one check" "$(head -n 60 "$T/found")"
else
    pass "each name is a claim and stands for one check"
fi

# judged TEXT NAME LINE…: what check_names.py says about a file of these lines, without its path.
judged() {
    printf '%s\n' "${@:3}" > "$T/seeded.t"
    check_output "$1" "$2" sh -c '"$@" | sed "s/^[^:]*://"' sh \
        python3 tests/static/check_names.py tests/lib/test.sh "$T/seeded.t"
}
judged '1: has a "…": … and no more follows' "a name with dots is found" \
    'check "… and no more follows" true'
judged '1: begins with "Its": Its status is zero' "a name that begins with Its is found" \
    "check_match '^x' file 'Its status is zero'"
judged '1: begins with "it": it'\''s the last rank' "a name that begins with it's is found" \
    "no_survivors \"it's the last rank\" mark"
judged '1: begins with "and": and which starts late' "a name that begins with and is found" \
    'skip "and which starts late" "no reason"'
judged '1: begins with "which": which say $what' "a name that begins with which is found" \
    'pass "which say $what"'
judged '1: has fewer than three words: two - words' "a name of two words is found" \
    'check_error 1 "^a" "two - words" true'
judged $'2: has fewer than three words: two words\n4: has a "…": a … b c' \
    "names in the second line of a call are found" \
    "check_output 'one" "two' \"two words\" sh -c 'echo one; echo two'" 'check_status 3 \' \
    '    "a … b c" true'
judged '3: is also that of line 2: there are three words' "a name that stands twice is found" \
    'check "a name of its own" true' 'if true && check "there are three words" false; then' \
    '    check_match a "$OUT" "there are three words"; fi'
judged "" "both branches of an if may have the same name" \
    'if true; then check "there are three words" true' 'else check "there are three words" false; fi' \
    'skip_emulated "why" "there is a fourth" || check "there is a fourth" true'
judged '2: is the same in each turn of a loop: there are three words' \
    "a name that a loop repeats is found" \
    'for i in 1 2; do check "turn $i is made" true' '    check "there are three words" true; done'
judged '7: has fewer than three words: word: why' \
    "names that functions make of arguments are found" \
    'says() {' '    local name=$2' '    shift 2' '    check_error "$1" why "$name: why" true' '}' \
    'says 0 "two words" 1' 'says 0 "word" 2'
judged '2: is also that of line 2: nothing else is said' "names that functions repeat are found" \
    'ends() { check "$1" true; check "nothing else is said" true; }' \
    'ends "the first job ends"; ends "the second job ends"'
judged "" "comments, words of other programs and documents are no names" \
    '# check "a" true' "sh -c 'check a true'" 'cat << END' 'check a true' 'END' 'echo check "a"'

mapfile -t tests < <(printf '%s\n' "${files[@]}" | grep '\.t$')
awk 'FNR == 1 { if (NR > 1) end(); says = other = 0 }
    /^# / && !/^# (SPDX|shellcheck)/ { says = 1 }
    /^\. / && !/lib\/test\.sh/ { other = 1 }
    { file = FILENAME; lines = FNR }
    function end() { if (lines < 15 && other && !says) print file }
    END { end() }' "${tests[@]}" > "$T/silent"
check_output "" "a short file around another one says in its head what differs" cat "$T/silent"
done_testing
