#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Jobs on this machine, through the real mlaunch and its agent: exit statuses, first failures,
# --on-failure, --restarts, --timeout, the ladder of the grace, several programs, environment and
# directory, --events. After each job nothing is left.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

# Exit statuses, and which rank is named.
job_status 0 "every rank exits 0" -n 4 -- true
job_says 3 'mlaunch: rank [0-3] on host [^ ]+ \(pid [0-9]+\) exited with status 3$' \
    "a rank's status is the job's" -n 4 -- sh -c 'exit 3'
job_says 5 'rank 2 on host .* exited with status 5$' \
    "the rank that failed is named, not those that were ended" \
    -n 4 -- sh -c '[ $MLAUNCH_RANK = 2 ] && exit 5; sleep 60'
check_no_match 'rank [013] ' "$ERR" "no other rank is named"
job_says 139 'was killed by signal 11 \(Segmentation fault\)' "a signal is 128 + N" -n 2 -- sh -c \
    'ulimit -c 0; kill -SEGV $$'
job_says 137 'was killed by signal 9 \(Killed\)' "a rank killed from outside is 128 + 9" -n 2 -- \
    sh -c '[ $MLAUNCH_RANK = 1 ] && kill -KILL $$; sleep 60'
job_says 127 'rank 0 on host .* could not be started: .*no-such-program' \
    "a program that is not there is 127" \
    -n 2 -- no-such-program
printf '#!/no/such/interpreter -x\n' > "$T/odd-script"
printf '#!/bin/sh\r\necho hello\r\n' > "$T/from-windows"
chmod +x "$T/odd-script" "$T/from-windows"
job_says 127 'odd-script: /no/such/interpreter, the interpreter that its first line names, is missing' \
    "a script's interpreter that is missing is named" -n 1 -- "$T/odd-script"
job_says 127 'odd-script: /no/such/interpreter, the interpreter that its first line names, is missing' \
    "a script in PATH whose interpreter is missing is told of" -n 1 -x "PATH=$T:$PATH" -- odd-script
job_says 127 'its lines end as those of Windows do, and there is no /bin/sh with a carriage return' \
    "a script with the line ends of Windows is told of" -n 1 -- "$T/from-windows"
# What the agent says of it is not UTF-8, because the path is not, or because the sentence was cut.
PATH=$'/opt/caf\xe9:'$PATH job_says 127 'could not be started: no-such-program: .*/opt/caf\?' \
    "a program that is not there is told of with a PATH that is not UTF-8" -n 1 -- no-such-program
for first in '' x; do
    long=/$first$(printf 'é%.0s' {1..120})
    job_says 127 'could not be started: /' "a program with a long name is told of (/$first)" \
        -n 1 -- "$long$long$long"
    job_says 125 'cannot use the working directory /' \
        "a directory with a long name is told of (/$first)" -n 1 --cwd "$long$long$long" -- true
done
job_says 126 'could not be started: /etc/passwd: Permission denied' \
    "a program that can't be executed is 126" -n 1 -- /etc/passwd
# Rank $1 ends with status $2; the others wait until it is gone.
cat > "$T/first" << 'EOF'
[ "$MLAUNCH_RANK" != "$1" ] || { echo $$ > "$3"; exit "$2"; }
until [ -s "$3" ] && ! kill -0 "$(cat "$3")" 2> /dev/null; do sleep 0.02; done
EOF
job_status 0 "rank 0 leaves early, the others go on" -n 3 -- sh -c '. "$0" && echo done' \
    "$T/first" 0 0 "$T/left"
check_match '^\[2\] done$' "$OUT" "the others go on to their ends"
job_status 0 "64 ranks end well" -n 64 -- true

