#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks over RDMA are killed on three hosts, and the others go on, with and without processes that
# take the places of the dead: 5 (50 in the long form), a part of them while the others repair.
# SEED=… repeats a run's choices, and KILLS=… says how many.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
on_standin 3
. "${0%/*}/jobs.sh"
. "$SOURCE/tests/fault/fault.sh"
JOB+=(--hostfile "$RDMA_HOSTFILE" --agent-command 'ssh {host}' --backend rdma --ppn 2
    --oversubscribe --grace 1 --output raw)
KILLS=${KILLS:-$(if is_long; then echo 50; else echo 5; fi)}
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED
STOP=/tmp/survivors-stop # hosts have a /tmp of their own each

on_all() { local h; for h in 0 1 2; do ssh host$h "$@"; done; }
host_of() {
    sed -nE 's/.*"event":"started".*"rank":'"$1"',"host":"([a-z0-9]+)".*/\1/p' "$EVENTS" | tail -n 1
}
gone() { mapfile -t ids < <(printf '%s\n' "${ids[@]}" | grep -vx "$1"); }
mark=1
all_are_there() {
    local members id
    for id in "${!comes[@]}"; do
        [ "$(grep -c "^id $id: has come" "$T/out")" -ge "${comes[$id]}" ] || return
    done
    members=$(IFS=,; echo "${ids[*]}")
    tail -n "+$mark" "$EVENTS" | grep '"event":"repaired"' | tail -n 1 | grep -qF "\"members\":[$members]"
}
# What a host must not have when no job runs.
hosts_left() {
    local h peer
    on_all 'ls -d /dev/shm/mlaunch-* /tmp/mlaunch-[0-9]*/*.*' 2> /dev/null
    for h in 0 1 2; do
        for peer in 0 1 2; do [ $h = $peer ] || objects $h $peer; done
    done
}

# job_of NAME RANKS KILLS OPTION…: that many ranks die, each when all is well again, and every other
# one takes one more with it, which dies while the others repair.
job_of() {
    local name=$1 kills=$3 killed=0 n id other one
    comes=() # how often others have come to a rank's place
    mapfile -t ids < <(seq 0 $(($2 - 1)))
    on_all "rm -f $STOP*"
    job_start -n "$2" --elastic 1 "${@:4}" -- "$SURVIVOR" "$STOP"
    has_said 'membership 0' "$2" || fail "$name: all are up" "$(cat "$T/err")"
    while [ $killed -lt "$kills" ]; do
        id=${ids[RANDOM % ${#ids[@]}]} other=
        n="$name, rank $id"
        mark=$(($(wc -l < "$EVENTS") + 1))
        if [ $((killed + 1)) -lt "$kills" ] && ((RANDOM % 2)); then
            other=${ids[RANDOM % ${#ids[@]}]}
            [ "$other" != "$id" ] || other=
        fi
        if [ -n "$other" ]; then
            n+=", and $other while the others repair"
            must ssh "$(host_of "$other")" touch "$STOP.$other"
        fi
        must ssh "$(host_of "$id")" kill -KILL "$(rank_pid "$id")"
        killed=$((killed + 1))
        [ -z "$other" ] || { killed=$((killed + 1)); repairing=$((repairing + 1)); }
        case " $* " in
        *" --restarts "*) for one in $id $other; do comes[one]=$((${comes[one]:-0} + 1)); done ;;
        *) for one in $id $other; do gone "$one"; done ;;
        esac
        if wait_for all_are_there; then pass "$n: ${ids[*]} go on"; else
            fail "$n: ${ids[*]} go on" "$(grep '"repaired"' "$EVENTS" | tail -n 3)"
            diag_file "$T/err"
            diag_file "$T/out"
            break
        fi
    done
    all=$((all + killed))
    on_all "touch $STOP"
    if ! wait_for '! kill -0 "$mlaunch" 2> /dev/null'; then
        fail "$name: mlaunch ends"
        must kill -KILL "$mlaunch"
    fi
    zoo_end 0 "$name"
    check_output ${#ids[@]} "$name: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "$name: every sum is right"
    if wait_for '[ -z "$(hosts_left)" ]'; then pass "$name: hosts have nothing left"; else
        fail "$name: hosts have nothing left" "$(hosts_left)"
    fi
}

SURVIVOR=$BUILD/tests/fault/survivor
all=0 repairing=0
for ((round = 1; all < KILLS; round++)); do
    [ $all = 0 ] || has_time || break
    job_of "nobody comes in round $round" 6 $((KILLS < 10 ? 2 : 4))
    job_of "others come in round $round" 6 $((KILLS < 10 ? 3 : 6)) --restarts 100
done
job_of "one rank a host" 3 1 --ppn 1
echo "# $all ranks were killed, $repairing of them during a repair"
done_testing
