#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the ranks of a job are that hangs: one report of all hosts with --stall, and before
# --timeout ends the ranks; for programs that use the library and others; mlaunch ps --stacks says
# the same. A debugger that hangs does not hold the job up.
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
# Not python3 itself, which may be a shell script: a shell dies of a preloaded thread sanitizer.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
# said PATTERN NAME: a line of the job's standard error matches.
said() { check_match "$1" "$T/err" "$2"; }

# stalls REGEX ARGUMENT…: a job that hangs; once that is reported, `meanwhile` lets it end. On a
# busy machine --stall may be over before the ranks are where they hang: unless there is one report,
# with such a line, they get longer.
stalls() {
    local seconds
    for seconds in 1 4 16 64; do
        rm -f "$T/go"
        : > "$EVENTS"
        "${JOB[@]}" --stall "$(longer "$seconds")" "${@:2}" > "$T/out" 2> "$T/err" &
        mlaunch=$!
        wait_for 'grep -q "\"stalled\"" "$EVENTS"' $((seconds + HANG_SECONDS))
        meanwhile
        wait "$mlaunch"
        status=$?
        grep -Eq "$1" "$T/err" && [ "$(grep -c '^mlaunch: where' "$T/err")" = 1 ] && break
    done
}
# last_words REGEX COMMAND…: a job whose --timeout strikes. mlaunch waits for an agent only 1 s
# longer than the agent for a debugger, which a busy machine may not keep, so there are five
# attempts.
last_words() {
    local i
    for i in 1 2 3 4 5; do
        keep "${@:2}"
        grep -Eq "$1" "$T/err" && break
    done
}

cat > "$T/train.py" << 'PY'
import mlaunch, os, sys, time

def read():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)

world = mlaunch.init()
world.barrier()
if world.rank == 3:
    read()
world.barrier()
PY
meanwhile() {
    "$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" --stacks "$(job_id)" > "$T/ps" 2>&1
    : > "$T/go"
}
waiting='^    0-2 wait in barrier #2 (\([a-z]+\) )?at train.py:11 for 3$'
stalls "$waiting" -H "$H1,$H2" -n 4 -- "$PYTHON" "$T/train.py" "$T/go"
job_judge 0 "a job that stalls goes on" "mlaunch --stall"
said '^mlaunch: warning: rank 3 on host [^ ]+ has not come to barrier' \
    "the stall is reported at once"
said "$waiting" "ranks in a call are one line: which call, its number, where, for whom"
said '^    3 is in train.py:5 read$' "the missing rank is on a line of Python"
said "^    stack of rank 3 on host $H2 \\(pid [0-9]+\\):" \
    "the missing rank's stack is in the report"
check_output 1 "the stall is reported once" grep -c '^mlaunch: where the ranks are' "$T/err"
check "the stalled event has the same as the report" \
    python3 "$SOURCE/tests/cli/stalled_event.py" "$EVENTS" "$H2"
check_match '^0-2 wait in barrier #2 .*for 3$' "$T/ps" "ps --stacks has the ranks in a call"
check_match '^3 is in train.py:5 read$' "$T/ps" "ps --stacks has the missing rank's line"
check_match "^rank 3 on host $H2, pid [0-9]+" "$T/ps" "ps --stacks has each rank's stack"

# A rank that does not call ml_init.
cat > "$T/late.py" << 'PY'
import mlaunch, os, sys, time
if os.environ["MLAUNCH_RANK"] == "2":
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
mlaunch.init().barrier()
PY
meanwhile() {
    "$MLAUNCH" ps --stacks "$(job_id)" > "$T/ps" 2>&1
    "$MLAUNCH" top -b 2 "$(job_id)" > "$T/top" 2>&1
    : > "$T/go"
}
waiting='^    0,1 wait in init #1 at late.py:5 <module> for 2$'
stalls "$waiting" -n 3 -- "$PYTHON" "$T/late.py" "$T/go"
job_judge 0 "a job goes on after a rank's late ml_init" "mlaunch --stall"
said '^mlaunch: warning: rank 2 on host [^ ]+ has not called ml_init; ranks 0,1 have waited' \
    "the rank that is late is named"
