#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random faults under jobs of --elastic, 20 (1000 in check-long): ranks, agents and connections are
# killed, hosts are stopped and cut off, for a moment or until they are lost; a fifth of all happens
# while the others repair. Between them, and beside them, mlaunch grow and shrink change the job.
# Jobs use shared memory, TCP and both; in half of them other processes take the places of the dead,
# and in half of these on several hosts spare ones those of lost hosts. Expected: those that live go
# on and have right sums, the job's status is 0, and nothing is left. SEED=… repeats a run's
# choices, ROUND=… one job of it.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 6
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
SURVIVOR=$BUILD/tests/fault/survivor
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
FAULTS=${FAULTS:-$(if is_long; then echo 1000; else echo 20; fi)}

# --- who is where, and who should live. A place is one of the job's hosts, or the spare one that
# has taken it over.
is_alive() { [[ " ${ids[*]} " == *" $1 "* ]]; }
host_of() { if [ "$place" = mixed ]; then echo "${hosts[${place_of[$1]}]}"; else echo localhost; fi; }
# gone ID…: these do not live any more.
gone() {
    local id
    for id; do
        mapfile -t ids < <(printf '%s\n' "${ids[@]}" | grep -vx "$id")
    done
}
comes_again() { comes[$1]=$((${comes[$1]:-0} + 1)); }
# A rank that died comes back if it may.
died() { if [ "$restarts" = 0 ]; then gone "$1"; else comes_again "$1"; fi; }
# lost HOST: its ranks come to a spare host, if there is one.
lost() {
    local i on=()
    for i in "${ids[@]}"; do [ "$(host_of "$i")" != "$1" ] || on+=("$i"); done
    if [ ${#spares[@]} = 0 ]; then
        gone "${on[@]}"
        return
    fi
    i=${place_of[${on[0]}]}
    hosts[i]=${spares[0]}
    spares=("${spares[@]:1}")
    for i in "${on[@]}"; do comes_again "$i"; done
}
# struck_out FAULT ID: who lives then.
struck_out() {
    case $1 in
    rank) died "$2" ;;
    shrink) gone "$2" ;;
    grow) ;;
    *) lost "$(host_of "$2")" ;;
    esac
}

# --- the faults
in_host() { if [ "$1" = localhost ]; then "${@:2}"; else netns exec "$@"; fi; }
# Process 1 of a host is spared, as the signal comes from inside.
host_signal() { netns exec "$1" sh -c "kill -$2 -1"; }

# strike FAULT ID: a rank, or its host.
strike() {
    local host
    host=$(host_of "$2")
    case $1 in
    grow) # beside that rank
        "$MLAUNCH" grow "$job" -H "$host" > "$T/change" 2>&1 || { diag_file "$T/change"; return 1; }
        place_of[ranks]=${place_of[$2]}
        comes[ranks]=1
        ids+=("$ranks")
        ranks=$((ranks + 1)) ;;
    shrink)
        "$MLAUNCH" shrink "$job" "$2" > "$T/change" 2>&1 || { diag_file "$T/change"; return 1; }
        gone "$2" ;;
    rank) in_host "$host" kill -KILL "$(rank_pid "$2")" && died "$2" ;;
    worker | guard | sshd) agent_kill "$host" "$1" && lost "$host" ;;
    blink) # a rank is stopped for a moment
        in_host "$host" kill -STOP "$(rank_pid "$2")" && nap $((100 + RANDOM % 9 * 100)) &&
            in_host "$host" kill -CONT "$(rank_pid "$2")" ;;
    nap) host_signal "$host" STOP && nap $((100 + RANDOM % 9 * 100)) && host_signal "$host" CONT ;;
    gap) netns cut "$host" && nap $((100 + RANDOM % 9 * 100)) && netns join "$host" ;;
    stop) host_signal "$host" STOP && lost "$host" && silent="stop $host" ;;
    cut) netns cut "$host" && lost "$host" && silent="cut $host" ;;
    esac
}
is_deadly() { case $1 in blink | nap | gap) false ;; esac; }

