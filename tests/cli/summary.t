#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --summary: what ranks and hosts have used; and what the host knows of why a rank failed (memory
# that ran out, a file system without free space).
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2
# line PATTERN NAME: a line of standard error matches.
line() { if grep -qE "$1" "$ERR"; then pass "$2"; else fail "$2" "$(cat "$ERR")"; fi; }

run "$MLAUNCH" --summary --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" -n 4 -- sh -c '
    [ "$RANK" != 1 ] || { x=$(head -c 60000000 /dev/zero | tr "\0" x); : "$x"; }
    [ "$RANK" != 3 ] || { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }
    exit 0'
line '^mlaunch: summary: 4 of 4 ranks ended, 0 failed; .* most memory: rank 1, [0-9.]+ MiB$' \
    "the summary has a line for all ranks"
line '^rank +host +elapsed +user +system +memory +status$' "the summary has titles"
line "^ +1 +$H1 +[0-9.]+ s +[0-9.]+ s +[0-9.]+ s +([6-9][0-9]|[1-9][0-9]{2})\.[0-9] MiB +0\$" \
    "the summary has a rank's peak of memory"
line "^ +3 +$H2 +[0-9.]+ s +(0\.(0[1-9]|[1-9][0-9])|[1-9])" \
    "the summary has a rank's processor time"
line "^$H2 +2 +[0-9.]+ s" "the summary has a row for each of two hosts"

run "$MLAUNCH" --summary --events "$T/events" -n 70 -- sh -c 'exit $((RANK == 69 ? 5 : 0))'
line '^mlaunch: summary: [0-9]+ of 70 ranks ended, 1 failed; ' \
    "the summary has the number of ranks that failed"
check "the summary has no row for each of more than 64 ranks" \
    [ "$(grep -cE '^ +[0-9]+ ' "$ERR")" = 0 ]
check "--events has the same for each rank" python3 "$SOURCE/tests/cli/usage_events.py" "$T/events"

# Two ranks keep the others waiting, in turns: two and one of three times.
cat > "$T/late.py" << 'PY'
import mlaunch, time
world = mlaunch.init()
world.barrier()
for late in (2, 1, 2):
    if world.rank == late:
        time.sleep(0.3)
    world.barrier()
mlaunch.finalize()
PY
late_job() {
    run "$MLAUNCH" --summary --events "$T/events" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" \
        -n 4 -- "$(python3 -c 'import sys; print(sys.executable)')" "$T/late.py"
    cp "$ERR" "$T/table"
    cp "$T/events" "$T/late.events"
}
late_is_right() {
    python3 "$SOURCE/tests/cli/late_ranks.py" "$T/late.events" "$T/table"
}
# A rank that a busy machine delays by a millisecond counts as late too, so there are five attempts.
late_is_right_once() {
    for ((i = 0; i < 5; i++)); do
        late_is_right && return
        late_job
    done
    late_is_right
}
late_job
line '^rank +host .* memory +calls +bytes +waited +last +status$' \
    "the summary has the library's calls and waiting"
line '^ +3 .* MiB +4 +0\.0 MiB +[0-9.]+ s +[0-9]+ +0$' \
    "the summary has the calls and waiting of each rank"
skip_emulated "ranks under qemu-user are late by a millisecond, which counts" \
    "the summary has who came last and how often, and --events what it is made of" ||
    check "the summary has who came last and how often, and --events what it is made of" \
        late_is_right_once

run "$MLAUNCH" -n 1 -- true
check "no summary is printed without the option" [ ! -s "$ERR" ]
run "$MLAUNCH" --summary -n 1 -- /nonexistent/program
check "no summary is printed for ranks that never began" [ "$(grep -c summary "$ERR")" = 0 ]

# A file system without free space, in a mount namespace of its own.
mkdir "$T/full"
run unshare -m sh -c 'mount -t tmpfs -o size=4k none "$1/full" && shift && exec "$@"' - "$T" \
    "$MLAUNCH" --cwd "$T/full" -n 2 -- sh -c '[ "$RANK" = 0 ] || head -c 100000 /dev/zero > x'
line "^mlaunch: rank 1 on host [^ ]+ \(pid [0-9]+\) exited with status 1; the file system of $T/full is full\$" \
    "a full file system is named"

# A memory control group with a limit, of the version that this machine has.
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -z "$group" ] && mkdir "$root/mlaunch-test-$$" 2> /dev/null || continue
    for file in memory.limit_in_bytes memory.max; do
        echo 64M 2> /dev/null > "$root/mlaunch-test-$$/$file" && group=$root/mlaunch-test-$$
    done
    [ -n "$group" ] || rmdir "$root/mlaunch-test-$$"
done
if [ -z "$group" ]; then
    skip "memory that ran out is named, with the limit" "needs a memory control group to write to"
else
    at_exit rmdir "$group"
    run sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' - "$group" "$MLAUNCH" -n 2 -- \
        sh -c '[ "$RANK" = 0 ] && exec sleep 100; exec python3 -c "x = bytearray(200 << 20)"'
    line "^mlaunch: rank 1 on host [^ ]+ \(pid [0-9]+\) was killed by signal 9 \(Killed\); the kernel ended it because memory ran out \(the control group's limit of 64 MiB\); it had used up to [3-6][0-9] MiB\$" \
        "memory that ran out is named, with the limit"
    # A signal that someone has sent is not taken for that.
    run sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' - "$group" "$MLAUNCH" -n 1 -- \
        sh -c 'kill -9 $$'
    line "was killed by signal 9 \(Killed\)\$" "a rank that was killed otherwise has no such reason"
fi
done_testing
