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
job_judge 0 "a job that stalls and goes on" "mlaunch --stall"
said '^mlaunch: warning: rank 3 on host [^ ]+ has not come to barrier' "the stall is reported at once"
said "$waiting" "those in a call are one line: which call, its number, where, for whom"
said '^    3 is in train.py:5 read$' "… and who is missing is on a line of Python"
said "^    stack of rank 3 on host $H2 \\(pid [0-9]+\\):" "… with its stack"
check_output 1 "one report" grep -c '^mlaunch: where the ranks are' "$T/err"
check "--events has the same" python3 "$SOURCE/tests/cli/stalled_event.py" "$EVENTS" "$H2"
check_match '^0-2 wait in barrier #2 .*for 3$' "$T/ps" "ps --stacks says the same"
check_match '^3 is in train.py:5 read$' "$T/ps" "… of all ranks"
check_match "^rank 3 on host $H2, pid [0-9]+" "$T/ps" "… and all of each stack below"

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
job_judge 0 "a rank that is late in calling ml_init" "mlaunch --stall"
said '^mlaunch: warning: rank 2 on host [^ ]+ has not called ml_init; ranks 0,1 have waited' \
    "it is named"
said "$waiting" "… with those that wait for it, and where"
said '^    2 is in late.py:4 <module>$' "… and where it is"
check_match '^0,1 wait in init #1 .*for 2$' "$T/ps" "ps --stacks says the same"
check_match '0,1 wait in init #1 .*for 2$' "$T/top" "… and top"

# Programs that never call the library: silence.
meanwhile() { must kill -TERM "$mlaunch"; }
silent='^mlaunch: warning: no rank has written anything or begun a call for [0-9]+ s \(--stall\)$'
asleep='^    (0-2 are|0,1 are|0 is) in .*nanosleep'
where="… and where it is: ranks in the same place together"
NUMBERS="the numbers of system calls are this machine's, not qemu-user's"
stalls "$(if is_emulated; then echo "$silent"; else echo "$asleep"; fi)" -n 3 -- sh -c 'sleep 300; true'
job_judge 143 "a silent job" "mlaunch --stall"
said "$silent" "that it is silent is said"
skip_emulated "$NUMBERS" "$where" || said "$asleep" "$where"

# A rank that goes on writing, longer than --stall, does not hang.
for times in "1 0.25" "4 1" "16 4"; do
    keep "${JOB[@]}" --stall "${times% *}" -n 2 -- sh -c \
        'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep "$0"; done' "${times#* }"
    grep -q 'where the ranks are' "$T/err" || break
done
job_judge 0 "a job that goes on writing" "mlaunch --stall"
check_no_match 'where the ranks are' "$T/err" "… is not reported"

# A debugger that never ends; what the kernel knows is said instead.
mkdir "$T/bin"
printf '#!/bin/sh\n: > "%s"\nexec sleep 400\n' "$T/debugged" > "$T/bin/gdb"
chmod +x "$T/bin/gdb"
words='^    0 is in the system call (clock_)?nanosleep$'
is_emulated && words=.
last_words "$words" env PATH="$T/bin:$PATH" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300
job_judge 124 "a debugger that hangs" "mlaunch --timeout"
skip_emulated "$NUMBERS" "… is given up" || said "$words" "… is given up"

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
job_judge 124 "a host with eu-stack" "mlaunch --timeout"
skip_emulated "qemu-user hides that posix_spawn finds no gdb" "… says what it prints" ||
    said "$words" "… says what it prints"

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
job_judge 130 "Ctrl-C ends the job meanwhile" "mlaunch --timeout"
done_testing
