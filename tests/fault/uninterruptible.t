#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A rank hangs in the kernel and can't be ended, not even by SIGKILL. Expected: the job ends all the
# same, says which process that is and why; mlaunch clean finds it later, and says so too, until it
# is gone.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/fault.sh"

mkdir "$T/silent"
python3 "$SOURCE/tests/fault/silent_fuse.py" "$T/silent" > "$T/fuse" 2>&1 &
fuse=$!
at_exit umount -l "$T/silent"
at_exit eval "kill $fuse 2> /dev/null"
wait_for 'grep -q mounted "$T/fuse" || ! kill -0 $fuse 2> /dev/null'
grep -q mounted "$T/fuse" || {
    skip "mlaunch ends, with SIGTERM's status" "no FUSE here: $(tail -n 1 "$T/fuse")"
    TEST_CLEANUP=() # nothing is mounted
    done_testing
}

job_start -H localhost --grace 1 -n 2 -- sh -c \
    '[ $MLAUNCH_RANK = 0 ] && exec sleep 300; exec cat '"$T/silent/file"
wait_for 'grep -q asked "$T/fuse"'
ID=$(job_id)
pid=$(pgrep -fx "cat $T/silent/file")
must kill -TERM "$mlaunch"
run eval 'wait "$mlaunch"'
cp "$T/err" "$ERR"
check_output 143 "mlaunch ends, with SIGTERM's status" echo "$status"
check_no_match "was lost" "$T/err" "the agent gives up, and is not lost"
check_match "process $pid could not be ended: pid $pid \(cat\) is in uninterruptible sleep" \
    "$T/err" "mlaunch names the process and says why it stays"
check_output D \
    "the process is still there, uninterruptible" sh -c "sed 's/.*) //; s/ .*//' /proc/$pid/stat"
check_error 1 \
    "job $ID: process $pid \(cat\) is left: pid $pid \(cat\) is in uninterruptible sleep" \
    "clean finds the process, and says why it stays" "$MLAUNCH" clean "$ID"
must kill "$fuse"
wait_for '! kill -0 "$pid" 2> /dev/null'
check "clean succeeds once the system lets the process go" "$MLAUNCH" clean "$ID"
nothing_left "nothing is left in the end"
done_testing
