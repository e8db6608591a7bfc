#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What every file of the project has, and what none has.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# In a checkout only: an unpacked release has generated files too.
needs git
[ -e .git ] && git ls-files > "$T/files" || skip_all "not a git checkout"
xargs -a "$T/files" -d '\n' -n 1 sh -c 'test -s "$1" && grep -lI "" "$1"' sh 2> /dev/null > "$T/text"

# lacking NAME REGEX FILES-REGEX: no line of those files matches.
lacking() {
    grep -E "$3" "$T/text" | grep -vx 'tests/static/text.t' | xargs -d '\n' grep -nE -- "$2" > "$T/found"
    if [ -s "$T/found" ]; then fail "$1" "$(head -n 20 "$T/found")"; else pass "$1"; fi
}

grep -vE '^(LICENSE|.*\.(abi|csv|data|txt|json|ini|md|md5|pc\.in|svg|xml|dict)|\.git.*|\.clang.*|tests/fuzz/.*|debian/.*|tests/.*/(data|seeds)/.*|examples/batch/.*\.sh)$' "$T/text" |
    xargs -d '\n' grep -L 'SPDX-License-Identifier: MIT' > "$T/found"
check_output "" "every source file has its SPDX line" cat "$T/found"
grep -E '(^|/)(utils?|misc|helpers?)\.[a-z]+$' "$T/text" > "$T/found"
check_output "" "no file is named util, misc or helpers" cat "$T/found"
# make's own rules build X from X.c or X.sh where that is the newer, as it may be after a clone.
sed -nE 's/\.(c|cc|cpp|C|S|s|sh|p|f|F|r|l|y|tex|web)$//p' "$T/files" | sort > "$T/stems"
sort "$T/files" | comm -12 - "$T/stems" > "$T/found"
check_output "" "no file has the name that make would build from another" cat "$T/found"
lacking "no unfinished work" '\b(TODO|FIXME|XXX|HACK)\b' '.'
lacking "no path of one developer's machine" '(/work/|/tmp/b-|/root/[a-z])' '\.([ch]|t|sh|inc|am|ac|py|md|m4)$'
lacking "no fixed sleeps in code" '(^|[^>.[:alnum:]_])(sleep|usleep)\(' '^(common|coordinator|examples/llm|launcher|runtime|rdma)/.*\.[ch]$'
lacking "no fixed sleeps in tests" '^ *(sleep|usleep) ' '\.t$'
lacking "no wait is a read of <(:), which may never end (nap of lib/test.sh)" '<> *<\(' '.'
lacking "no process is ended by its name" '\b(pkill|killall)\b' '\.(t|sh)$|^bootstrap$'
lacking "a program of several lines is a file, not an argument of python3 -c" \
    "python3[^|;]* -c ('[^']*|\"([^\"\\\\]|\\\\.)*)\$" '\.(t|sh)$'
lacking "no trailing blanks" '[ 	]+$' '\.([ch]|t|sh|inc|am|ac|py|m4|[1-8])$|^bootstrap$'

# too_long NAME FILES-REGEX [EXCEPT-REGEX]: no line of those files goes beyond column 100.
too_long() {
    grep -E "$2" "$T/text" | LC_ALL=C.UTF-8 xargs -d '\n' grep -nHE '^.{101,}' |
        grep -vE "^[^:]*:[0-9]*:${3:-$}" > "$T/found"
    if [ -s "$T/found" ]; then fail "$1" "$(head -n 20 "$T/found")"; else pass "$1"; fi
}
too_long "lines of code end at column 100" '\.([chl]|inc|am|ac|m4|py|map)$|^bootstrap$|^doc/completion/(mlaunch|generate)$'
too_long "lines of documents end at column 100 (but tables and headings)" '\.(md|[1-8])$' '( *\||#)'
too_long "lines of scripts end at column 100 (but quoted text)" \
    '^tests/.*\.(t|sh|py)$|^tests/(bench|lib)/' ".*['\"]"

# words.py reads comments as such; it says what to write instead.
grep -E '^(common|coordinator|debian|doc|examples|launcher|packaging|rdma|runtime|tests)/|^[^/]*\.md$|^bootstrap$' \
    "$T/text" | grep -E '\.([chtm]|sh|py|md|inc|map|[1-8])$|^tests/(bench|coverage|fuzz|lib|vm)/[^.]*$|^bootstrap$' > "$T/prose"
if xargs -a "$T/prose" -d '\n' python3 tests/static/words.py > "$T/found" && [ ! -s "$T/found" ]; then
    pass "comments and documents have none of the turns of phrase that we avoid"
else
    fail "comments and documents have none of the turns of phrase that we avoid" "$(head -n 20 "$T/found")"
fi
# A sentence for each rule, in a file of each kind.
printf '/* Of a job the name. */\nint a; /* so many bytes */\n' > "$T/wrong.c"
printf '# A rank is gone on with.\n' > "$T/wrong.sh"
printf 'It is here.  Of ranks, the\nfirst.\n\n    Of an example\n' > "$T/wrong.md"
printf '.Sh NAME\nThe reason stands in\n.Ql stderr .\n' > "$T/wrong.1"
printf '/* Of course, so many that it stands for itself. */\n' > "$T/right.c"
check_output "wrong.c:1 wrong.c:2 wrong.sh:1 wrong.md:1 wrong.1:2" \
    "a wrong turn of phrase is found where it is" sh -c \
    'cd "$1" && python3 "$2" wrong.c wrong.sh wrong.md wrong.1 right.c | cut -d: -f 1,2 | tr "\n" " " |
        sed "s/ \$//"' sh "$T" "$SOURCE/tests/static/words.py"

lacking "no unbounded string functions" '\b(strcat|sprintf|gets)\(' '^(common|coordinator|examples/llm|launcher|runtime|rdma)/.*\.[ch]$'
done_testing
