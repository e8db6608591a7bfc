#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Warning signals of a real Slurm, and a job that is suspended for longer than the silence after
# which a channel is given up.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1

# Warning signals: to the script, which is mlaunch, and to the step, which is every process.
for batch_only in --batch ''; do
    fresh_mark
    batch --nodes 2 -x "$mark" run --output raw -- sh -c \
        'trap "echo \$MLAUNCH_RANK warned; exit 0" USR1; echo ready; while :; do sleep 0.1; done'
    wait_for '[ "$(grep -c ready "$out" 2> /dev/null)" = 2 ]' ||
        fail "ranks start for SIGUSR1 ${batch_only:---steps}" "$(cat "$out")"
    # shellcheck disable=SC2086
    on_login scancel $batch_only --signal=USR1 "$job"
    ends COMPLETED 0:0 "SIGUSR1 ${batch_only:---steps} ends nobody"
    check_output "2" "both ranks hear SIGUSR1 ${batch_only:---steps}" grep -c warned "$out"
done

# scancel reaches every process of the job, mlaunch and its agents included. A rank that writes its
# checkpoint then is asked once, and has its grace; nothing is said to be lost.
fresh_mark
batch --nodes 2 -x "$mark" --grace 20 -- "$SOURCE/tests/batch/signal_log.py" "$T/signals"
wait_for 'grep -q ready "$T/signals.0" && grep -q ready "$T/signals.1"' 2> /dev/null ||
    fail "ranks start for scancel" "$(cat "$out")"
on_login scancel "$job"
ends CANCELLED "$by_signal" "scancel ends the job"
for rank in 0 1; do
    check_output $'1\nsaved' "rank $rank gets SIGTERM once, and saves" \
        sh -c 'grep -c SIGTERM "$1"; tail -n 1 "$1"' sh "$T/signals.$rank"
done
no_survivors "nothing is left" "$mark"
check_match '^mlaunch: Slurm has ended the job .scancel or its time limit.' "$out" \
    "the job's output says that Slurm has ended it"
check_status 1 "the job's output names nothing as lost" grep -E "was lost|was killed by" "$out"

# Suspended for longer than the silence after which a channel is given up; the next jobs run
# meanwhile.
fresh_mark
batch --nodes 2 -x "$mark" run --output raw -- sh -c \
    'echo ready; while [ ! -e '"$T"'/resumed ]; do sleep 0.1; done; echo went on'
wait_for '[ "$(grep -c ready "$out" 2> /dev/null)" = 2 ]' ||
    fail "ranks start for a suspension" "$(cat "$out")"
check "a job is suspended" on_login scontrol suspend "$job"
suspended=$job suspended_out=$out since=$EPOCHSECONDS
# A shell whose child was stopped between vfork and exec waits for it in state D.
stopped() { for pid in $(survivors "$mark" | cut -d' ' -f1); do sed 's/.*) //; s/ .*//' \
    "/proc/$pid/stat"; done 2> /dev/null | sort -u | tr -d 'D\n'; }
wait_for '[ "$(stopped)" = T ]'
check_output T "all processes of the suspended job are stopped" stopped

job=$suspended out=$suspended_out
wait_for '[ $((EPOCHSECONDS - since)) -gt 12 ]'
check "the suspended job is resumed" on_login scontrol resume "$job"
touch "$T/resumed"
ends COMPLETED 0:0 "the resumed job comes to a good end"
check_output 2 "both ranks of the resumed job went on" grep -c 'went on' "$out"
done_testing
