#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llm's words: they are listed, and any other is refused.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
llm=$BUILD/examples/llm/llm

check "llm --help succeeds" "$llm" --help
for word in bench generate serve; do check_match "^  $word " "$OUT" "--help lists $word"; done
check_error 2 "^usage: " "without a word the words are listed too" "$llm"
check_error 2 'unknown command .train.; the commands are bench, generate and serve' \
    "another word is refused" "$llm" train
for word in bench generate serve; do
    check_error 2 "^llm $word: there is no option -m; llm $word --help lists them" \
        "$word refuses an option of another program" "$llm" "$word" -m x
    check_error 2 "^llm $word: there is no option --modell=x; " "$word refuses a misspelt option" \
        "$llm" "$word" --modell=x
    check_error 2 "^llm $word: --model needs a value; " \
        "$word refuses an option without its value" "$llm" "$word" --model
done

# The man page has the options of --help, and no others.
section() { awk -v s=".Ss Options of $1" '/^\.S[sh]/ { on = $0 == s } on' "$SOURCE/doc/mlaunch-llm.1"; }
for word in bench generate serve; do
    "$llm" "$word" --help | grep -o -e '^  --[a-z-]*' | tr -d ' ' | sort > "$T/help"
    section "$word" | sed -n 's/^\.It Fl Fl \([a-z-]*\).*/--\1/p' | sort > "$T/man"
    check_output "$(cat "$T/help")" "the man page has exactly the options of $word" cat "$T/man"
done
done_testing
