#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks of a job of --elastic with --restarts are killed, and other processes take their places,
# here and on other hosts, in good time, late, never, and while they are killed, too; also after
# the coordinator's host was lost. Expected: the world has all its ranks again, every sum is right, and
# the job's status is 0, but where fewer than MIN live on. SEED=… repeats a run.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED

# replaced_start RANKS OPTION… -- [HARM MS]
replaced_start() {
    local ranks=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    rm -f "$T/stop"
    job_start -n "$ranks" --oversubscribe "${options[@]}" -- "$SURVIVOR" "$T/stop" "${@:2}"
    has_said 'membership 0' "$ranks" || diag "not all ranks are up: $(cat "$T/err")"
}

rank_kill() { kill -KILL "$(rank_pid "$1")" || diag "rank $1 is there"; }

# The last word on members is that there are 4.
all_are_there() { grep '"event":"repaired"' "$EVENTS" | tail -n 1 | grep -q '"members":\[0,1,2,3\]'; }

# replaced_end NAME RANKS: asks the job to end, which it does well, with that many ranks.
replaced_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$1: every sum is right"
}

replaced_start 4 --elastic 2 --restarts 1 --output raw --
rank_kill 1
check "a rank: another process takes its place" has_said 'membership 1, 4 ranks, came 1$' 3
check_match '^id 1: has come, 4 ranks' "$T/out" "a rank: the new process knows that it has come"
check_match 'another process takes its place \(restart 1 of 1\)' "$T/err" "a rank: mlaunch says so"
check_match '"event":"replaced".*"rank":1,"host":"localhost","ms":' "$EVENTS" "a rank: an event says so"
check_match '"event":"repaired".*"left":\[\],"came":\[1\]' "$EVENTS" "a rank: an event says who came"
# The restart is used up.
rank_kill 1
check "again: the others go on" has_said 'membership 2, 3 ranks$' 3
rank_kill 0
check "rank 0 has a restart of its own" has_said 'membership 3, 3 ranks, came 0$' 2
replaced_end "a rank" 3

replaced_start 4 --elastic 2 --restarts 2 --output raw --backend tcp --local net --secure --
rank_kill 3
rank_kill 1
check "two at once, over TCP" wait_for '[ "$(grep -c "\"event\":\"replaced\"" "$EVENTS")" = 2 ]'
check "two at once, over TCP: all are there" has_said '4 ranks.*, came [13]$' 2
replaced_end "two at once, over TCP" 4

# Whoever repairs goes on after the wait; the newcomer is a member by a later repair.
replaced_start 4 --elastic 2 --restarts 1 --replace-wait 1 --output raw -- late 2500
rank_kill 2
check "late: the others go on without the newcomer" has_said 'membership 1, 3 ranks$' 3
check "late: the newcomer comes all the same" has_said 'membership 2, 4 ranks, came 2$' 3
replaced_end "late" 4

# The others end while it is still to come: it is ended, too, and the job has gone well.
replaced_start 4 --elastic 2 --restarts 1 --replace-wait 0 --output raw -- hang 1
rank_kill 2
check "never: the others go on without the newcomer" has_said 'membership 1, 3 ranks$' 3
replaced_end "never" 3

replaced_start 4 --elastic 4 --restarts 1 --replace-wait 1 --output raw -- hang 1
rank_kill 2
zoo_end 137 "below MIN: the job ends after the wait"
check_match '^mlaunch: rank 2 on host .* was killed by signal 9' "$T/err" \
    "below MIN: the job ends by the first failure"
replaced_start 4 --elastic 4 --restarts 1 --output raw --
rank_kill 2
check "below MIN: nobody goes on before the newcomer" has_said 'membership 1, 4 ranks, came 2$' 3
check_no_match '3 ranks' "$T/out" "below MIN: there is no smaller world"
replaced_end "below MIN" 4

# What a rank has written before, and what the next one does, are in one file.
rm -f "$T/stop"
job_start -n 2 --elastic 1 --restarts 1 --output "$T/files" -- "$SURVIVOR" "$T/stop"
wait_for '[ "$(cat "$T"/files/rank.*.out 2> /dev/null | grep -c "membership 0")" = 2 ]' ||
    diag "both ranks are up"
rank_kill 1
check "--output: another process comes" wait_for 'grep -q "came 1" "$T/files/rank.0.out"'
must touch "$T/stop"
zoo_end 0 "--output"
check_output "membership has done" "--output: nothing of a rank's file is lost" \
    sh -c "cut -d ' ' -f 3 '$T/files/rank.1.out' | xargs"

# A newcomer finds the end of its input, and the record of calls goes on.
rm -f "$T/stop"
# shellcheck disable=SC2016 # for the rank's shell
job_start -n 2 --elastic 1 --restarts 1 --stdin all --record "$T/calls" --output raw -- \
    sh -c 'if read -r line; then echo "has read $line"; else echo "at the end"; fi; exec "$0" "$1"' \
    "$SURVIVOR" "$T/stop" <<< "the input"
has_said 'membership 0' 2 || diag "both ranks are up"
check "--stdin all: both ranks have the input" has_said 'has read the input' 2
rank_kill 1
check "--stdin all: another process comes" has_said 'membership 1, 2 ranks, came 1$' 1
check_match '^at the end$' "$T/out" "--stdin all: the newcomer is at the end of its input"
replaced_end "--stdin all, --record" 2
check_output 2 "--record: both worlds of both processes are there" \
    sh -c "grep '\"rank\":1,' '$T/calls' | grep -oE '\"group\":[0-9]+' | sort -u | wc -l"

# A newcomer is killed, perhaps while it joins, and so are others.
ROUNDS=5
is_long && ROUNDS=60
for ((round = 1; round <= ROUNDS; round++)); do
    [ "$round" = 1 ] || has_time || break
    how=(--backend tcp --local net)
    ((round % 2)) && how=()
    replaced_start 4 --elastic 1 --restarts 100 --output raw "${how[@]}" -- die 30
    for ((blow = 1; blow <= 4; blow++)); do
        rank_kill $((RANDOM % 4))
        ((RANDOM % 2)) || wait_for all_are_there
    done
    check "round $round: all ranks are there again" wait_for all_are_there
    replaced_end "round $round" 4
done

# On other hosts, and after the coordinator's host was lost.
hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
replaced_start 6 -H "$H1,$H2,$H3" --elastic 1 --restarts 2 --output raw --
must netns exec "$H2" kill -KILL "$(rank_pid 2)"
check "hosts: another process takes its place" has_said 'membership 1, 6 ranks, came 2$' 5
must agent_kill "$H1" worker
check "hosts: the others go on without the first one" has_said 'membership [2-9], 4 ranks' 4
must netns exec "$H3" kill -KILL "$(rank_pid 5)"
check "hosts: the next coordinator lets another process in" \
    has_said 'membership [3-9], 4 ranks, came 5$' 3
replaced_end "hosts" 4

done_testing
