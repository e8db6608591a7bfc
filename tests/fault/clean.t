#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch clean for all dead jobs at once, on a machine of its own (a container): processes, by
# their job's directory or by their mark alone, job directories, segments, sockets, half copies of
# agents. Expected: removed and listed. What is alive, another user's, young, or only looks alike
# stays.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/fault.sh"

ME=$(id -u)
# sleeping SECONDS: how many processes are a sleep of so long.
sleeping() { pgrep -fc "^sleep $1\$" || :; }
# dead_job SECONDS: a job of two ranks whose agent is killed; sets $ID.
dead_job() {
    job_start -H localhost -n 2 -- sh -c "setsid sleep $1 & echo ready; exec sleep 300"
    has_said ready 2 || diag "$(cat "$T/err")"
    ID=$(job_id)
    DIR=$(echo /tmp/mlaunch-"$ME"/"$ID".*)
    must both_kill
    wait "$mlaunch" 2> /dev/null
    wait_for '[ "$(sleeping '"$1"')" = 2 ]' || fail "what a dead job's ranks have started lives"
}

dead_job 321
first=$ID first_dir=$DIR
# A job whose directory is gone is known by its mark alone.
dead_job 322
second=$ID
rm -r "$DIR"
# A live job of this user; a live and a dead one of another user.
job_start -H localhost -n 1 -- sh -c 'echo ready; exec sleep 323'
has_said ready 1
live=$mlaunch live_id=$(job_id)
user_events=$T/user.events
mkdir -m 777 "$T/user" && chmod 755 "$T"
user_job() {
    : > "$user_events" && chmod 666 "$user_events"
    : > "$T/user/out" # the last job's "ready" must not count
    as_ordinary "$MLAUNCH" --events "$user_events" -n 1 -- sh -c "echo ready; exec sleep $1" \
        > "$T/user/out" 2>&1 &
    user=$!
    wait_for 'grep -qs ready "$T/user/out"' || diag "$(cat "$T/user/out")"
}
if as_ordinary true 2> /dev/null; then
    user_job 324
    user_live=$user
    user_job 325
    # The other user's agent is also killed, with its guard: this user's clean must leave that dead
    # job alone.
    worker=$(sed -n 's/.*"connected".*"pid":\([0-9]*\).*/\1/p' "$user_events" | head -n 1)
    guard=$(awk '{ print $4 }' "/proc/$worker/stat")
    must kill -STOP "$worker" "$guard"
    must kill -KILL "$worker" "$guard"
    wait "$user" 2> /dev/null
    user_dirs=$(find "/tmp/mlaunch-$INSIDE_USER" -mindepth 1 -maxdepth 1 | sort)
fi
# Strangers that look alike: by name, by a mark that names no job directory.
bash -c 'exec sleep 321' &
same=$!
env MLAUNCH_JOB_DIR=/tmp/elsewhere sleep 326 &
odd=$!

# Files: a dead job's segment and socket; segments of an unknown job, of a live one and of
# other users; half-made copies.
: > "/dev/shm/mlaunch-$ME-$first.0.test"
: > "/dev/shm/mlaunch-$ME-0gone-gone.0.test"
: > "/dev/shm/mlaunch-$ME-$live_id.0.test"
: > "/dev/shm/other-thing"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$first_dir/socket"
cache=$HOME/.cache/mlaunch/0123456789abcdef
mkdir -p "$cache"
: > "$cache/.0123456789abcdef"
: > "$cache/mlaunch-agent"
world() { find /tmp/mlaunch-* /dev/shm "$cache" | sort; }

world > "$T/before"
keep "$MLAUNCH" clean --dry-run
check "--dry-run changes no file" sh -c \
    "find /tmp/mlaunch-* /dev/shm '$cache' | sort | cmp - '$T/before'"
check_output "2 2" "--dry-run ends no process" echo "$(($(sleeping 321) - 1)) $(sleeping 322)"
keep "$MLAUNCH" clean --dry-run --json
cp "$T/out" "$T/dry.json"
check_output "directory process segment" "--json names what is left of the first job" json_show \
    '(lambda host: host["left"] == [] and tuple(sorted({r["kind"] for r in host["removed"]
        if r["job"] == w[0] and r["kind"] != "cgroup"})))(j["hosts"][0])' "$T/dry.json" "$first"
check_output "2" "--json names the second job's processes by their mark" json_show \
    'sum(r["kind"] == "process" and r["job"] == w[0] for r in j["hosts"][0]["removed"])' \
    "$T/dry.json" "$second"

keep "$MLAUNCH" clean
check_match "job $first: directory $first_dir has been removed" "$T/out" \
    "clean tells of the directory"
