#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch status: which hosts are online, why another is not, the jobs on them, and --watch.
TEST_TIER=quick
TEST_ALONE=1
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
NETNS_PRIVATE=/tmp hosts_up 2 # whatever other jobs have left in /tmp

look() { "$MLAUNCH" status --ssh-config "$NETNS_SSH_CONFIG" "$@"; }
check "mlaunch status looks at two hosts" look -H "$H1,$H2"
check_match "^$H1 +online +[0-9:dhs]+ +[0-9.]+ of [0-9]+ +[0-9.]+[MG] of [0-9.]+G +- +0 live" "$OUT" \
    "the first host has its line"
check_match "^$H2 +online " "$OUT" "the second host has its line"
"${JOB[@]}" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" -n 4 -- sleep 300 > "$T/job.out" \
    2> "$T/job.err" < /dev/null &
PID=$!
wait_for '[ "$(grep -c "\"started\"" "$EVENTS")" = 4 ]'
ID=$(sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" | head -n 1)
check "mlaunch status looks at two hosts with a job" look -H "$H1,$H2"
check_match "^$H2 +online .* 1 live" "$OUT" "each host has the number of its jobs"
check_match "^$ID +root +[0-9:s]+ +$H1,$H2 +4/4 +live +sleep 300$" "$OUT" "the job has a line"
check_status 125 "a host that is gone is status 125" look -H "$H1,nowhere.invalid"
check_match "^nowhere.invalid +offline " "$OUT" "a host that is gone is offline"
check_match "^host nowhere.invalid is offline: ." "$OUT" "a host that is gone has a reason"
check_match "^$ID " "$OUT" "the jobs of the other host are shown"
check_output "2" "JSON has the job on each host" \
    sh -c '"$0" status --json --ssh-config "$1" -H "$2" |
    python3 "$SOURCE/tests/lib/json_show.py" \
        "sum(len([j for j in h[\"jobs\"] if j[\"state\"] == \"live\"]) for h in j[\"hosts\"])"' \
    "$MLAUNCH" "$NETNS_SSH_CONFIG" "$H1,$H2"
"$MLAUNCH" kill --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" "$ID" > "$OUT" 2>&1
wait "$PID"

# A job whose launcher and agent were killed, the agent and the rank while they were stopped.
"$MLAUNCH" --name "left.$$" --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" -- sleep 301 > "$T/job.out" 2>&1 \
    < /dev/null &
PID=$!
wait_for 'netns exec "$H2" pgrep -fx "(.*qemu-.* )?sleep 301" > "$T/sleep"'
must kill -STOP "$PID" # it would end by itself
# shellcheck disable=SC2046 # pids
must netns exec "$H2" sh -c 'all="$(pgrep -x mlaunch-agent) $(pgrep -fx "(.*qemu-.* )?sleep 301")"
    kill -STOP $all && kill -KILL $(pgrep -x mlaunch-agent)'
must kill -KILL "$PID"
{ wait "$PID"; } 2> /dev/null
check "mlaunch status looks at what a dead job has left" look -H "$H1,$H2"
check_match "^$H1 +online .* 0 live$" "$OUT" "the host without a dead job has none"
check_match "^$H2 +online .* 0 live, 1 stale$" "$OUT" "the host of a dead job has it in its line"
check_match "^[0-9a-z-]+ \\(left.$$\\) +root .* $H2 +[0-9]/1 +stale +sleep 301$" "$OUT" \
    "the dead job has a line"
check "mlaunch clean takes a job's name" "$MLAUNCH" clean --ssh-config "$NETNS_SSH_CONFIG" \
    -H "$H1,$H2" "left.$$"
check_match "^host $H2: job [0-9a-z-]+: directory .* has been removed" "$OUT" \
    "mlaunch clean removes the dead job's directory"
check "mlaunch status looks at a host that was cleaned" look -H "$H2"
check_match "^$H2 +online .* 0 live$" "$OUT" "a host that was cleaned has nothing"

check_error 125 "'0' is not a number of seconds, from 1 to 86400" \
    "--watch without time is refused" look --watch 0
check_error 125 'with --json it has no meaning' "--watch with --json is refused" look --watch --json
"$MLAUNCH" status --watch=1 --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" > "$T/watch" \
    2> "$T/watch.err" &
PID=$!
check "--watch looks again and again" wait_for \
    '[ "$(grep -c ", every 1 s: 2 of 2 hosts online$" "$T/watch")" -ge 3 ]'
check_no_match $'\033' "$T/watch" "--watch writes no escapes, as stdout is no terminal"
must kill "$PID"
wait "$PID"
check_output 143 "--watch looks until it is ended" echo "$?"
check_status 130 "--watch on a terminal ends with Ctrl-C" "$SOURCE/tests/cli/on_terminal.py" \
    $'wait 1 of 1 hosts online\nwait 1 of 1 hosts\nsize 10 40\nwait 1 of 1 hosts\ntype \\x03\nmodes' \
    "$MLAUNCH" status --watch 1
cp "$OUT" "$T/terminal"
check_output 3 "each look of --watch clears the screen" grep -cF $'\033[H\033[J' "$T/terminal"
check_no_match $'\033\\[[?]' "$T/terminal" "--watch changes no mode of the terminal"
# shellcheck disable=SC2016
check "--watch ends when nobody reads" sh -c '"$0" status --watch 1 | head -n 1' "$MLAUNCH"
check_output "" "--watch complains of nothing" cat "$T/watch.err"
done_testing
