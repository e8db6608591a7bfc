#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch grow adds ranks on hosts that the job does not have: one, and two at once beside one that
# it has; then the coordinator's host is lost, and new hosts are, with and without a spare one. Hosts
# that cannot be reached, that end before they are ready, and that are asked for while others come.
# Expected: the new ranks have the next numbers, all meet them, every sum is right, and the status
# is 0; nothing is left of a host that does not come, and the job goes on as it was.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
hosts_up 5
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# shellcheck disable=SC2016 # the words of the prolog's shell
HELD=(--prolog '[ ! -e '"$T"'/bad ] || exit 3
    if [ -e '"$T"'/hold ]; then : > '"$T"'/held; while [ -e '"$T"'/hold ]; do sleep 0.05; done; fi')

# two_start [OPTION…]: two ranks on each of two hosts.
# shellcheck disable=SC2120
two_start() {
    rm -f "$T/stop" "$T/hold" "$T/held" "$T/bad"
    job_start -n 4 --oversubscribe -H "$H1:2,$H2:2" --elastic 2 "${HELD[@]}" "$@" --output raw -- \
        "$SURVIVOR" "$T/stop"
    has_said 'membership 0' 4 || diag "not all ranks are up: $(cat "$T/err")"
    id=$(job_id)
}
# two_end NAME RANKS
two_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum|survivor:' "$T/err" "$1: every sum is right, and no call has failed"
}
# grows NAME HOSTS WORDS
grows() {
    check_output "job $id: $3, and become members when the others call ml_repair (ml_changed)" \
        "$1: the command returns when they run" "$MLAUNCH" grow "$id" -H "$2"
}
# all_are NAME LIST: the last word on members.
# shellcheck disable=SC2317 # by wait_for
last_members() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q "\"members\":\[$1\]"; }
all_are() { check "$1: all meet" wait_for "last_members $2" || diag "$(tail -n 3 "$EVENTS" "$T/err")"; }
# nothing_is_left NAME HOST
nothing_is_left() {
    check "$1: nothing is left on $2" wait_for '! netns exec '"$2"' pgrep -f "^mlaunch-agent|survivor $T"'
}

two_start
grows "one host" "$H3:2" "ranks 4-5 run"
all_are "one host" 0,1,2,3,4,5
check "one host: newcomers find the larger world" has_said '^id [45]: has come, [56] ranks' 2
check_match '"event":"grown".*"rank":5,"host":"'"$H3"'","ms":' "$EVENTS" "one host: an event says where"
"$MLAUNCH" ps "$id" > "$OUT" 2>&1
check_match "^ *5 .*$H3" "$OUT" "one host: mlaunch ps knows its ranks"
grows "the same host again" "$H3:2" "ranks 6-7 run"
all_are "the same host again" 0,1,2,3,4,5,6,7
check "one host: its ranks can leave" "$MLAUNCH" shrink "$id" 4-7
all_are "the new ranks have left" 0,1,2,3
nothing_is_left "the new ranks have left" "$H3"
grows "two hosts" "$H2,$H4,$H5" "ranks 8-10 run"
all_are "two hosts" 0,1,2,3,8,9,10
must agent_kill "$H1" worker
all_are "without the coordinator's host" 2,3,8,9,10
must agent_kill "$H2" worker
all_are "a new host has the coordinator" 9,10
check_match '"event":"coordinator".*"host":"'"$H4"'"' "$EVENTS" \
    "an event says that a new host has the coordinator"
check_error 1 "job $id: host $H1 is not there any more" "a lost host gets no ranks" \
    "$MLAUNCH" grow "$id" -H "$H1"
two_end "the new hosts alone" 2

# Hosts that do not come.
two_start
stays() {
    check_error 1 "job $id: $2" "$1: grow says why" "$MLAUNCH" grow "$id" -H "$3"
    check "$1: mlaunch says so, too" \
        wait_for "grep -Eq '^mlaunch: $2.*; the job goes on without .mlaunch grow by ' '$T/err'"
}
stays "no such host" "host nowhere.invalid did not come: .*nowhere.invalid" "nowhere.invalid:2"
stays "beside others" "host nowhere.invalid did not come: " "$H2:1,$H3,nowhere.invalid"
nothing_is_left "beside others" "$H3"
must netns cut "$H4"
stays "no route" "host $H4 did not come: " "$H4"
must netns join "$H4"
: > "$T/bad"
stays "a prolog that fails" "host ($H3|$H4) did not come: the prolog exited with status 3" "$H3,$H4"
rm "$T/bad"
nothing_is_left "a prolog that fails" "$H3"
nothing_is_left "a prolog that fails" "$H4"
check_no_match 'the job gets' "$T/err" "a host that does not come adds no rank"
check_no_match '"event":"(lost|repaired)"' "$EVENTS" \
    "the ranks notice nothing of a host that does not come"
