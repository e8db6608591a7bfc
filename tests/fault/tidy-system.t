#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What lives is taken for dead, on a machine of its own (a container): a tidy system removes what is
# old in /tmp, somebody removes all job directories, and mlaunch clean runs in another container
# with the same /dev/shm. Expected: what is locked stays, ps and clean leave living ranks alone, and
# a directory that is gone is made again for the processes that start next.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/fault.sh"

ME=$(id -u)
cp "$SOURCE/tests/fault/tidy_system.py" "$T/tidy_system.py"
# tidy: as systemd-tmpfiles does with a /tmp in which all is old.
tidy() { python3 "$T/tidy_system.py" /tmp "$T"; }
sleeping() { pgrep -fc "^sleep $1\$" || :; }
# lives_on SECONDS NAME: neither ps nor clean takes the ranks for somebody's who is gone.
lives_on() {
    run "$MLAUNCH" ps
    cat "$OUT" "$ERR" > "$T/said"
    check_no_match 'left of a job that is gone' "$T/said" "$2: ps names no rank as left over"
    check_output "nothing is left of dead jobs" "$2: clean finds nothing" "$MLAUNCH" clean
    check_output 2 "$2: the ranks live after clean" sleeping "$1"
}
# later: mlaunch an hour later.
printf '%s\n' '#include <sys/time.h>' '#include <time.h>' 'time_t time(time_t *t)' \
    '{ struct timeval v; gettimeofday(&v, 0); return t ? (*t = v.tv_sec + 3600) : v.tv_sec + 3600; }' > "$T/later.c"
must "$CC" -shared -fPIC -o "$T/later.so" "$T/later.c"
later() { env LD_PRELOAD="$T/later.so" "$MLAUNCH" "$@"; }

job_start -H localhost --name "aged-$$" -n 2 -- sh -c 'echo ready; exec sleep 331'
has_said ready 2 || diag "$(cat "$T/err")"
DIR=$(echo /tmp/mlaunch-"$ME"/"$(job_id)".*)
must tidy
check "a tidy system leaves the directory of a live job alone" test -e "$DIR/job.json"
check "a tidy system leaves the entry of a live mlaunch alone" test -e \
    "/tmp/mlaunch-$ME/run.$(job_id)"
lives_on 331 "after a tidy system"
run "$MLAUNCH" ps
check_match "$(job_id)" "$OUT" "ps has the job after a tidy system"
check "the job is found by its name after a tidy system" "$MLAUNCH" kill "aged-$$"
wait "$mlaunch" 2> /dev/null
nothing_left "nothing is left of the job that was tidied around"

job_start -H localhost -n 2 -- sh -c 'setsid sleep 332 & echo ready; exec sleep 300'
has_said ready 2 || diag "$(cat "$T/err")"
DIR=$(echo /tmp/mlaunch-"$ME"/"$(job_id)".*)
must both_kill
wait "$mlaunch" 2> /dev/null
must tidy
check_status 1 "a tidy system removes the directory of a dead job" test -e "$DIR"
run "$MLAUNCH" ps
cat "$OUT" "$ERR" > "$T/said"
check_match 'left of a job that is gone' "$T/said" "ps names the ranks of a dead job as left over"
check "clean ends the ranks of a dead job" "$MLAUNCH" clean
check_output 0 "the ranks of a dead job are gone" sleeping 332

# --- all directories are removed, with no look at locks ---

job_start -H localhost -n 2 -- sh -c 'echo ready; exec sleep 333'
has_said ready 2 || diag "$(cat "$T/err")"
DIR=$(echo /tmp/mlaunch-"$ME"/"$(job_id)".*)
SEGMENT=/dev/shm/mlaunch-$ME-${DIR##*/}.g1.1.test
must touch "$SEGMENT"
must rm -r "/tmp/mlaunch-$ME"
lives_on 333 "without its directory"
if [ "$SANITIZE" = no ]; then
    check "clean succeeds an hour after the directories went" later clean
    check_output 2 "the ranks live an hour after the directories went" sleeping 333
    check "a live job's segment stays an hour after the directories went" test -e "$SEGMENT"
fi
must kill -INT "$mlaunch"
wait "$mlaunch" 2> /dev/null
nothing_left "nothing is left of the job without a directory"
check_status 1 "the segment of the job without a directory is gone" test -e "$SEGMENT"

# The first process of each run removes all.
cat > "$T/again" << 'SH'
[ "$MLAUNCH_RESTART" = 1 ] || { rm -r "${MLAUNCH_JOB_DIR%/*}"; exit 3; }
exec "$@"
SH
check "a job of --restarts starts again without its directory" \
    "${JOB[@]}" -H localhost -n 1 --restarts 1 -- sh "$T/again" "$BUILD/examples/hello"
nothing_left "nothing is left of the job that was started again"

# --- another container has the same /dev/shm ---

job_start -H localhost -n 2 -- sh -c 'echo ready; exec sleep 334'
has_said ready 2 || diag "$(cat "$T/err")"
DIR=$(echo /tmp/mlaunch-"$ME"/"$(job_id)".*)
SEGMENT=/dev/shm/mlaunch-$ME-${DIR##*/}.g1.1.test
must touch "$SEGMENT" "/dev/shm/mlaunch-$ME-0other-1.0.aaaaaa.test"
if [ "$SANITIZE" = no ]; then
    check "clean succeeds in another container with the same /dev/shm" unshare --mount --pid --fork \
        --mount-proc sh -c 'mkdir "$0" && mount --bind "$0" "/tmp/mlaunch-$1" && shift && "$@"' \
        "$T/other-tmp" "$ME" env LD_PRELOAD="$T/later.so" "$MLAUNCH" clean
    check "a segment stays that a live job of another container uses" test -e "$SEGMENT"
    check_status 1 "a segment that nobody uses is removed" test -e \
        "/dev/shm/mlaunch-$ME-0other-1.0.aaaaaa.test"
fi
must kill -INT "$mlaunch"
wait "$mlaunch" 2> /dev/null
nothing_left "nothing is left of the job of the first container"
check_status 1 "the segment is gone with its job" test -e "$SEGMENT"

# --- a process takes another one's place ---

must touch "$T/stop" && must rm "$T/stop"
job_start -H localhost -n 2 --oversubscribe --elastic 1 --restarts 1 --output raw -- \
    "$BUILD/tests/fault/survivor" "$T/stop"
has_said 'membership 0' 2 || diag "$(cat "$T/err")"
must rm -r "/tmp/mlaunch-$ME"
must kill -KILL "$(rank_pid 1)"
check "another process takes a rank's place without a directory" \
    has_said 'membership 1, 2 ranks, came 1$' 1
must touch "$T/stop"
zoo_end 0 "a replaced rank without a directory"
done_testing
