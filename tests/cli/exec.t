#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch exec: a command once on each host; equal outputs are printed once, and a host that cannot
# be reached, fails or dies does not disturb the others.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../fault/fault.sh"
hosts_up 3
ALL=$H1,$H2,$H3
LABEL="${H1%1}[1-3]"
EXEC=("$MLAUNCH" exec --ssh-config "$NETNS_SSH_CONFIG" -x "$MARK" -H)
ended() { if [ "$status" = "$1" ]; then pass "$2"; else fail "$2" "status $status"; fi; }
no_failure() { if left_nothing; then pass "$1"; else fail "$1"; fi; }

check_output "[$LABEL] same
[$LABEL] lines" "equal outputs are printed once" "${EXEC[@]}" "$ALL" -- printf 'same\nlines'
check_output "[${H1%1}[1,3]] other
[$H2] $H2" "outputs that differ are in the order of the hosts" \
    "${EXEC[@]}" "$ALL" sh -c '[ "$(uname -n)" = "$0" ] && uname -n || echo other' "$H2"
# As in the manual, with the hosts a, b and c.
printf 'Host %s\nHostName %s\n' a "$A1" b "$A2" c "$A3" | cat - "$NETNS_SSH_CONFIG" > "$T/abc"
check_output "[a,c] 6.1.0-28
[b] 6.1.0-26" "hosts whose names have one letter are folded" \
    "$MLAUNCH" exec --ssh-config "$T/abc" -H '[a-c]' -- sh -c \
    '[ "$(uname -n)" = "$0" ] && echo 6.1.0-26 || echo 6.1.0-28' "$H2"
check_output "$H2" "one host's output is as it is" "${EXEC[@]}" "$H2" uname -n
check_output "$(printf '[%s] 1\n' "$LABEL")" \
    "a command has no library, no input, and none of a launcher's variables" \
    "${EXEC[@]}" "$ALL" -- sh -c \
    'if read -r x || [ -n "${LD_PRELOAD:-}${RANK:-}${PMI_FD:-}" ]; then echo 0; else echo 1; fi'

check_output "[${H1%1}[1,3]] here" "--exclude leaves a host out" \
    "${EXEC[@]}" "$ALL" --exclude "$H2" -- echo here
check_error 125 "-x $H2: $H2 is a host; --exclude $H2 leaves it out" \
    "clush's -x of a host is refused with the option to use" \
    "${EXEC[@]}" "$ALL" -x "$H2" -- echo here
check_error 125 "--exclude: host nowhere is not one of the hosts" \
    "--exclude of another host is refused" "${EXEC[@]}" "$ALL" --exclude nowhere -- echo here
check_error 125 "--exclude: no host is left" "--exclude of all hosts is refused" \
    "${EXEC[@]}" "$ALL" --exclude "$ALL" -- echo here
check_error 127 "echo a [|] wc: there is no program of that name; a shell runs such a line: sh -c" \
    "pdsh's command in one word is refused with what to write" "${EXEC[@]}" "$H1" 'echo a | wc'
check_error 125 "mlaunch exec has no -b: equal outputs are always printed once" \
    "clush's -b is refused with the reason" "${EXEC[@]}" "$H1" -b true
check_error 125 "mlaunch exec has no --gdb: it runs one command" "--gdb of exec is refused" \
    "${EXEC[@]}" "$H1" --gdb 0 -- true

run "${EXEC[@]}" "$ALL" -- sh -c 'echo out; echo err >&2; [ "$(uname -n)" = "$0" ] || exit 3' "$H2"
ended 3 "the largest exit status is that of exec"
check_match "^\[${H1%1}\[1-3\]\] out$" "$OUT" "standard output of three hosts is one block"
check_match "^\[${H1%1}\[1-3\]\] err$" "$ERR" "standard error of three hosts is another block"
check_match "^mlaunch: error: ${H1%1}\[1,3\]: exit status 3$" "$ERR" \
    "hosts that failed alike are named together"

