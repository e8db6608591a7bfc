#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# While mlaunch sync copies, a line on the terminal says how much has come, how fast, and how long
# it will take; it fits the terminal, whose size may change, and is gone at the end. Where there is
# no terminal, there is no such line.
TEST_TIER=quick
. "${0%/*}/trees.sh"
big_source 2 12000000

slow 40 "$H1" "$H2"
SEEN=$T/seen   # all that came to the terminal
SHOWN=$T/shown # the same, a line each time that one was written anew
terminal() {
    "$SOURCE/tests/cli/on_terminal.py" "$1" "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" \
        -H "$ALL" "${@:2}" "$S" > "$SEEN"
    local result=$?
    tr '\r' '\n' < "$SEEN" | sed 's/\x1b\[K//' > "$SHOWN"
    return $result
}

check "sync runs on a terminal that is made smaller while files come" terminal 'wait left
size 24 30
wait MB/s
wait MB/s
size 24 20
wait %, 0:
size 24 10
wait %
wait %'
check_match '^[0-9.]* [KM]B of 12.0 MB, [0-9]* %, [0-9.]* MB/s, 0:0[0-9] left$' "$SHOWN" \
    "the line says how much, how fast, and how long it will take"
check_match '^[0-9]* %, [0-9.]* MB/s, 0:0[0-9] left$' "$SHOWN" "the line says less on 30 columns"
check_match '^[0-9]* %, 0:0[0-9] left$' "$SHOWN" "the line says less on 20 columns"
check_match '^[0-9]* %$' "$SHOWN" "the line says only a share on 10 columns"
check_output "$(printf '\r\033[K1 file, 12.0 MB')" "the line is gone when the end is told" \
    grep -aoE $'\r\033\\[K1 file, 12.0 MB' "$SEEN"

slow 100 "$H1" "$H2"
touch "$S/big"
check_output "1 file, 12.0 MB, to 2 of 2 hosts" "sync without a terminal tells the end" sh -c \
    '"$@" 2> "$0" | grep -o "^1 file.* hosts"' "$T/err" \
    "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -H "$ALL" "$S"
check_output "" "sync without a terminal has no line and no escape" cat "$T/err"
touch "$S/big"
check "sync with -q runs on a terminal" terminal "" -q
check_output "" "sync with -q shows nothing on a terminal" cat "$SEEN"
touch "$S/big"
check "sync with --json runs on a terminal" terminal "" --json
check_no_match $'\033|%' "$SEEN" "sync with --json shows no line on a terminal"
done_testing