said "$waiting" "ranks that wait for the late one are named, and where they wait"
said '^    2 is in late.py:4 <module>$' "the late rank's place is named"
check_match '^0,1 wait in init #1 .*for 2$' "$T/ps" "ps --stacks has the ranks that wait in ml_init"
check_match '0,1 wait in init #1 .*for 2$' "$T/top" "top has the ranks that wait in ml_init"

# Programs that never call the library: silence.
meanwhile() { must kill -TERM "$mlaunch"; }
silent='^mlaunch: warning: no rank has written anything or begun a call for [0-9]+ s \(--stall\)$'
asleep='^    (0-2 are|0,1 are|0 is) in .*nanosleep'
where="ranks in the same place are reported together"
NUMBERS="the numbers of system calls are this machine's, not qemu-user's"
stalls "$(if is_emulated; then echo "$silent"; else echo "$asleep"; fi)" -n 3 -- sh -c 'sleep 300; true'
job_judge 143 "a silent job is ended by SIGTERM" "mlaunch --stall"
said "$silent" "a silent job is reported"
skip_emulated "$NUMBERS" "$where" || said "$asleep" "$where"

# A rank that goes on writing, longer than --stall, does not hang.
for times in "1 0.25" "4 1" "16 4"; do
    keep "${JOB[@]}" --stall "${times% *}" -n 2 -- sh -c \
        'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep "$0"; done' "${times#* }"
    grep -q 'where the ranks are' "$T/err" || break
done
job_judge 0 "a job that goes on writing ends well" "mlaunch --stall"
check_no_match 'where the ranks are' "$T/err" "a job that goes on writing is not reported"

# A debugger that never ends; what the kernel knows is said instead.
mkdir "$T/bin"
printf '#!/bin/sh\n: > "%s"\nexec sleep 400\n' "$T/debugged" > "$T/bin/gdb"
chmod +x "$T/bin/gdb"
words='^    0 is in the system call (clock_)?nanosleep$'
is_emulated && words=.
last_words "$words" env PATH="$T/bin:$PATH" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300
job_judge 124 "--timeout ends a job beside a debugger that hangs" "mlaunch --timeout"
skip_emulated "$NUMBERS" "a debugger that hangs is given up" \
    || said "$words" "a debugger that hangs is given up"

# Where there is eu-stack alone.
mkdir "$T/only"
ln -s "$(command -v sleep)" "$T/only"
cat > "$T/only/eu-stack" << 'SH'
#!/bin/sh
echo "PID $5 - process"
echo "TID $5:"
echo "#0  0x00007f1 clock_nanosleep@@GLIBC_2.17"
echo "#1  0x0000401 load"
echo "    /home/me/data.c:88:3"
echo "TID 1:"
echo "#0  0x00007f1 other"
SH
chmod +x "$T/only/eu-stack"
words='^    0 is in data\.c:88:3 load$'
is_emulated && words=.
last_words "$words" env PATH="$T/only" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300
job_judge 124 "--timeout ends a job on a host with eu-stack" "mlaunch --timeout"
skip_emulated "qemu-user hides that posix_spawn finds no gdb" \
    "the report has what eu-stack prints" ||
    said "$words" "the report has what eu-stack prints"

# Ctrl-C while the report is awaited, which is 4 s at most: a busy machine has five attempts.
for i in 1 2 3 4 5; do
    rm -f "$T/debugged"
    set -m
    env PATH="$T/bin:$PATH" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300 2> "$T/err" &
    mlaunch=$!
    set +m
    wait_for '[ -e "$T/debugged" ]'
    must kill -INT "$mlaunch"
    wait "$mlaunch"
    status=$?
    [ "$status" = 124 ] || break
done
job_judge 130 "Ctrl-C ends the job while the report is awaited" "mlaunch --timeout"
done_testing