run "${EXEC[@]}" "$H1,no-such-host.invalid,$H2" -- echo here
ended 125 "a host that cannot be reached is status 125"
check_match "^\[${H1%1}\[1,2\]\] here$" "$OUT" "the other hosts have run the command"
check_match "host no-such-host.invalid: unknown host name" "$ERR" \
    "the host that cannot be reached is named"
check_error 127 "no-such-program: not found in PATH" "a program that no host has is status 127" \
    "${EXEC[@]}" "$ALL" no-such-program

run "${EXEC[@]}" "$ALL" --json -- sh -c 'echo "$0"; printf "\377\0x" >&2; exit 4' 'a "b"'
ended 4 "--json keeps the status"
cp "$OUT" "$T/json"
check "--json is a list of hosts" python3 - "$T/json" "$H1" "$H2" "$H3" << 'EOF'
import json, sys
hosts = json.load(open(sys.argv[1]))["hosts"]
assert [h["host"] for h in hosts] == sys.argv[2:], hosts
assert all(h["status"] == 4 and h["stdout"] == 'a "b"\n' for h in hosts), hosts
assert all(h["stderr"].startswith("??x") for h in hosts), hosts
EOF

# More than is held back: whole lines, at once, none lost.
"${EXEC[@]}" "$H1,$H2" -- seq 300000 > "$T/much"
check "much output arrives, labelled" awk -v a="[$H1]" -v b="[$H2]" '
    $2 != ++n[$1] { exit 1 } END { exit n[a] != 300000 || n[b] != 300000 || length(n) != 2 }' "$T/much"
check_error 125 "has written more than 64 MiB, which --json does not hold" \
    "--json refuses more output than 64 MiB" "${EXEC[@]}" "$H1" --json -- head -c 70000000 /dev/zero
no_failure "nothing is left of a command whose output was too long"

# exec_start ARGUMENT…: in the background, with a foreground job's signals.
exec_start() {
    set -m
    "${EXEC[@]}" "$@" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
}
# How many run `sleep` by now: the shell before it and the other hosts' also have these words.
ranks() { survivors "$MARK" | grep -c "[^c] sleep $1 *\$"; }
while read -r signal number; do
    exec_start "$ALL" -- sh -c 'echo begun; exec sleep 1234'
    wait_for '[ "$(ranks 1234)" = 3 ]'
    must kill -$signal "$mlaunch"
    wait "$mlaunch"
    status=$?
    ended $((128 + number)) "SIG$signal is the exit status"
    check_match "^\[${H1%1}\[1-3\]\] begun$" "$T/out" "what was written before SIG$signal is printed"
    no_failure "nothing is left after SIG$signal"
done <<< "INT 2
TERM 15"
exec_start "$ALL" -- sleep 1234
wait_for '[ "$(ranks 1234)" = 3 ]'
must kill -KILL "$mlaunch"
wait "$mlaunch" 2> /dev/null
no_failure "nothing is left after SIGKILL of mlaunch exec"

# A host dies; the others have not ended yet, and do so afterwards.
exec_start "$ALL" -- sh -c '[ "$(uname -n)" = "$0" ] && exec sleep 4321
    until [ -e "$1" ]; do sleep 0.05; done; echo on' "$H2" "$T/go"
wait_for '[ "$(ranks 4321)" = 1 ]'
must kill -KILL "$(init_of "$H2")"
wait_for '[ "$(ranks 4321)" = 0 ]'
touch "$T/go"
wait "$mlaunch"
status=$?
ended 125 "a host that died is status 125"
check_match "^\[${H1%1}\[1,3\]\] on$" "$T/out" "the other hosts went on"
check_match "^\[$H2\] mlaunch: .*host $H2" "$T/err" "the lost host is named"