# Ends that the user asks for.
# job_late REGEX NAME ARGUMENT…: as job_says 124, with --timeout. What the ranks do until then takes
# longer on a busy machine, which gets more time.
job_late() {
    local seconds
    for seconds in 1 4 16 64; do
        run job --timeout "$seconds" "${@:3}"
        grep -Eq -- "$1" "$ERR" && break
    done
    job_judge 124 "$2" "mlaunch --timeout $seconds ${*:3}"
    check_match "$1" "$ERR" "$2: the sentence says so"
}
job_late 'within [0-9]+ s \(--timeout\); ranks 0,1 still run: SIGKILL in 5 s; --grace changes that$' \
    "--timeout ends the job" -n 2 -- sleep 200
job_late 'within [0-9]+ s \(--timeout\); rank 2 on host [^ ]+ still runs: ' \
    "--timeout names who still runs" -n 3 -- sh -c '[ $MLAUNCH_RANK -lt 2 ] || exec sleep 200'
job_late 'rank 1 on host [^ ]+ has not come to barrier .*; rank 0 has waited [0-9]+ s for it' \
    "--timeout names what ranks wait for" -n 2 \
    "${STRANGER[@]}" -- python3 "$SOURCE/tests/cli/late_rank.py"
job_status 7 "a rank that ignores SIGTERM is killed after --grace" \
    -n 2 --grace 1 --events "$T/events" -- \
    sh -c '[ $MLAUNCH_RANK = 1 ] && { while [ ! -e '"$T"'/deaf ]; do sleep 0.02; done; exit 7; }
        trap "" TERM; : > '"$T"'/deaf; while :; do sleep 0.1; done'
check_match '"event":"stopped".*"grace_ms":1000' "$T/events" "the grace is that of the option"
check_match '"event":"exited".*"rank":0,.*"signal":9' "$T/events" \
    "the rank that ignores SIGTERM gets SIGKILL"
job_status 6 "a rank that stops in time is not killed" -n 2 --grace 20 -- sh -c \
    '[ $MLAUNCH_RANK = 1 ] && { while [ ! -e '"$T"'/ready ]; do sleep 0.02; done; exit 6; }
     trap "echo ended politely; exit 0" TERM; : > '"$T"'/ready; while :; do sleep 0.02; done'
check_match 'ended politely' "$OUT" "a rank that stops in time can say so"
skip_emulated "qemu-user knows no child subreapers" "a daemon that a rank leaves is ended" ||
    job_status 4 "a daemon that a rank leaves is ended" -n 1 -- sh -c \
    'setsid sh -c "setsid sleep 300 &" & wait; exit 4'

skip_emulated "qemu-user knows no child subreapers" "what a rank leaves is named" ||
    job_says 0 'rank 0 has ended before pid [0-9]+ \(sleep\), which it had started, and which is ended now' \
        "what a rank leaves is named" -n 1 -- sh -c 'sleep 300 & :'

# No rank leads its process group, so that setsid need not fork, which would end the rank.
job_status 7 "a program behind setsid is the rank, with its status" -n 2 -- setsid sh -c \
    ': > "$0.$MLAUNCH_RANK"; until [ -e "$0.0" ] && [ -e "$0.1" ]; do sleep 0.02; done; exit 7' \
    "$T/far"
job_says 6 '^.1. asked once$' "a rank that has left its process group is asked to end, once" --timeout "$HANG_SECONDS" -n 2 \
    -- sh -c '[ $MLAUNCH_RANK = 1 ] || { until [ -e "$0" ]; do sleep 0.02; done; exit 6; }
    exec setsid sh -c "trap \"echo asked once >&2; exit\" TERM; : > $0; while :; do sleep 0.02; done"' \
    "$T/apart"

job_status 5 "--on-failure continue keeps the first failure's status" -n 3 --on-failure continue \
    -- \
    sh -c '. "$0"; echo done; [ $MLAUNCH_RANK = 0 ] || exit 6' "$T/first" 1 5 "$T/failed"
check_match '^\[0\] done$' "$OUT" "--on-failure continue lets the others go on"