# held NAME HOSTS: a command that waits for its hosts, which are ready but for their prologs.
held() {
    rm -f "$T/held"
    : > "$T/hold"
    "$MLAUNCH" grow "$id" -H "$2" > "$T/grow" 2>&1 &
    asked=$!
    wait_for '[ -e "$T/held" ]' || fail "$1: a host is being opened" "$(cat "$T/err")"
}
held "two at once" "$H3"
check_error 1 "job $id: it is getting hosts just now \(mlaunch grow by " \
    "two at once: the second one is refused" "$MLAUNCH" grow "$id" -H "$H2"
must agent_kill "$H3" worker
wait "$asked"
check_output 1 "grow fails if an agent ends before it is ready" echo $?
check_match "^mlaunch: error: job $id: host $H3 did not come: " "$T/grow" \
    "the host whose agent ended before it was ready is named"
held "the command ends" "$H3"
kill "$asked"
wait "$asked" 2> /dev/null
check "a rank leaves while a host comes" "$MLAUNCH" shrink "$id" 3
all_are "a rank has left" 0,1,2
rm "$T/hold"
all_are "the one that asked has gone, what was asked goes on" 0,1,2,4
held "the coordinator's host" "$H4:2"
must agent_kill "$H1" worker
all_are "the others go on" 2,4
rm "$T/hold"
wait "$asked"
check_output 0 "a host comes, and the coordinator has moved meanwhile" echo $?
all_are "a host has come" 2,4,5,6
must agent_kill "$H4" worker
all_are "a new host is lost" 2,4
check "mlaunch names the new host that was lost" wait_for \
    'grep -q "^mlaunch: host $H4 was lost: .*; 2 ranks may go on" "$T/err"'
held "the end" "$H5"
must touch "$T/stop"
wait "$asked"
check_output 1 "grow fails if the job ends meanwhile" echo $?
check_match "^mlaunch: error: job $id: (host $H5 did not come: the job ends|its mlaunch has ended)" \
    "$T/grow" "grow says that the job has ended meanwhile"
rm "$T/hold"
two_end "hosts that do not come" 2
nothing_is_left "the end" "$H5"

# With --restarts and a spare host; the new host has what others have.
two_start --restarts 2 --spare-hosts "$H5"
check_error 1 "job $id: host $H5 is a spare one of the job" "a spare host waits for its turn" \
    "$MLAUNCH" grow "$id" -H "$H5"
held "a loss meanwhile" "$H3"
must agent_kill "$H2" worker
wait_for 'grep -q "spare host $H5 takes its place" "$T/err"'
rm "$T/hold"
wait "$asked"
check_output 0 "a host is lost while another comes" echo $?
all_are "all have come" 0,1,2,3,4
check "the new host's rank is killed" netns exec "$H3" kill -KILL "$(rank_pid 4)"
check "the new host's rank is replaced" wait_for \
    'grep -q "\"event\":\"replaced\".*\"rank\":4" "$EVENTS"'
all_are "all have come again" 0,1,2,3,4
two_end "with --restarts" 5

two_start --restarts 1 --spare-hosts "$H5"
grows "a spare host" "$H3:2" "ranks 4-5 run"
all_are "a spare host" 0,1,2,3,4,5
must agent_kill "$H3" worker
check "a spare host takes the place of a new one" \
    wait_for 'grep -q "\"event\":\"replaced\".*\"rank\":5,\"host\":\"$H5\"" "$EVENTS"'
all_are "a spare host has come" 0,1,2,3,4,5
two_end "a spare host" 6

# A copy of --stage-env, in which alone the program is.
mkdir "$T/env" "$T/env/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$SURVIVOR" > "$T/env/bin/tool"
chmod +x "$T/env/bin/tool"
rm -f "$T/stop"
job_start -n 4 --oversubscribe -H "$H1:2,$H2:2" --elastic 2 --output raw --stage-env "$T/env" -- \
    tool "$T/stop"
has_said 'membership 0' 4 || diag "not all ranks are up: $(cat "$T/err")"
id=$(job_id)
grows "a copy" "$H3,$H2" "ranks 4-5 run"
all_are "a copy" 0,1,2,3,4,5
echo "# changed" >> "$T/env/bin/tool"
stays "another copy" "host $H4 did not come: --stage-env: files have changed there" "$H4"
two_end "a copy" 6

two_start
held "Ctrl-C of mlaunch" "$H3"
kill -INT "$mlaunch"
rm "$T/hold"
zoo_end 130 "Ctrl-C while a host is being opened"
wait "$asked"
nothing_is_left "Ctrl-C" "$H3"

done_testing
