#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts of a job of --elastic with --restarts are lost, and spare hosts take their places while the
# others run: any host, rank 0's too, which has the coordinator, and one spare host after the other;
# spare hosts that do not start, or end while they do. Expected: the world has all its ranks again,
# every sum is right, and the job's status is 0; without a spare host that starts the others go on
# alone. Ctrl-C while a host is being opened ends all.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
hosts_up 5
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)

# spare_start SPARES [OPTION…]: two ranks on each of three hosts.
spare_start() {
    local spares=$1
    shift
    rm -f "$T/stop"
    job_start -n 6 --oversubscribe -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$spares" --elastic 2 \
        --restarts 2 --output raw "$@" -- "$SURVIVOR" "$T/stop"
    has_said 'membership 0' 6 || diag "not all ranks are up: $(cat "$T/err")"
}
# spare_end NAME RANKS
spare_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$1: every sum is right"
}
# The last word on members is that there are 6.
all_are_there() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q '"members":\[0,1,2,3,4,5\]'; }
# filled NAME HOST: two ranks have come there, and the job has all its ranks again. Says how long
# that took since the loss was known.
filled() {
    check "$1: ranks come to $2" \
        wait_for '[ "$(grep -c "\"event\":\"replaced\".*\"host\":\"'"$2"'\",\"ms\":" "$EVENTS")" = 2 ]'
    check "$1: the world has all its ranks again" wait_for all_are_there
    sed -n 's/.*"event":"replaced".*"host":"'"$2"'","ms":\([0-9]*\)}.*/# '"$1"': \1 ms/p' "$EVENTS" | sort -u
}

spare_start "$H4,$H5"
must agent_kill "$H2" worker
filled "a host" "$H4"
check_match "^mlaunch: host $H2 was lost: .*; spare host $H4 takes its place \(ranks 2,3\)$" "$T/err" \
    "a host: mlaunch says so"
must agent_kill "$H1" worker
filled "rank 0's host after that" "$H5"
check_match '"event":"coordinator".*"host":"'"($H3|$H4)"'"' "$EVENTS" \
    "rank 0's host after that: the coordinator has moved"
spare_end "two hosts" 6

# Two at once, with the coordinator.
spare_start "$H4,$H5"
must agent_kill "$H1" worker
must agent_kill "$H2" worker
filled "two hosts at once" "$H4"
filled "the other of two hosts at once" "$H5"
spare_end "two hosts at once" 6

# A rank that has used up its restarts stays away.
spare_start "$H4" --restarts 1
must netns exec "$H2" kill -KILL \
    "$(sed -nE 's/.*"event":"started".*"rank":2,.*"pid":([0-9]+).*/\1/p' "$EVENTS")"
check "a rank is replaced on its host" has_said 'membership 1, 6 ranks, came 2$' 5
must agent_kill "$H2" worker
check "a rank's neighbour comes alone to the spare host" has_said \
    'membership [2-9], 5 ranks, came 3$' 4
check_match "^mlaunch: host $H2 was lost: .*; 5 ranks may go on \(--elastic 2\)$" "$T/err" \
    "mlaunch says that five ranks may go on"
check_match "^mlaunch: host $H2 was lost; spare host $H4 takes its place \(rank 3\)$" "$T/err" \
    "mlaunch says which one rank comes"
spare_end "one of two" 5

# A spare host with too few slots takes a part of them.
rm -f "$T/stop"
job_start -n 6 -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$H4:1" --elastic 2 --restarts 1 --output raw -- \
    "$SURVIVOR" "$T/stop"
has_said 'membership 0' 6 || diag "not all ranks are up: $(cat "$T/err")"
must agent_kill "$H2" worker
check "too few slots: a part comes" has_said 'membership [1-9], 5 ranks, came 2$' 4
check_match "spare host $H4 takes its place \(rank 2\)$" "$T/err" \
    "too few slots: mlaunch says which rank comes"
check_match "^mlaunch: host $H4 has no slot for rank 3; 5 ranks may go on \(--elastic 2\)$" "$T/err" \
    "too few slots: mlaunch says which rank does not come"
spare_end "too few slots" 5

# The ranks name the host where another one is now.
job_start -n 6 --oversubscribe -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$H4" --elastic 2 --restarts 1 \
    --output raw -- python3 "$SOURCE/tests/fault/spare_names.py"
has_said up 6 || diag "not all ranks are up: $(cat "$T/err")"
must agent_kill "$H2" worker
zoo_end 0 "names"
check_match "^error: .* it was kept on host $H4, " "$T/out" "the ranks know the host by its name"

# The agents of the others get the wiring that the hostfile states of the spare host, over TCP, too.
printf '[{"ssh": "%s", "rdma": [null, "ab", "ac", "ad"]}, {"ssh": "%s", "rdma": ["ba", null, "bc", "bd"]},
    {"ssh": "%s", "rdma": ["ca", "cb", null, "cd"]}, {"ssh": "%s", "rdma": ["da", "db", "dc", null]}]' \
    "$H1" "$H2" "$H3" "$H4" > "$T/wired.json"
rm -f "$T/stop"
job_start -vv --hostfile "$T/wired.json" --backend tcp -n 6 --ppn 2 --spare-hosts "$H4" --elastic 2 \
    --restarts 1 --output raw -- "$SURVIVOR" "$T/stop"
has_said 'membership 0' 6 || diag "not all ranks are up: $(cat "$T/err")"
must agent_kill "$H2" worker
filled "a stated wiring" "$H4"
check_output 3 "a stated wiring: all agents have it before" grep -c 'its agent sent WIRED$' "$T/err"
spare_end "a stated wiring" 6