check_output "2 2" "clean tells of each process of both jobs" echo \
    "$(grep -c "job $first: process .* has been ended" \
    "$T/out") $(grep -c "job $second: process .* has been ended" "$T/out")"
check_output "1 0" "the dead jobs' processes are gone, whoever has the same name lives" echo \
    "$(sleeping 321) $(sleeping 322)"
check "a process that only has the same name lives" kill -0 "$same"
check "a process whose mark names no job directory lives" kill -0 "$odd"
check_status 1 "the directory is gone, with the socket in it" test -e "$first_dir"
check_status 1 "the dead job's segment is gone" test -e "/dev/shm/mlaunch-$ME-$first.0.test"
check "a segment of a job that nobody knows stays while it is young" test -e \
    "/dev/shm/mlaunch-$ME-0gone-gone.0.test"
check "a half copy stays, while it is young" test -e "$cache/.0123456789abcdef"
check "the live job lives" kill -0 "$live"
check_output 1 "the live job's rank lives" sleeping 323
check_output "nothing is left of dead jobs" "a second clean finds nothing" "$MLAUNCH" clean
# A link to a job directory that went with its --tmpdir, and the draft of a killed mlaunch's entry.
must ln -s "$T/gone/mlaunch-$ME/0linked-1.0.aaaaaa" "/tmp/mlaunch-$ME/0linked-1.0.aaaaaa"
must ln -s "$T/gone/mlaunch-$ME/0linked-2.0.aaaaaa" "/tmp/mlaunch-$ME/0linked-2.0.aaaaaa"
must touch "/tmp/mlaunch-$ME/run.0linked-2.new"
check "clean of a job whose directory is gone" "$MLAUNCH" clean 0linked-1
check_match "job 0linked-1: link /tmp/mlaunch-$ME/0linked-1.0.aaaaaa has been removed" "$OUT" \
    "clean says that it removes the link to a directory that is gone"
check_status 1 \
    "the link to a directory that is gone is removed" test -L "/tmp/mlaunch-$ME/0linked-1.0.aaaaaa"
check "another job's link stays" test -L "/tmp/mlaunch-$ME/0linked-2.0.aaaaaa"
check_output "nothing is left of dead jobs" "a young link may be another container's" "$MLAUNCH" clean

# An hour later. (What a file's status change says can't be set back, so the program's clock is
# moved.)
later() {
    printf '%s\n' '#include <sys/time.h>' '#include <time.h>' 'time_t time(time_t *t)' \
        '{ struct timeval v; gettimeofday(&v, 0); return t ? (*t = v.tv_sec + 3600) : v.tv_sec + 3600; }' > "$T/later.c"
    "$CC" -shared -fPIC -o "$T/later.so" "$T/later.c"
    run env LD_PRELOAD="$T/later.so" "$MLAUNCH" "$@"
}
if [ "$SANITIZE" = no ]; then
    later clean
    check_status 1 "an hour later the unknown job's segment is removed" test -e \
        "/dev/shm/mlaunch-$ME-0gone-gone.0.test"
    check_status 1 "an hour later the unknown job's link is removed" test -L \
        "/tmp/mlaunch-$ME/0linked-2.0.aaaaaa"
    check_status 1 "an hour later the draft of an entry is removed" test -e \
        "/tmp/mlaunch-$ME/run.0linked-2.new"
    check_status 1 \
        "an hour later the half copy is removed" test -e "$cache/.0123456789abcdef"
else
    skip "an hour later the unknown job's things are removed" "a sanitizer wants to be loaded first"
fi
check "the live job's segment is there" test -e "/dev/shm/mlaunch-$ME-$live_id.0.test"
check "another program's segment is there" test -e /dev/shm/other-thing
check "an agent's whole copy is there" test -e "$cache/mlaunch-agent"
if [ -n "${user_live:-}" ]; then
    check "another user's live job lives" kill -0 "$user_live"
    check_output 1 "another user's rank lives" sleeping 324
    check_output "$user_dirs" "another user's directories are there, the dead job's too" sh -c \
        "find '/tmp/mlaunch-$INSIDE_USER' -mindepth 1 -maxdepth 1 | sort"
    check "the other user's own clean succeeds" as_ordinary env HOME=/tmp "$MLAUNCH" clean
    check_output 1 "the other user's clean removes his dead job" sh -c \
        "find '/tmp/mlaunch-$INSIDE_USER' -mindepth 1 -maxdepth 1 -type d | wc -l"
    check "the other user's clean leaves his live job" kill -0 "$user_live"
    must kill -TERM "$user_live"
    wait "$user_live"
else
    skip "another user's jobs are left alone" "no other user may be taken on here"
fi
must kill "$same" "$odd"
must kill -TERM "$live"
wait "$live"
done_testing