# Those have come that are in dead ones' places, and since the fault, the last word on members is
# that those live that should.
mark=1
all_are_there() {
    local members
    local id
    for id in "${!comes[@]}"; do
        [ "$(grep -c "^id $id: has come" "$T/out")" -ge "${comes[$id]}" ] || return
    done
    members=$(IFS=,; echo "${ids[*]}")
    tail -n "+$mark" "$EVENTS" | grep '"event":"repaired"' | tail -n 1 | grep -qF "\"members\":[$members]"
}
# What was silent is heard again; it finds that it is lost.
silent_end() {
    case $silent in
    stop*) must host_signal "${silent#* }" CONT ;;
    cut*) must netns join "${silent#* }" ;;
    esac
    silent=
}

# choose: sets $fault and $id, a living rank; the last ones are spared.
choose() {
    local kinds=(rank rank rank rank blink)
    local on=() i
    id=${ids[RANDOM % ${#ids[@]}]}
    [ "$ranks" -ge 20 ] || kinds+=(grow)
    [ ${#ids[@]} -lt 3 ] || kinds+=(shrink)
    if [ "$place" = mixed ]; then
        for i in "${ids[@]}"; do [ "${place_of[$i]}" = "${place_of[$id]}" ] || on+=("$i"); done
        kinds+=(nap gap)
        [ ${#on[@]} = 0 ] || kinds+=(worker guard sshd stop cut)
    fi
    fault=${kinds[RANDOM % ${#kinds[@]}]}
    # A few faults that take 10 s to be noticed are enough.
    case $fault in stop | cut) ((RANDOM % 2)) || fault=worker ;; esac
    [ ${#ids[@]} -gt 1 ] || [ "$restarts" != 0 ] || case $fault in rank) fault=blink ;; esac
}

# outliving FAULT ID: a rank that lives through that fault, if there are two; it and another one do
# not come anew.
outliving() {
    restarts=0 spares=()
    struck_out "$1" "$2"
    [ ${#ids[@]} -lt 2 ] || echo "${ids[$3 % ${#ids[@]}]}"
}
# has_company ID OTHER: a rank that is neither the one nor on the other's host.
has_company() {
    local i
    for i in "${ids[@]}"; do
        [ "$i" = "$1" ] || [ "${place_of[$i]}" = "${place_of[$2]}" ] || return 0
    done
    return 1
}

# once NAME: one fault, and perhaps one more while the others repair; then all is well again.
once() {
    local second="" by="" begun took said hosts_by=(worker guard sshd cut stop)
    choose
    what+=", $fault $id"
    mark=$(($(wc -l < "$EVENTS") + 1))
    begun=${EPOCHREALTIME/./}
    if is_deadly "$fault" && ((RANDOM % 2)); then
        second=$(outliving "$fault" "$id" "$RANDOM")
    fi
    # While a newcomer is late there is time to strike a host.
    if [ -n "$second" ] && [[ $fault = rank || $fault = grow ]] && [ ${#late[@]} != 0 ] &&
        [ "$place" = mixed ] && [ "${place_of[$id]}" != "${place_of[$second]}" ] &&
        has_company "$id" "$second"; then
        by=${hosts_by[RANDOM % ${#hosts_by[@]}]}
        what+=", $by $second while it comes"
    elif [ -n "$second" ]; then
        must touch "$T/stop.$second"
        what+=", $second repairs"
    fi
    said=$(grep -c ': repairs' "$T/out")
    strike "$fault" "$id" || { fail "round $round$what: it strikes"; return 1; }
    case $fault in grow | shrink) changed=$((changed + 1)) ;; *) struck=$((struck + 1)) ;; esac
    struck_by[$fault]=$((${struck_by[$fault]:-0} + 1))
    if [ -n "$by" ]; then
        wait_for '[ "$(grep -c ": repairs" "$T/out")" -gt '"$said"' ]'
        strike "$by" "$second" || { fail "round $round$what: it strikes"; return 1; }
        struck_by[$by]=$((${struck_by[$by]:-0} + 1)) struck=$((struck + 1))
        tail -n "+$mark" "$EVENTS" | grep -q '"event":"repaired"' || repairing=$((repairing + 1))
    elif [ -n "$second" ]; then
        wait_for '[ ! -e "$T/stop.'"$second"'" ]' || { fail "round $round$what: others repair"; return 1; }
        died "$second"
        struck=$((struck + 1)) repairing=$((repairing + 1))
    fi
    is_deadly "$fault" || return 0
    if ! wait_for all_are_there; then
        fail "round $round$what: $(echo "${ids[@]}") live" "$(grep '"repaired"' "$EVENTS" | tail -n 3)"
        diag_file "$T/err"
        diag_file "$T/out"
        return 1
    fi
    took=$(((${EPOCHREALTIME/./} - begun) / 1000))
    if [ -n "$silent" ]; then
        longest_silent=$((took > longest_silent ? took : longest_silent))
    else
        longest=$((took > longest ? took : longest))
    fi
    silent_end
}

struck=0 changed=0 repairing=0 longest=0 longest_silent=0 silent=
declare -A struck_by
comes=() # how often others have come to a rank's place
places=(shm tcp mixed mixed)
for ((round = ${ROUND:-1}; struck < FAULTS; round++)); do
    has_time || break
    RANDOM=$((SEED + round)) # so that each round can be repeated alone
    place=${places[RANDOM % 4]}
    restarts=$((RANDOM % 2 * 100))
    hosts=("$H1" "$H2" "$H3" "$H4")
    ids=(0 1 2 3) place_of=(0 0 0 0) spares=() how=()
    case $place in
    tcp) how=(--backend tcp --local net) ;;
    mixed) how=(-H "$H1,$H2,$H3,$H4") ids=(0 1 2 3 4 5 6 7) place_of=(0 0 1 1 2 2 3 3) ;;
    esac
    ranks=${#ids[@]}
    [ $restarts = 0 ] || how+=(--restarts "$restarts")
    what=": $place"
    [ $restarts = 0 ] || what+=" with others in their places"
    if [ $restarts != 0 ] && [ "$place" = mixed ] && ((RANDOM % 2)); then
        spares=("$H5" "$H6") how+=(--spare-hosts "$H5,$H6") what+=" and spare hosts"
    fi
    late=() comes=()
    [ $restarts = 0 ] || ((RANDOM % 2)) || late=(late 1000)
    rm -f "$T"/stop*
    job_start -n "$ranks" --oversubscribe --elastic 1 --output raw "${how[@]}" -- "$SURVIVOR" \
        "$T/stop" "${late[@]}"
    has_said 'membership 0' "$ranks" || { fail "round $round$what: it starts" "$(cat "$T/err")"; }
    job=$(job_id)
    for ((blow = 0; blow < 5 && struck < FAULTS; blow++)); do
        once || break
    done
    silent_end
    must touch "$T/stop"
    # A hang is a failure, and the next job goes on.
    if ! wait_for '! kill -0 "$mlaunch" 2> /dev/null'; then
        fail "round $round$what: mlaunch ends" "$(tail -n 20 "$T/out")"
        must kill -KILL "$mlaunch"
    fi
    zoo_end 0 "round $round$what"
    check_output ${#ids[@]} "round $round: all that live have ended well" grep -c ': done' "$T/out"
    check_no_match 'wrong sum' "$T/err" "round $round: every sum is right"
    [ -z "${ROUND:-}" ] || break
done
echo "# $struck faults, $repairing of them during a repair, and $changed changes:$(for k in "${!struck_by[@]}"; do echo -n " $k ${struck_by[$k]}"; done)"
echo "# the longest time to the next world: $longest ms, and $longest_silent ms for a silent host"

done_testing
