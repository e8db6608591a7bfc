#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Strangers who only connect, as fast as they can: 1, 2 or 8 processes, to the coordinator's port,
# before the ranks call ml_init, while some wait in it for the others, and after all have called it,
# and to the port of a rank's own listener. Expected: the job goes on and ends as it should.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_LIMIT=230
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fault.sh"
RUNS=1
is_long && RUNS=10
RANKS=4
flooders=()

# Sets $port to one that is free, with those that follow for the ranks, below those that the system
# gives to connections.
port_choose() {
    local low
    read -r low _ < /proc/sys/net/ipv4/ip_local_port_range
    for _ in {1..100}; do
        port=$((low / 2 + RANDOM % (low / 2 - RANKS)))
        grep -qE ":($(printf '%04X|' $(seq $((port + 1)) $((port + RANKS))))$(printf %04X \
            "$port")) " /proc/net/tcp || return 0
    done
}

# flood_start COUNT PORT [FILE]: FILE as of flooder
flood_start() {
    local i
    for ((i = 0; i < $1; i++)); do
        "$BUILD/tests/fault/flooder" "$2" "${3-$T/flooded}" 200 &
        flooders+=($!)
    done
}

flood_end() {
    [ ${#flooders[@]} -eq 0 ] || kill "${flooders[@]}" 2> /dev/null
    wait "${flooders[@]}" 2> /dev/null
    flooders=()
}
at_exit flood_end

# The job $name, which is flooded, ends as it should.
job_end() {
    wait "$mlaunch"
    status=$?
    flood_end
    if [ "$status" -eq 0 ]; then pass "$name"; else fail "$name" "status $status: $(cat "$T/err")"; fi
    nothing_left "$name: nothing is left" 3
}

# The ranks that wait for the flood before ml_init.
for count in 1 2 8; do
    for when in before during after; do
        for ((run = 1; run <= RUNS; run++)); do
            name="$count flooders $when ml_init, run $run"
            rm -f "$T/flooded"
            port_choose
            case $when in
            before) first=0 ;;
            during) first=$((RANKS / 2)) ;;
            after) first=$RANKS ;;
            esac
            [ "$when" != before ] || flood_start "$count" "$port"
            job_start --port "$port" --init-timeout 120 --timeout 150 --oversubscribe -n "$RANKS" -- \
                "$FAULTY" flooded "$first" "$T/flooded"
            has_said ready "$RANKS" || fail "$name: the ranks start" "$(cat "$T/err")"
            [ "$when" = before ] || flood_start "$count" "$port"
            job_end
        done
    done
done
# More strangers than may wait (1024, and two for each rank), who stay.
name="strangers who stay"
rm -f "$T/flooded"
port_choose
job_start --port "$port" --init-timeout 120 --timeout 150 --oversubscribe -n "$RANKS" -- \
    "$FAULTY" flooded 0 "$T/flooded"
has_said ready "$RANKS" || fail "$name: the ranks start" "$(cat "$T/err")"
flood_start 2 "$port" ""
wait_for "grep -q 'too many connections' '$T/err'" "$(slow 30)"
check_match 'refused a connection from 127\.0\.0\.1:.*too many connections are in the handshake' \
    "$T/err" "$name: they are reported"
: > "$T/flooded"
job_end

# A rank's listener is there while a group is joined: in ml_init, and in each ml_split.
for count in 1 2 8; do
    for ((run = 1; run <= RUNS; run++)); do
        name="$count flooders of a rank's port, run $run"
        : > "$T/flooded" # nothing is waited for
        port_choose
        flood_start "$count" $((port + 2)) # rank 1's
        job_start --starting-port "$port" --backend tcp --local net --init-timeout 120 \
            --timeout 150 --oversubscribe -n "$RANKS" -- "$FAULTY" flooded 0 "$T/flooded"
        job_end
    done
done

done_testing
