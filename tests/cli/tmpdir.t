#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where a job's files are: in --tmpdir, else $TMPDIR, else /tmp. ps, kill and clean find the job with
# another $TMPDIR, also where /tmp is read-only.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

NAME=test-tmpdir-$$
SHARED=/dev/shm/mlaunch-tmpdir-$$ # outlives a closed /tmp
mkdir "$T/given" "$T/own"
unset TMPDIR
job_end() { env -u TMPDIR "$MLAUNCH" kill -q "$NAME" 2> /dev/null; }
at_exit job_end
# job [OPTION…]: a job in the background; its id is in $ID.
job() { ID=$("${JOB[@]}" --detach -q --name "$NAME" "$@" -- sleep 1000); }
# in_use DIRECTORY: how many directories of the job are there.
in_use() { find "$1" -path "*/mlaunch-*/$ID.0.*" -prune | wc -l; }

job --tmpdir "$T/given"
check_output 1 "--tmpdir has the job's directory" in_use "$T/given"
check "ps finds the job in --tmpdir" "$MLAUNCH" ps "$NAME"
check_match "^$NAME +$ID .* 1/1 +live" "$OUT" "ps has the rank of a job in --tmpdir"
check_match " +1 +sleep\$" "$OUT" "ps has the rank's processes of a job in --tmpdir"
check_error 125 "your job $ID runs here under the name $NAME" \
    "the name of a job in --tmpdir is taken" "${JOB[@]}" --name "$NAME" -- true
check "kill ends a job in --tmpdir" "$MLAUNCH" kill "$NAME"
wait_for '[ "$(find "$T/given" /tmp/mlaunch-"$(id -u)" -name "$ID.*" 2> /dev/null | wc -l)" = 0 ]'
check_output "" "nothing is left in --tmpdir" ls "$T/given"

TMPDIR=$T/own job
check_output 1 "TMPDIR has the job's directory" in_use "$T/own"
check "ps without TMPDIR finds the job" "$MLAUNCH" ps --json "$NAME"
check_match "\"directory\": \"$T/own/mlaunch-" "$OUT" \
    "ps without TMPDIR says where the job's directory is"
# Both are stopped first, so that neither cleans up after the other.
read -r agent guard < <(sed -n 's/.*"\(agent\|guard\)_pid": \([0-9]*\).*/\2/p' "$OUT" | xargs)
must kill -STOP "$agent" "$guard"
must kill -KILL "$agent" "$guard"
wait_for '"$MLAUNCH" ps "$NAME" 2> /dev/null | grep -q stale'
check "clean without TMPDIR takes the dead job" "$MLAUNCH" clean "$ID"
check_output "" "clean without TMPDIR removes what is left in TMPDIR" ls "$T/own"
check_output "" "clean without TMPDIR removes the link to what is left" \
    find "/tmp/mlaunch-$(id -u)" -name "$ID.*"

check_output /tmp "a TMPDIR that is no directory is left aside" sh -c \
    'TMPDIR=/nowhere "$@"' sh "${JOB[@]}" -- sh -c 'echo "${MLAUNCH_JOB_DIR%/mlaunch-*}"'
check_error 125 "cannot make $T/none/mlaunch-[0-9]+: No such file or directory .--tmpdir names another place" \
    "a --tmpdir that is missing is refused" "${JOB[@]}" --tmpdir "$T/none" -- true
check_error 125 "--tmpdir must be an absolute path of at most 80 bytes" \
    "a relative --tmpdir is refused" "${JOB[@]}" --tmpdir here -- true

if unshare --mount true 2> /dev/null; then
    # closed COMMAND…: where /tmp is read-only.
    closed() {
        # shellcheck disable=SC2016
        unshare --mount sh -ec '"$0" /tmp mode=1777 && mount -o remount,ro /tmp && exec "$@"' \
            "$TEST_LIB/cover" "$@"
    }
    check_error 125 "cannot make /tmp/mlaunch-[0-9]+: Read-only file system .--tmpdir names another place, or TMPDIR" \
        "a read-only /tmp is refused with what to do" closed "$MLAUNCH" -- true
    mkdir "$SHARED"
    # shellcheck disable=SC2016
    check "a job runs with a read-only /tmp and a TMPDIR" \
        closed sh -c 'TMPDIR=$1 "$MLAUNCH" -n 1 -q --agent "$AGENT" -- sh -c "
        env -u TMPDIR $MLAUNCH ps -v"' sh "$SHARED"
    check_match "^ *[0-9a-z-]+ .* 1/1 +live" "$OUT" \
        "ps without TMPDIR finds the job beside a read-only /tmp"
    check_output "" "nothing is left in TMPDIR beside a read-only /tmp" ls "$SHARED"
    rmdir "$SHARED"
else
    skip "a read-only /tmp is refused with what to do" "no file system can be mounted here"
fi
done_testing
