#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --detach and `mlaunch logs`: a job continues in the background, outlives its terminal, and leaves
# a log; what fails before its ranks run is said at once.
TEST_TIER=quick
TEST_ALONE=1 # its clean takes the entries of all mlaunch processes that were killed
. "${0%/*}/../lib/test.sh"
LOGS=$XDG_STATE_HOME/mlaunch/logs
NAME=test-detach-$$

# mlaunch_of ID: the pid of the mlaunch in the background.
mlaunch_of() { sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$T/json"; }
ended() { wait_for "! \"\$MLAUNCH\" logs --json | grep -A4 '$1' | grep -q '\"running\": true'"; }
# clean [OPTION…]: the logs here, and nothing of other dead jobs, because this agent finds none.
clean() {
    ODD='{"removed": [], "left": []}' "$MLAUNCH" clean --agent "$SOURCE/tests/cli/odd-agent.py" "$@"
}
logs_left() { find "$LOGS" -type f 2> /dev/null | wc -l; }

# The start.
check "a job is detached" "$MLAUNCH" --detach --name "$NAME" -n 2 --grace 1 -- \
    sh -c 'echo "hello from $MLAUNCH_RANK"; echo oops >&2; cat; exec sleep 1000'
id=$(cat "$OUT")
check_match "^[0-9a-z]{7}-[0-9a-z]{6}\$" "$OUT" "a detached job's id is printed"
check_match "job $NAME runs in the background; mlaunch logs $NAME prints its output, mlaunch kill $NAME ends it" \
    "$ERR" "the ways to read and to end a detached job are told"
check "ps shows the detached job" "$MLAUNCH" ps "$NAME"
check_match "^$NAME  *$id .* 2/2  live" "$OUT" "ps shows the detached job with all its ranks"
check_output $'700\n600' "nobody else may read the logs" stat -c %a "$LOGS" "$LOGS/$id.$NAME.log"
wait_for '[ "$("$MLAUNCH" logs "$NAME" | wc -l)" = 4 ]'
check "mlaunch logs knows a job by its name" sh -c '"$MLAUNCH" logs "$1" | sort' sh "$NAME"
printf '%s\n' '[0] hello from 0' '[0] oops' '[1] hello from 1' '[1] oops' > "$T/expected"
cp "$OUT" "$T/output"
check "the log has all output" diff "$T/output" "$T/expected"
check "mlaunch logs knows a job by its id" "$MLAUNCH" logs "$id" --lines 2
check "--lines 2 prints the last two lines" test "$(wc -l < "$OUT")" = 2
check_output "" "-n0 prints no line" "$MLAUNCH" logs -n0 "$id"
check "mlaunch logs lists the logs" "$MLAUNCH" logs
check_match "^$NAME  *$id  *running  *[0-9]+  $LOGS/$id.$NAME.log\$" "$OUT" \
    "the list of logs has the running job"
check_status 1 "a log of an unknown name is refused" "$MLAUNCH" logs "$NAME.other"
check_match "there is no log of a job $NAME.other; mlaunch logs lists those" "$ERR" \
    "the refusal of an unknown log says how to list them"

# The end.
"$MLAUNCH" logs -f "$NAME" > "$T/follow" 2>&1 &
follow=$!
wait_for '[ "$(wc -l < "$T/follow")" = 4 ]'
check "kill ends a detached job by its name" "$MLAUNCH" kill "$NAME"
wait "$follow"
check "logs -f ends with the job" test $? = 0
check_match "mlaunch: job $id \($NAME\) has ended with status 143 after [0-9]+ s, at 20" "$T/follow" \
    "logs -f ends with the verdict"
check_output "$(tail -n 1 "$T/follow")" "the log keeps the verdict" "$MLAUNCH" logs "$id" -n 1

# What fails before the ranks run.
check_status 127 "a detached job without its program fails" "$MLAUNCH" --detach -- "$T/none"
check_match "could not be started: $T/none: No such file" "$ERR" \
    "a program that is missing is named at once"
check_status 125 "a detached job on a host that fails is refused" \
    "$MLAUNCH" --detach -H 127.0.0.1:1 --agent-command false -- true
check_match "host 127.0.0.1" "$ERR" "the host that fails is named at once"
check_status 125 "a detached job without its directory is refused" \
    "$MLAUNCH" --detach --cwd "$T/none" -- true
check_output 1 "what has not run leaves no log" logs_left
check_error 125 "--pty does not go with --detach" "--pty is refused with --detach" \
    "$MLAUNCH" --detach --pty -- true
check_error 125 "--stdin all does not go with --detach" "--stdin all is refused with --detach" \
    "$MLAUNCH" --detach --stdin all -- true
check_error 125 "--json goes with --detach" "--json of a job in the foreground is refused" \
    "$MLAUNCH" --json -- true
check_error 125 "must be a directory of yours that is closed to others" \
    "a link in place of the logs is refused" \
    env XDG_STATE_HOME="$T/other" sh -c 'mkdir -p "$0/mlaunch"; ln -s / "$0/mlaunch/logs"
    exec "$MLAUNCH" --detach -- true' "$T/other"
check_error 125 "cannot make the directory for logs" \
    "a directory for logs that cannot be made is refused" \
    env XDG_STATE_HOME=/dev/null "$MLAUNCH" --detach -- true
check "--detach --dry-run starts nothing" "$MLAUNCH" --detach --dry-run -- true
check_match "rank 0: host localhost" "$OUT" "--detach --dry-run prints the plan"

# Ctrl-C while it is starting.
for signal in INT TERM; do
    set -m
    "$MLAUNCH" --detach --grace 1 -H a --agent-command "sh -c 'echo \$\$ > $T/agent; exec sleep 1000'" \
        -- true > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
    wait_for '[ -s "$T/agent" ]'
    must kill -$signal "$mlaunch"
    wait "$mlaunch"
    check "SIG$signal before the start ends mlaunch" test $? = $((128 + $(kill -l "$signal")))
    check_match "ended by SIG$signal" "$T/err" "SIG$signal before the start is told"
    check "nothing of the job runs after SIG$signal" \
        wait_for '! kill -0 "$(cat "$T/agent")" 2> /dev/null'
    rm "$T/agent"
done

# It has no terminal, keeps nothing of its caller's open, and outlives the terminal.
cat > "$T/hang-up.py" << 'EOF'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while b"over" not in text: # a sanitizer still looks for lost memory when "ends it" has been said
    text += os.read(terminal, 4096)
os.close(terminal)
os.waitpid(pid, 0)
EOF
check "a job is detached from a terminal that goes away" python3 "$T/hang-up.py" bash -c \
    '"$MLAUNCH" --detach --name "$0" --grace 1 -- sleep 1000; echo over; read' "$NAME"
check "a job outlives its terminal" "$MLAUNCH" ps "$NAME"
check_match "1/1  live" "$OUT" "all ranks outlive the terminal"
"$MLAUNCH" kill -q "$NAME"
check "a job is detached with --json" "$MLAUNCH" --detach --json --name "$NAME" -- sleep 1000
cp "$OUT" "$T/json"
check_match "\"log\": \"$LOGS/.*.$NAME.log\"" "$T/json" "--detach --json names the log"
pid=$(mlaunch_of)
check_output "$pid 0" "the pid is mlaunch's, in a session of its own, without a terminal" \
    cut -d ' ' -f 6,7 "/proc/$pid/stat"
"$MLAUNCH" kill -q "$NAME"
wait_for '! kill -0 "$pid" 2> /dev/null'
check "what the caller has open ends with the caller" bash -c \
    'cat <(exec 7>&1; "$MLAUNCH" --detach -q --name "$0" -- sleep 1000)' "$NAME"
"$MLAUNCH" kill -q "$NAME"

# On a terminal nothing in a log can control it.
id=$("$MLAUNCH" --detach -q -- printf 'a\033[2Jb\xc3\xa4\xff\000\n')
check "logs -f prints the log of a job that has ended" "$MLAUNCH" logs -f "$id"
check_match $'^a\033\\[2Jb' "$OUT" "logs are printed to a file as they were written"
check "mlaunch logs runs on a terminal" "$SOURCE/tests/cli/on_terminal.py" '' "$MLAUNCH" logs "$id"
check_match 'a\?\[2Jbä\?\?' "$OUT" "control characters are harmless on a terminal"

# Restarts go on in the same log.
id=$("$MLAUNCH" --detach -q --restarts 1 -- sh -c 'echo try $MLAUNCH_RESTART; exit 3')
"$MLAUNCH" logs -f "$id" > "$T/follow"
check_match "try 0" "$T/follow" "the log has the first try"
check_match "try 1" "$T/follow" "a restart writes to the same log"
check_match "has ended with status 3" "$T/follow" "the log ends when the last try has failed"

# There are at most 32 logs of ended jobs, and 256 MiB.
wait_for '! "$MLAUNCH" logs | grep -q " running "'
clean -q --logs
check_output 0 "clean --logs removes all" logs_left
for i in {10..49}; do echo old > "$LOGS/10000$i-000000.log"; done
check "mlaunch clean works with 40 old logs" clean
check_match "^log $LOGS/1000017-000000.log has been removed" "$OUT" \
    "clean removes logs that are too many"
check_output 32 "clean leaves 32 logs" logs_left
truncate -s 200M "$LOGS/1000047-000000.log" "$LOGS/1000045-000000.log"
check "mlaunch clean --dry-run works with big logs" clean --dry-run --json
check_match "1000045-000000.log\"" "$OUT" "clean --dry-run names logs that are too big"
id=$("$MLAUNCH" --detach -q --name "$NAME" -- sleep 1000)
check_output 5 "a new job removes logs that are too big" logs_left
check "clean --logs works beside a running job" clean --logs
check_output 1 "clean --logs leaves the log of a job that runs" logs_left
"$MLAUNCH" kill -q "$NAME"
ended "$id"
check "clean --logs knows an ended job by its name" clean --logs "$NAME"
check_output 0 "clean --logs removes an ended job's log" logs_left

# Over SSH.
. "$SOURCE/tests/lib/hosts.sh"
NETNS_PRIVATE=/tmp hosts_up 2 # one host's agent is not to see the other's half of the job
SSH=(--ssh-config "$NETNS_SSH_CONFIG")
check "a job on two hosts is detached" \
    "$MLAUNCH" "${SSH[@]}" --detach --name "$NAME" -H "$H1,$H2" --grace 1 -- sleep 1000
check_match "mlaunch kill -H $H1,$H2 $NAME ends it" "$ERR" "the line to end the job has its hosts"
check_status 1 "kill without hosts does not know the job" "$MLAUNCH" kill "$NAME.none"
check "ps on two hosts knows the job by its name" "$MLAUNCH" ps "${SSH[@]}" -H "$H1,$H2" "$NAME"
check_match "^$NAME .* $H2 .* live" "$OUT" "ps shows both hosts"
check_error 125 "host $H2: your job .* runs here under the name $NAME" \
    "the name is taken on either host" "$MLAUNCH" "${SSH[@]}" --name "$NAME" -H "$H2" -- true
check "kill on two hosts knows the job by its name" "$MLAUNCH" kill "${SSH[@]}" -H "$H1,$H2" "$NAME"
check "the log ends with the job on two hosts" "$MLAUNCH" logs -f "$NAME"
check_match "has ended with status 143" "$OUT" "the log of two hosts has the verdict"

if is_long; then
    clean -q --logs
    id=$("$MLAUNCH" --detach -q -- sh -c 'yes 0123456789abcde | head -c 200000000; echo last')
    "$MLAUNCH" logs -f "$id" > "$T/follow" 2> "$T/left_out"
    check "who follows sees all of a long log, or that lines are left out" \
        test "$(grep -c 0123456789abcde "$T/follow")" = 12500000 -o -s "$T/left_out"
    check_output "last" "who follows sees the end of a long log" grep -x last "$T/follow"
    check_output 2 "a long log is kept in two parts" logs_left
    check "a long log has a limited size" test "$(du -sm "$LOGS" | cut -f1)" -lt 140
    "$MLAUNCH" logs "$id" -n 8000000 > "$T/tail"
    check "mlaunch logs prints lines of both parts" test "$(wc -l < "$T/tail")" -gt 4200000
fi
done_testing
