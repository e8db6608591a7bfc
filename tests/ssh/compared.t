#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configurations of ssh, made at random: mlaunch does with each what ssh does. By the logs of real
# sshds, it connects to the same addresses and ports, as the same user, offers the same keys in the
# same order, and is let in or not. 60 of them, and 300 in check-long, of another seed each time.
# SEED=… COUNT=… repeats a run. What differs is listed; the first such configuration stays in
# $BUILD/tests/ssh/differing, with what the two did.
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "$TEST_LIB/../ssh/pool.sh"
needs ssh ssh-agent ssh-add ssh-keygen
reason=$("$TEST_LIB/netns-hosts" usable 2>&1) || skip_all "$reason"
ROOM=$SOURCE/tests/ssh
LAB=$T/lab # stays visible in a lab, with all below it
COUNT=${COUNT:-60}
SEED=${SEED:-1}
if is_long; then
    COUNT=300
    [ "$SEED" != 1 ] || SEED=$RANDOM
fi
echo "# SEED=$SEED COUNT=$COUNT"

# laboratories MLAUNCH RESULTS: the comparisons, in as many labs as keep the processors busy.
laboratories() {
    local number status=0 pids=() pid of=$(($(nproc) * 2))
    [ "$of" -le 8 ] || of=8
    mkdir "$2"
    for ((number = 0; number < of; number++)); do
        "$ROOM/lab" "$LAB" python3 -B "$ROOM/compare.py" "$LAB" "$LAB/cases" "$2" "$1" \
            "$number" "$of" > "$2.$number.log" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
    [ "$status" = 0 ] || cat "$2".*.log >&2
    return "$status"
}
differences() { python3 -B "$ROOM/differences.py" "$LAB/cases" "$@"; }

mkdir "$LAB"
export POOL_SSHD=''
must pool_make "$LAB"
mkdir "$LAB/cases"
check "configurations are made" python3 -B "$ROOM/configurations.py" "$SEED" "$COUNT" "$LAB" "$LAB/cases"
diag "$(tr '\n' ' ' < "$OUT")"
if [ "$COUNT" -ge 300 ]; then
    tr ' ' '\n' < "$OUT" | awk -F: '$2 < 5' > "$T/rare"
    check_output "" "every keyword is in five of them at least" cat "$T/rare"
fi

check "all are tried" laboratories "$MLAUNCH" "$LAB/results"
differences "$LAB/results" > "$T/differences"
summary=$(tail -n 1 "$T/differences")
if [ "$summary" = "0 of $COUNT differ" ]; then
    pass "mlaunch does what ssh does"
else
    fail "mlaunch does what ssh does" "$summary, SEED=$SEED COUNT=$COUNT"
    sed 's/^/#   /' "$T/differences"
    differences "$LAB/results" kinds | sed 's/^/#   /'
    first=$(sed -n '1s/ .*//p' "$T/differences")
    if [ -d "$LAB/cases/$first" ]; then
        rm -rf "$BUILD/tests/ssh/differing"
        mkdir -p "$BUILD/tests/ssh"
        cp -r "$LAB/cases/$first" "$BUILD/tests/ssh/differing"
        cp "$LAB/results/$first.json" "$BUILD/tests/ssh/differing/result.json"
        diag "the first one is in $BUILD/tests/ssh/differing"
    fi
fi
done_testing
