#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts that lie to mlaunch sync (liar.py): 20 pairs, and 200 in check-long, each with a seed of its
# own. Expected: mlaunch ends in time, without a crash; nothing is written outside, nothing that a
# host says controls the terminal or begins a line of its own. SEED=… repeats one of them.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
FIRST=${SEED:-1}
LAST=${SEED:-20}
! is_long || LAST=200
# A turn begins anywhere, since it may not come to the last one.
[ -z "${MLAUNCH_TEST_SECONDS:-}" ] || FIRST=$((RANDOM % LAST + 1)) LAST=$((FIRST + LAST - 1))
S=$T/src
mkdir -p "$S/sub"
for f in a sub/b sub/c; do head -c 300000 /dev/zero | tr '\0' "${f: -1}" > "$S/$f"; done
before=$(find "$S" -printf '%p %m %T@ %s\n' | sort | sha256sum)
bad=
for ((seed = FIRST; seed <= LAST; seed++)); do
    has_time || break
    options=()
    case $((seed % 5)) in
    1) options=(--delete) ;;
    2) options=(--check --checksum) ;;
    3) options=(--dry-run --json) ;;
    esac
    timeout 30 "$MLAUNCH" sync --agent-command "python3 $SOURCE/tests/sync/liar.py $seed-{host}" \
        -H x1,x2 --to "$T/dst" "${options[@]}" "$S" > "$T/out" 2> "$T/err"
    status=$?
    case $status in
    0 | 1 | 125) ;;
    *) bad+=" seed $seed: status $status: $(head -c 600 "$T/err")" ;;
    esac
    [ $status = 0 ] || grep -q . "$T/err" "$T/out" || bad+=" seed $seed: status $status without a word"
    # shellcheck disable=SC2063
    if LC_ALL=C grep -aq $'[\001-\010\013-\037\177]' "$T/out" "$T/err" ||
        grep -av '^mlaunch: ' "$T/err" | grep -q . || grep -aq '^mlaunch: error: host x: run' "$T/err"; then
        bad+=" seed $seed prints: $(head -c 600 "$T/err" | cat -v)"
    fi
done
check_output "" "mlaunch bears $((seed - FIRST)) pairs of hosts that lie, from seed $FIRST on" echo "$bad"
check_output "$before" "the source is as it was" sh -c \
    'find "$0" -printf "%p %m %T@ %s\n" | sort | sha256sum' "$S"
check_status 1 "nothing is written here" test -e "$T/dst"
done_testing