# The spare host gets its copy of --stage-env, and is passed over if that would be another one.
mkdir -p "$T/env/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$SURVIVOR" > "$T/env/bin/tool"
chmod +x "$T/env/bin/tool"
rm -f "$T/stop"
job_start -v -n 6 --oversubscribe -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$H4,$H5" --elastic 2 \
    --restarts 2 --output raw --stage-env "$T/env" -- tool "$T/stop"
has_said 'membership 0' 6 || diag "not all ranks are up: $(cat "$T/err")"
must agent_kill "$H2" worker
filled "a copied environment" "$H4"
check_match "host $H4: has a copy of $T/env, for which 1 files of [0-9]+ bytes were sent" "$T/err" \
    "a copied environment: the spare host has a copy"
echo "# changed" >> "$T/env/bin/tool"
must agent_kill "$H3" worker
check "an environment that has changed: the others go on" has_said 'membership [2-9], 4 ranks' 4
check_match "^mlaunch: host $H5 did not start: --stage-env: files have changed there since the job began, .*, and no spare host is left; 4 ranks may go on" \
    "$T/err" "an environment that has changed: mlaunch says so"
check_match '"event":"lost".*"host":"'"$H5"'","text":"--stage-env: files' "$EVENTS" \
    "an environment that has changed: its silence is not waited for"
spare_end "a copied environment" 4

# The job has been asked to stop softly before the other host comes.
rm -f "$T/stop"
job_start -n 6 --oversubscribe -H "$H1:2,$H2:2,$H3:2" --spare-hosts "$H4" --elastic 2 --restarts 1 \
    --stop-signal USR1 --output raw -- python3 "$SOURCE/tests/fault/spare_asked.py" "$T/stop"
has_said up 6 || diag "not all ranks are up: $(cat "$T/err")"
kill -USR1 "$mlaunch"
check "a soft stop: all are asked" has_said asked 6
must agent_kill "$H2" worker
check "a soft stop: those that come are asked, too" has_said asked 8
must touch "$T/stop"
zoo_end 0 "a soft stop"

# One that cannot be reached is passed over, and so is one whose agent dies before the ranks start.
# shellcheck disable=SC2016 # the words of the prolog's shell
HELD=(--prolog 'if [ -e '"$T"'/hold ]; then : > '"$T"'/held; while [ -e '"$T"'/hold ]; do sleep 0.05; done; fi')
held_start() {
    rm -f "$T/hold" "$T/held"
    spare_start "$@" "${HELD[@]}"
    : > "$T/hold"
    must agent_kill "$H2" worker
    wait_for '[ -e "$T/held" ]' || fail "the prolog of a spare host begins" "$(cat "$T/err")"
}
held_start "nowhere.invalid,$H4,$H5"
check_match "^mlaunch: host nowhere.invalid did not start: .*; spare host $H4 takes its place \(ranks 2,3\)$" "$T/err" \
    "a spare host that cannot be reached is passed over"
must agent_kill "$H4" worker
rm "$T/hold"
filled "a spare host that ends while it is opened" "$H5"
check_match "^mlaunch: host $H4 did not start: .*; spare host $H5 takes its place \(ranks 2,3\)$" "$T/err" \
    "a spare host that ends while it is opened is passed over"
# It is lost itself, and nobody is left.
must agent_kill "$H5" worker
check "no spare host is left: the others go on" has_said 'membership [2-9], 4 ranks' 4
check_match "^mlaunch: host $H5 was lost: .*, and no spare host is left; 4 ranks may go on \(--elastic 2\)$" \
    "$T/err" "no spare host is left: mlaunch says so"
spare_end "no spare host is left" 4

held_start "$H4" --replace-wait 1
check "a spare host that is late: the others go on" has_said 'membership 1, 4 ranks$' 4
rm "$T/hold"
filled "a spare host that is late" "$H4"
spare_end "a spare host that is late" 6

held_start "$H4"
kill -INT "$mlaunch"
rm "$T/hold"
zoo_end 130 "Ctrl-C while a host is opened"

held_start "$H4" --replace-wait 0
has_said 'membership 1, 4 ranks$' 4 || diag "the others go on: $(cat "$T/err")"
must touch "$T/stop"
rm "$T/hold"
zoo_end 0 "the others end while a host is opened"

# A host whose agent works, and has lost the coordinator: it ends what is there first.
spare_start "$H4"
if netns exec "$H2" ss -K dst "$A1" 2>&1 | grep -q ESTAB; then
    filled "a host that is cut off" "$H4"
    check_match "^mlaunch: host $H2 was lost: it is cut off from .*; spare host $H4 takes its place" "$T/err" \
        "a host that is cut off: mlaunch names it"
    spare_end "a host that is cut off" 6
else
    skip "a host that is cut off: ranks come to $H4" \
        "this kernel or ss cannot close the connections of others"
    kill -INT "$mlaunch"
    zoo_end 130 "nobody is cut off"
fi

# A host that is silent; its ranks end by themselves, and nothing of it comes back.
spare_start "$H4"
must netns cut "$H2"
filled "a silent host" "$H4"
check_match "^mlaunch: host $H2 was lost: nothing was heard from its agent for $(failure_s 10) s.*; spare host $H4 takes" "$T/err" \
    "a silent host: mlaunch names it"
must netns join "$H2"
spare_end "a silent host" 6

done_testing
