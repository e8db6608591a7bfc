#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The table of launcher/wire/ssh/reach/remote_answer.c has each keyword that ssh -G prints, and
# doc/ssh.md is the same table.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
needs ssh
table=$SOURCE/launcher/wire/ssh/reach/remote_answer.c

# kind REGEX: the keywords of the table whose line matches.
kind() {
    sed -n '/^static const struct keyword keywords/,/^};/p' "$table" | grep '^ *{"' | grep -E "$1" |
        cut -d'"' -f2 | sort -u
}
unused() {
    sed -n '/^static const char .const unused\[\]/,/^};/p' "$table" | grep -o '"[a-z0-9]*"' |
        tr -d '"' | sort -u
}
# in_page HEADING: those in the table below it.
in_page() {
    sed -n "/^## $1/,/^## /p" "$SOURCE/doc/ssh.md" | grep '^| [A-Z]' | cut -d'|' -f2 |
        tr ', ' '\n\n' | grep -v '^Keyword$' | tr A-Z a-z | sed '/^$/d' | sort -u
}

ssh -G -T -F none localhost > "$T/answer" 2> /dev/null
cut -d' ' -f1 "$T/answer" | tr A-Z a-z | sort -u > "$T/printed"
check "ssh prints its keywords" test "$(wc -l < "$T/printed")" -gt 60
{ kind .; unused; } | sort -u > "$T/known"
check_output "" "each keyword that this ssh prints is in the table" comm -23 "$T/printed" "$T/known"
{ in_page Obeyed; in_page Refused; in_page Without; } | sort -u > "$T/page"
check_output "" "each keyword of the table is in doc/ssh.md" comm -23 "$T/known" "$T/page"
kind REFUSED > "$T/refused"
in_page Refused > "$T/page_refused"
check_output "" "doc/ssh.md names those that are refused" diff "$T/refused" "$T/page_refused"
check "at most 12 are refused" test "$(wc -l < "$T/refused")" -le 12
kind 'OBEYED|ALGORITHMS|FILES' > "$T/obeyed"
in_page Obeyed > "$T/page_obeyed"
check_output "" "doc/ssh.md names those that are obeyed" comm -23 "$T/obeyed" "$T/page_obeyed"
done_testing
