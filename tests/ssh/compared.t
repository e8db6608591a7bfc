#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configurations of ssh, made at random: mlaunch does with each what ssh does. By the logs of real
# sshds it connects to the same addresses and ports, as the same user, offers the same keys in the
# same order, and is let in or not. 60 of them, in check-long 300; SEED=… COUNT=… for others. With
# DEBIANS=1 once more each with Debian 13's ssh, and with the sshd of Debian 11 and of Debian 13.
# What differs is listed; the first such configuration stays in $BUILD/tests/ssh/differing, with
# what the two did.
TEST_TIER=full
TEST_LIMIT=1800
. "${0%/*}/../lib/test.sh"
. "${0%/*}/pool.sh"
. "${0%/*}/other_debian.sh"
needs ssh ssh-agent ssh-add ssh-keygen
[ -e "$BUILD/launcher/mlaunch-ssh.so" ] || skip_all "built without SSH"
reason=$("$TEST_LIB/netns-hosts" usable 2>&1) || skip_all "$reason"
ROOM=$SOURCE/tests/ssh
LAB=$T/lab # stays visible in a lab, with all below it
COUNT=${COUNT:-60} SEED=${SEED:-1}
! is_long || COUNT=300
echo "# SEED=$SEED COUNT=$COUNT"

# laboratories CASES RESULTS: the comparisons, in as many labs as keep the processors busy.
laboratories() {
    local number status=0 pids=() pid of=$(($(nproc) * 2))
    [ "$of" -le 8 ] || of=8
    for ((number = 0; number < of; number++)); do
        "$ROOM/lab" "$LAB" python3 -B "$ROOM/compare.py" "$LAB" "$1" "$2" "$MLAUNCH" "$number" "$of" \
            > "$2.$number.log" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
    [ "$status" = 0 ] || cat "$2".*.log >&2
    return "$status"
}

# keep CASES RESULTS NAME: for a look at it.
keep() {
    local to=$BUILD/tests/ssh/differing
    [ -d "$1/$3" ] || return 0
    rm -rf "$to"
    mkdir -p "${to%/*}"
    cp -r "$1/$3" "$to"
    cp "$2/$3.json" "$to/result.json"
    diag "the first one is in $to"
}

# compared NAME-OF-SSH-AND-SSHD
compared() {
    local cases=$LAB/cases results=$LAB/results summary
    rm -rf "$cases" "$results"
    mkdir "$cases" "$results"
    check "configurations are made for $1" \
        python3 -B "$ROOM/configurations.py" "$SEED" "$COUNT" "$LAB" "$cases"
    diag "$(tr '\n' ' ' < "$OUT")"
    if [ "$COUNT" -ge 300 ]; then
        tr ' ' '\n' < "$OUT" | awk -F: '$2 < 5' > "$T/rare"
        check_output "" "every keyword is in five of them at least, for $1" cat "$T/rare"
    fi
    check "all are tried with $1" laboratories "$cases" "$results"
    python3 -B "$ROOM/differences.py" "$cases" "$results" > "$T/differences"
    summary=$(tail -n 1 "$T/differences")
    if [ "$summary" = "0 of $COUNT differ" ]; then
        pass "mlaunch does what ssh does, with $1"
        return
    fi
    fail "mlaunch does what ssh does, with $1" "$summary, SEED=$SEED COUNT=$COUNT"
    sed 's/^/#   /' "$T/differences"
    python3 -B "$ROOM/differences.py" "$cases" "$results" kinds | sed 's/^/#   /'
    keep "$cases" "$results" "$(sed -n '1s/ .*//p' "$T/differences")"
}

mkdir "$LAB"
must pool_make "$LAB"
compared "this machine's ssh and sshd"
[ -n "${DEBIANS:-}" ] || done_testing
if other_debian trixie "$LAB/13" "Debian 13's ssh and sshd"; then
    LAB_SSH=$LAB/13/bin/ssh compared "Debian 13's ssh"
    # Its sshd would keep a client out for a while that is refused often.
    LAB_SSHD="$LAB/13/bin/sshd -o PerSourcePenalties=no" LAB_LIBEXEC=$LAB/13/libexec \
        compared "Debian 13's sshd"
fi
if other_debian bullseye "$LAB/11" "Debian 11's sshd"; then
    # Started anew for each connection it would have this machine's libraries.
    LAB_SSHD="$LAB/11/bin/sshd -r" compared "Debian 11's sshd"
fi
done_testing
