#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts are lost under a job of --elastic: the agent of one is killed, also where the coordinator
# is, the cable of one is pulled, and agents at random. Expected: the ranks that live go on within
# the time in which the loss can be known, every sum of theirs is right, the job's status is 0, and
# nothing of the lost host's ranks is left. SEED=… repeats a run.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 4
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
SURVIVOR=$BUILD/tests/fault/survivor
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED

# survivors_start RANKS LIST: a job on the hosts of LIST; has_said takes over from there.
survivors_start() {
    rm -f "$T/stop"
    job_start -H "$2" -n "$1" --oversubscribe --elastic 1 -- "$SURVIVOR" "$T/stop"
    has_said 'membership 0' "$1" || diag "not all ranks are up: $(cat "$T/err")"
}

# event_pids EVENT HOST: of its ranks or its agent's worker, as that host numbers them.
event_pids() { sed -nE 's/.*"event":"'"$1"'".*"host":"'"$2"'".*"pid":([0-9]+).*/\1/p' "$EVENTS"; }
started_pids() { event_pids started "$1"; }
connected_pid() { event_pids connected "$1"; }

# survivors_end NAME RANKS: asks the job to end, which it does well, with that many ranks.
survivors_end() {
    must touch "$T/stop"
    zoo_end 0 "$1"
    check_output "$2" "$1: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$1: every sum is right"
}

# comes REGEX FILE NAME: ranks may have repaired before mlaunch has written what it knows of it.
comes() {
    wait_for "grep -Eq -- '$1' '$2'"
    check_match "$1" "$2" "$3"
}

survivors_start 6 "$H1,$H2,$H3"
must agent_kill "$H2" worker
check "a host: the others go on" has_said 'membership 1, 4 ranks' 4
comes "^mlaunch: host $H2 was lost: .*; 4 ranks may go on \\(--elastic 1\\)" "$T/err" \
    "a host: mlaunch says so"
survivors_end "a host" 4

# The first host has rank 0, and the coordinator, which moves to the second one; then that dies.
survivors_start 6 "$H1,$H2,$H3"
must agent_kill "$H1" worker
check "rank 0's host: the others go on" has_said 'membership 1, 4 ranks' 4
comes '"event":"coordinator".*"host":"'"$H2"'"' "$EVENTS" "rank 0's host: the coordinator moves"
must agent_kill "$H2" worker
check "the next coordinator's host: the others go on" has_said 'membership 2, 2 ranks' 2
survivors_end "rank 0's host" 2

# The coordinator outlives the ranks of its host, hears of a silent host, and is lost, too.
survivors_start 6 "$H1,$H2,$H3"
# shellcheck disable=SC2046 # pids, as that host numbers them
must netns exec "$H1" kill -KILL $(started_pids "$H1")
check "the ranks beside the coordinator: the others go on" has_said 'membership [12], 4 ranks' 4
netns cut "$H3"
check "the coordinator beside no ranks, a silent host: the others go on" \
    has_said 'membership [23], 2 ranks' 2
netns join "$H3"
must agent_kill "$H1" worker
check "the coordinator beside no ranks: the others go on" has_said 'membership [234], 2 ranks' 4
comes '"event":"coordinator".*"host":"'"$H2"'"' "$EVENTS" \
    "the coordinator beside no ranks: another host gets it"
survivors_end "the coordinator beside no ranks" 2

# The next coordinator's host is slow to answer, and meanwhile the last ranks of another host die,
# whose agent ends before it has heard where the coordinator is.
survivors_start 8 "$H1,$H2,$H3,$H4"
must netns exec "$H2" kill -STOP "$(connected_pid "$H2")"
must agent_kill "$H1" worker
check "a slow coordinator: rank 0's host is lost" wait_for 'grep -q "host $H1 was lost" "$T/err"'
# shellcheck disable=SC2046 # pids, as that host numbers them
must netns exec "$H3" kill -KILL $(started_pids "$H3")
check "a slow coordinator: another host's ranks die" \
    wait_for '[ "$(grep -c "\"event\":\"exited\"" "$EVENTS")" = 2 ]'
must netns exec "$H2" kill -CONT "$(connected_pid "$H2")"
check "a slow coordinator: the others go on" has_said 'membership 1, 4 ranks' 4
survivors_end "a slow coordinator" 4

# The same, and it is its own ranks that die: whether or not its agent is DONE before it has heard
# that it should have the coordinator, another one has it in the end.
survivors_start 8 "$H1,$H2,$H3,$H4"
must netns exec "$H2" kill -STOP "$(connected_pid "$H2")"
must agent_kill "$H1" worker
check "no coordinator: rank 0's host is lost" wait_for 'grep -q "host $H1 was lost" "$T/err"'
# shellcheck disable=SC2046 # pids, as that host numbers them
must netns exec "$H2" kill -KILL $(started_pids "$H2")
must netns exec "$H2" kill -CONT "$(connected_pid "$H2")"
check "no coordinator: the others go on" has_said 'membership [12], 4 ranks' 4
survivors_end "no coordinator" 4

# Nothing is closed: 10 s of silence end both sides.
survivors_start 6 "$H1,$H2,$H3"
netns cut "$H1"
check "the cable of rank 0's host: the others go on" has_said 'membership 1, 4 ranks' 4
survivors_end "the cable of rank 0's host" 4
netns join "$H1"

# Ranks and hosts at random, while the others still repair, perhaps; the last host is spared.
ROUNDS=2
is_long && ROUNDS=60
for ((round = 1; round <= ROUNDS; round++)); do
    [ "$round" = 1 ] || has_time || break
    hosts=("$H1" "$H2" "$H3" "$H4")
    lives=8
    survivors_start 8 "$H1,$H2,$H3,$H4"
    for ((blow = 1; blow <= 3; blow++)); do
        host=${hosts[RANDOM % (${#hosts[@]} - 1)]}
        must agent_kill "$host" worker
        mapfile -t hosts < <(printf '%s\n' "${hosts[@]}" | grep -v "^$host\$")
        lives=$((lives - 2))
        ((RANDOM % 2)) || has_said "membership [0-9]*, $lives ranks" "$lives" || break
    done
    check "round $round: those on the last host go on" has_said "membership [0-9]*, 2 ranks" 2
    survivors_end "round $round" 2
done

done_testing