: > "$T/count"
job_status 0 "--restarts starts the job until it works" -n 2 --restarts 3 -- sh -c \
    '[ $MLAUNCH_RANK = 0 ] || exit 0; echo x >> '"$T"'/count; [ $(wc -l < '"$T"'/count) -ge 3 ]'
check_match 'starting the job again in 1 s \(restart 2 of 3\)' "$ERR" \
    "--restarts says that the job is started again"
check_output 3 "--restarts starts as often as needed" grep -c x "$T/count"
check_output 1 "--restarts keeps the job's id" sh -c \
    'sed -n "s/.*\"job\":\"\([^\"]*\)\".*/\1/p" "$1" | sort -u | wc -l' - "$EVENTS"
job_status 9 "--restarts starts no more than N times again" -n 1 --restarts 2 -- sh -c \
    'echo y >> '"$T"'/count; exit 9'
check_output 3 "--restarts makes N + 1 runs" grep -c y "$T/count"

# Programs, environment, directory.
job_prints "[0] master 3
[1] worker 1
[2] worker 2" "several programs are one job" -n 1 sh -c 'echo master $MLAUNCH_SIZE' : -n 2 sh -c \
    'echo worker $MLAUNCH_RANK'
job_prints "one two" "ranks have the caller's environment and -x" \
    -n 1 -x A=one -x B=two -- sh -c 'echo $A $B'
mkdir "$T/dir"
job_prints "$T/dir" "--cwd is the ranks' directory" -n 1 --cwd "$T/dir" -- pwd
job_prints "$(pwd -P)" "the caller's directory is the ranks'" -n 1 -- pwd -P
job_says 125 "no-such-directory" "--cwd that is not there is refused" \
    -n 1 --cwd /no-such-directory -- true
mkdir "$T/home"
gone() (mkdir "$T/gone" && cd "$T/gone" && rmdir "$T/gone" && HOME=$T/home job "$@")
run gone -n 1 -- pwd
job_judge 0 "a job runs though the caller's directory is gone" "mlaunch in a directory that is gone"
check_match "^$T/home\$" "$OUT" "ranks start at home if the caller's directory is gone"
check_match "^mlaunch: warning: cannot find the path of this directory \(No such file or directory\); without --cwd, ranks start in the home directory$" "$ERR" \
    "a directory that is gone is warned of"
run gone -n 1 --cwd etc -- pwd
job_judge 125 "a relative --cwd is refused in a directory that is gone" \
    "mlaunch --cwd etc in a directory that is gone"
check_match "^mlaunch: error: --cwd etc is relative to this directory, which was removed " "$ERR" \
    "the refusal of a relative --cwd says why"

# Ranks start with the default signal actions and mask. (Signals 32 and 33 are libc's own.)
standard_signals() {
    local name mask
    while read -r name mask; do echo "$name $((0x$mask & 0x7fffffff))"; done < "$T/signals"
}
job_status 0 "a rank tells its signals" -n 1 -- grep -E 'Sig(Ign|Blk)' /proc/self/status
cp "$OUT" "$T/signals"
check_output "SigBlk: 0
SigIgn: 0" "no signal is blocked or ignored" standard_signals

# --events.
job_status 3 "a failed job has its status with --events" -n 2 -- sh -c 'sleep 0.2; exit 3'
check "each line of --events is a JSON object with time, event and job" \
    python3 "$SOURCE/tests/cli/failed_events.py" "$EVENTS"
for first in '' x; do
    job_status 0 "a long command runs with --events ($first)" \
        -n 1 -- true $first"$(printf 'é%.0s' {1..200})"
    check_match '"event":"launched".*"command":"true .x?é{100}' "$EVENTS" \
        "a long command is in --events ($first)"
done
check_error 125 'cannot write /no-such-directory/e: No such file' \
    "--events that can't be written is refused" "$MLAUNCH" --events /no-such-directory/e -- true
check_error 0 'rank 1 on host .* exited with status 0' "-v tells of each rank" "$MLAUNCH" -v -n 2 \
    -- true

done_testing
