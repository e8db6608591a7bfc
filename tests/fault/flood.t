#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Strangers who only connect, as fast as they can: 1, 2 or 8 processes, to the coordinator's port,
# before the ranks call ml_init, while some wait in it for the others, and after all have called it,
# and to the port of a rank's own listener; as the job's own user and as another one. Expected: the
# job continues and ends as it should.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_PARTS=3
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/flooders.sh"
RUNS=1
is_long && RUNS=10
RANKS=4
# Where the other user can execute the flooder, and create a file.
chmod 711 "$T"
mkdir -m 1777 "$T/public"
cp "$BUILD/tests/fault/flooder" "$T/flooder"
FLOODED=$T/public/flooded
printf '\0' > "$T/byte"
chmod 644 "$T/byte"

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

# flood_start USER COUNT PORT [FILE [HELLO]]: USER is own or another, FILE and HELLO as of flooder.
# What is tried is what connections do, not who gets the processors: the flooders leave those to the
# job.
flood_start() {
    local i as=(nice -n 19)
    [ "$1" = own ] || as+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    for ((i = 0; i < $2; i++)); do
        "${as[@]}" "$T/flooder" "$3" "${4-$FLOODED}" 200 ${5:+"$5"} &
        flooders+=($!)
    done
}

# flood_coordinator USER COUNT…: the ranks that wait for the flood do so before ml_init.
flood_coordinator() {
    local user=$1 count when run first
    shift
    for count in "$@"; do
        for when in before during after; do
            for ((run = 1; run <= RUNS; run++)); do
                in_part "$run" || continue
                name="$count flooders of $user user $when ml_init, run $run"
                rm -f "$FLOODED"
                port_choose
                case $when in
                before) first=0 ;;
                during) first=$((RANKS / 2)) ;;
                after) first=$RANKS ;;
                esac
                [ "$when" != before ] || flood_start "$user" "$count" "$port"
                job_start --port "$port" --init-timeout 120 --timeout 150 --oversubscribe \
                    -n "$RANKS" -- "$FAULTY" flooded "$first" "$FLOODED"
                has_said ready "$RANKS" || fail "$name: the ranks start" "$(cat "$T/err")"
                [ "$when" = before ] || flood_start "$user" "$count" "$port"
                job_end "$name"
            done
        done
    done
}

# flood_stay USER: more strangers than may wait (1024, and two for each rank), who stay. Each sends
# a byte, as the kernel keeps those that say nothing.
flood_stay() {
    name="strangers of $1 user who stay"
    rm -f "$FLOODED"
    port_choose
    job_start --port "$port" --init-timeout 120 --timeout 150 --oversubscribe -n "$RANKS" -- \
        "$FAULTY" flooded 0 "$FLOODED"
    has_said ready "$RANKS" || fail "$name: the ranks start" "$(cat "$T/err")"
    flood_start "$1" 2 "$port" "" "$T/byte"
    wait_for "grep -q 'too many connections' '$T/err'"
    check_match 'refused a connection from 127\.0\.0\.1:.*too many connections are in the handshake' \
        "$T/err" "$name: they are reported"
    : > "$FLOODED"
    job_end "$name"
}

# flood_rank USER COUNT…: a rank's listener is there while a group is joined, in ml_init and in each
# ml_split.
flood_rank() {
    local user=$1 count run
    shift
    for count in "$@"; do
        for ((run = 1; run <= RUNS; run++)); do
            in_part "$run" || continue
            name="$count flooders of $user user at a rank's port, run $run"
            : > "$FLOODED" # nothing is waited for
            port_choose
            flood_start "$user" "$count" $((port + 2)) # rank 1's
            job_start --starting-port "$port" --backend tcp --local net --init-timeout 120 \
                --timeout 150 --oversubscribe -n "$RANKS" -- "$FAULTY" flooded 0 "$FLOODED"
            job_end "$name"
        done
    done
}

flood_coordinator own 1 2 8
flood_stay own
flood_rank own 1 2 8
if [ "$(id -u)" -eq 0 ]; then
    others=(8)
    ! is_long || others=(1 2 8)
    flood_coordinator another "${others[@]}"
    flood_stay another
    flood_rank another "${others[@]}"
else
    skip "flooders of another user end no job" "this is not root, and cannot start them"
fi
done_testing
