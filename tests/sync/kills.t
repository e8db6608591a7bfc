#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One part of mlaunch sync is killed or signalled at a random moment: 10 times, 100 in check-long.
# Expected: mlaunch ends, with a sentence if it has not copied all; a file under its final name is
# the old one or the new one; no process is left; the next run makes the trees the same, and leaves
# no temporary file. SEED=… repeats a run.
TEST_TIER=full
. "${0%/*}/trees.sh"
big_source 2 8000000
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED
ROUNDS=10
is_long && ROUNDS=100
for i in 1 2 3; do echo $i > "$S/$i"; done

# programs HOST: pid and name of each of mlaunch's processes there, the oldest first.
programs() {
    # shellcheck disable=SC2016
    on "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(readlink "$p/exe") in "$0"/*/mlaunch-*) echo "${p##*/} $(cat "$p/comm")" ;; esac
    done' "$(readlink -f "$BUILD")/launcher" 2> /dev/null | sort -n
}
# victim PART HOST: its pid.
victim() {
    case $1 in
    guard) programs "$2" | awk '/agent/ { print $1; exit }' ;;
    worker) programs "$2" | awk '/agent/ && n++ == 1 { print $1 }' ;;
    copier) programs "$2" | awk '/copier/ { print $1; exit }' ;;
    esac
}
# strike PART: fails if there is no such process yet, or no more.
strike() {
    local pid
    case $1 in
    KILL | TERM | INT | HUP) kill -"$1" "$mlaunch" ;;
    *)
        pid=$(victim "$1" "$H2")
        [ -n "$pid" ] && on "$H2" kill -KILL "$pid"
        ;;
    esac 2> /dev/null
}
# has_begun: mlaunch catches SIGTERM, as it does from its session on, and ends with a sentence then.
has_begun() {
    local name caught
    while read -r name caught; do
        [ "$name" != SigCgt: ] || { ((0x$caught >> 14 & 1)) && return; }
    done 2> /dev/null < "/proc/$mlaunch/status"
    return 1
}
# wrong_file HOST: names a file that is neither old nor new.
wrong_file() {
    # shellcheck disable=SC2016
    on "$1" sh -c 'cd "$0" || exit
        for f in big 1 2 3; do
            [ ! -e "$f" ] || grep -q "^$(sha256sum < "$f" | cut -c1-64)$" "$1" || echo "$f"
        done' "$S" "$T/sums"
}

parts=(KILL TERM INT HUP guard worker copier copier)
check "the first contents come to both hosts" sync -q -H "$H1,$H2" "$S"
for ((round = 1; round <= ROUNDS; round++)); do
    has_time || break
    sha256sum "$S"/* | cut -c1-64 > "$T/sums"
    head -c 4000000 /dev/urandom | dd of="$S/big" bs=1M seek=2 conv=notrunc status=none
    echo "$round" > "$S/2"
    sha256sum "$S"/* | cut -c1-64 >> "$T/sums"
    part=${parts[RANDOM % ${#parts[@]}]}
    moment=$((RANDOM / 25)) # milliseconds: 0 to 1.3 s; the copy takes some 1.2 s
    what="round $round: $part at $moment ms"
    slow 60 "$H1" "$H2"
    set -m # it gets the signals of a foreground job
    "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "$S" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
    wait_for "has_begun || ! kill -0 $mlaunch 2> /dev/null"
    nap $moment
    strike "$part" || what+=", which hits nothing"
    { wait "$mlaunch"; } 2> /dev/null
    status=$?
    slow 1000 "$H1" "$H2"
    if [ $status = 0 ]; then
        same_tree "$what: all has come" "$S" "$S" "$H1" "$H2"
    elif [ $status = 137 ] || grep -q '^mlaunch: ' "$T/err"; then
        pass "$what: status $status, with a sentence"
    else
        fail "$what: status $status" "without a sentence"
    fi
    for h in "$H1" "$H2"; do
        wait_for '[ -z "$(programs "$h")" ]' || fail "$what: no process is left" "$h: $(programs "$h")"
        check_output "" "$what: no half file on $h" wrong_file "$h"
    done
    check "$what: the next run ends well" sync -q -H "$H1,$H2" "$S"
    same_tree "$what: the next run makes all the same" "$S" "$S" "$H1" "$H2"
    for h in "$H1" "$H2"; do
        check_output "" \
            "$what: the next run leaves no temporary file on $h" on "$h" find "$S" -name '.mlaunch*'
    done
done
done_testing
