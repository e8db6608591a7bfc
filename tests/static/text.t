#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What every file of the project must have, and what none may have.
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# In a checkout only: an unpacked release has generated files too.
[ -e .git ] && git ls-files > "$T/files" || skip_all "not a git checkout"
xargs -a "$T/files" -d '\n' -n 1 sh -c 'test -s "$1" && grep -lI "" "$1"' sh 2> /dev/null \
    > "$T/text"

# lacking NAME REGEX FILES-REGEX: no line of those files matches.
lacking() {
    grep -E "$3" "$T/text" | grep -vx 'tests/static/text.t' |
        xargs -d '\n' grep -nE -- "$2" > "$T/found"
    if [ -s "$T/found" ]; then fail "$1" "$(head -n 20 "$T/found")"; else pass "$1"; fi
}

grep -vE '^(LICENSE|.*\.(csv|data|txt|json|ini|md|md5|pc\.in|svg|dict)|\.git.*|\.clang.*|tests/fuzz/.*|tests/.*/(data|seeds)/.*|examples/batch/.*\.sh)$' "$T/text" |
    xargs -d '\n' grep -L 'SPDX-License-Identifier: MIT' > "$T/found"
check_output "" "every source file has its SPDX line" cat "$T/found"
grep -E '(^|/)(utils?|misc|helpers?)\.[a-z]+$' "$T/text" > "$T/found"
check_output "" "no file is named util, misc or helpers" cat "$T/found"
lacking "no unfinished work" '\b(TODO|FIXME|XXX|HACK)\b' '.'
lacking "no path of one developer's machine" '(/work/|/tmp/b-|/root/[a-z])' \
    '\.([ch]|t|sh|inc|am|ac|py|md|m4)$'
lacking "no fixed sleeps in code" '(^|[^>.[:alnum:]_])(sleep|usleep)\(' \
    '^(common|coordinator|launcher|runtime|rdma)/.*\.[ch]$'
lacking "no fixed sleeps in tests" '^ *(sleep|usleep) ' '\.t$'
lacking "no process is ended by its name" '\b(pkill|killall)\b' '\.(t|sh)$|^bootstrap$'
lacking "no trailing blanks" '[ 	]+$' '\.([ch]|t|sh|inc|am|ac|py|m4|[1-8])$|^bootstrap$'
lacking "no unbounded string functions" '\b(strcat|sprintf|gets)\(' \
    '^(common|coordinator|launcher|runtime|rdma)/.*\.[ch]$'
done_testing
