#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random faults at random moments of start, run and stop: 20 (200 in check-long, or as many as there
# is time for in a turn of it), on local and on SSH hosts. Expected: mlaunch ends, and nothing is
# left, be it a process, a job directory or shared memory. SEED=… repeats a run.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED
ROUNDS=20
is_long && ROUNDS=200
CHILDREN=30

# strike FAULT HOST: fails if there is no such process yet, or no more.
strike() {
    case $1 in
    head) kill -KILL "$mlaunch" ;;
    INT | TERM | HUP) kill -"$1" "$mlaunch" ;;
    twice)
        kill -INT "$mlaunch" || return
        nap 120
        kill -TERM "$mlaunch" || : # the first may have been enough
        ;;
    rank)
        local pid
        pid=$("$SOURCE/tests/fault/look.py" left "$EVENTS" "$MARK" |
            sed -n 's/^process \([0-9]*\): [^ ]*faulty zoo.*/\1/p' | head -n 1)
        [ -n "$pid" ] && kill -KILL "$pid"
        ;;
    *) agent_kill "$2" "$1" ;;
    esac 2> /dev/null
}

places=("localhost" "$H1,$H2" "localhost,$H1")
struck=0
faults=(head INT TERM HUP twice rank worker guard sshd)
for ((round = 1; round <= ROUNDS; round++)); do
    has_time || break
    place=${places[RANDOM % 3]}
    host=${place##*,}
    fault=${faults[RANDOM % 9]}
    [ "$fault" != sshd ] || [ "$host" != localhost ] || fault="head"
    moment=$((RANDOM / 50)) # milliseconds: 0 to 0.65 s
    job_start -H "$place" -n 4 --oversubscribe -- "$FAULTY" zoo $CHILDREN
    nap $moment
    what="round $round: $fault at $moment ms, $place"
    # A fault that came too early hits nothing and leaves the job running; the job is then ended by
    # SIGTERM.
    if strike "$fault" "$host"; then struck=$((struck + 1)); else what+=", which hits nothing"; fi
    nap 20
    [ "$fault" = head ] || kill -TERM "$mlaunch" 2> /dev/null
    if ! wait_for '! kill -0 "$mlaunch" 2> /dev/null'; then
        fail "$what" "mlaunch has not ended"
        must kill -KILL "$mlaunch"
        continue
    fi
    wait "$mlaunch" 2> /dev/null
    nothing_left "$what"
done
check "half of the faults have hit something" test $((struck * 2)) -ge $((round - 1))

done_testing
