#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A detached job whose log's file system is full: at the start nothing is started, and one that fills
# it later ends with a last line all the same.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
unshare --mount true 2> /dev/null || skip_all "no file system can be mounted here"

# full SCRIPT: runs the script where the directory of logs has 64 KiB; it prints the log at the end.
full() {
    XDG_STATE_HOME=$T/state unshare --mount sh -c 'set -e
        mkdir -p "$XDG_STATE_HOME"
        mount -t tmpfs -o size=64k none "$XDG_STATE_HOME"
        '"$1"
}
# shellcheck disable=SC2016
check_error 125 "cannot write .*: No space left on device" \
    "a job is refused if the disk is full at its start" full '
    head -c 1000000 /dev/zero > "$XDG_STATE_HOME/filler" 2> /dev/null || true
    "$MLAUNCH" --detach -- true'
# shellcheck disable=SC2016
late='
    id=$("$MLAUNCH" --detach -n 1 -- sh -c "head -c 300000 /dev/zero | tr \\\\0 x; exit 3" 2> /dev/null)
    "$MLAUNCH" logs -f "$id"'
check "a job runs that fills the disk" full "$late"
check_match 'mlaunch: lines are missing before this one: No space left on device$' "$OUT" \
    "the log says what is missing"
check_match 'mlaunch: job .* has ended with status [0-9]+ after' <(tail -n 1 "$OUT") \
    "the last line tells of the end"
done_testing