# All hosts are one job: one process here, and none waits for another.
cat > "$T/enter" << 'EOT'
#!/bin/sh
# enter GATE HOST COMMAND...: the host "late" begins once there is the file GATE.
gate=$1 host=$2
shift 2
[ "$host" != late ] || until [ -e "$gate" ]; do sleep 0.05; done
exec sh -c "$*"
EOT
chmod +x "$T/enter"
# by_command GATE ARGUMENT…: in the background, over hosts that are all this machine.
by_command() {
    set -m
    "$MLAUNCH" exec --agent-command "$T/enter $1 {host}" -x "$MARK" "${@:2}" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
}
mkdir "$T/begun"
by_command "$T/open" -H "n[1-70],late" -- sh -c ': > "$0/$$"; until [ -e "$1" ]; do sleep 0.2; done' \
    "$T/begun" "$T/end"
check "70 hosts run at the same time, while one is still connecting" \
    wait_for '[ "$(ls "$T/begun" | wc -l)" = 70 ]'
check_no_match '^mlaunch$' <(ps -o comm= --ppid "$mlaunch") "mlaunch exec is one process"
touch "$T/open" "$T/end"
wait "$mlaunch"
status=$?
ended 0 "the late host has run the command, too"
check "all 71 hosts have run the command" test "$(ls "$T/begun" | wc -l)" = 71
by_command "$T/never" -H n1,late,n2 -- sh -c 'echo begun; exec sleep 1234'
wait_for '[ "$(ranks 1234)" = 2 ]'
must kill -INT "$mlaunch"
wait "$mlaunch"
status=$?
ended 130 "SIGINT while a host is still connecting is the status"
check_match '^\[n\[1,2\]\] begun$' "$T/out" "what the others wrote before SIGINT is printed"
no_failure "nothing is left after SIGINT while a host is connecting"
run "$MLAUNCH" exec --agent-command "$T/enter $T/open {host}" -x "$MARK" -H n1,n2,n3 --timeout 1 --json \
    -- sleep 1234
ended 124 "--timeout is status 124"
check_no_match 'where the ranks are' "$ERR" \
    "--timeout of exec has no report of where each host's command is"
cp "$OUT" "$T/json"
check_match '3' <(grep -c '"status": 124' "$T/json") "each host has its status behind --timeout"
by_command "$T/open" -H n1,n2 -- sh -c 'trap "" TERM INT; exec sleep 1234'
wait_for '[ "$(ranks 1234)" = 2 ]'
must kill -TERM "$mlaunch"
wait_for 'grep -q "ended by SIGTERM" "$T/err"'
must kill -INT "$mlaunch"
wait "$mlaunch"
status=$?
ended 143 "the first of two signals is the exit status"
check_match 'SIGKILL to hosts n\[1,2\]$' "$T/err" \
    "the second signal says on which hosts the command still runs"
by_command "$T/open" -H n1,n2 -- sh -c 'echo $$ > "$0/$MLAUNCH_RANK"; exec sleep 1234' "$T"
wait_for '[ "$(ranks 1234)" = 2 ]'
must kill -KILL "$(ps -o ppid= -p "$(cat "$T/1")")"
wait_for '[ "$(ranks 1234)" = 1 ]'
must kill -KILL "$(cat "$T/0")"
wait "$mlaunch"
status=$?
ended 137 "the largest status is that of a lost agent and a killed command"
check_match '^\[n2\] mlaunch: host n2 was lost: ' "$T/err" "the host whose agent is lost is named"
check_match '^\[n1\] mlaunch: rank 0 on host n1 .* killed by signal 9' "$T/err" \
    "the command that was killed is named"

check_error 125 "mlaunch exec has no --restarts" "exec starts nothing again" \
    "$MLAUNCH" exec --restarts 1 -- true
check_error 125 "mlaunch exec has no -n: it runs one command once on each host" "exec has no ranks" "$MLAUNCH" exec -n 2 -- true
check_error 125 "leave ':' out" "exec has one command" "$MLAUNCH" exec true : false
check_error 125 "mlaunch exec has no --detach: it runs one command" "exec waits for its command" "$MLAUNCH" exec --detach -- true
check_error 125 "no program given" "exec needs a command" "$MLAUNCH" exec -H "$H1"
check_match "^usage: mlaunch exec" <("$MLAUNCH" exec --help) "--help prints how exec is used"
done_testing
