#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the ranks of a job are that hangs: one report of all hosts with --stall, and before
# --timeout ends the ranks; for programs that use the library and others; mlaunch ps --stacks says
# the same. A debugger that hangs does not hold the job up.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
# Not python3 itself, which may be a shell script: a shell dies of a preloaded thread sanitizer.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
# said PATTERN NAME: a line of the job's standard error matches.
said() { check_match "$1" "$T/err" "$2"; }

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
: > "$EVENTS"
"${JOB[@]}" --stall "$(longer 1)" -H "$H1,$H2" -n 4 -- "$PYTHON" "$T/train.py" "$T/go" > "$T/out" 2> "$T/err" &
mlaunch=$!
wait_for 'grep -q "\"stalled\"" "$EVENTS"'
"$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" --stacks "$(job_id)" > "$T/ps" 2>&1
: > "$T/go"
wait "$mlaunch"
status=$?
job_judge 0 "a job that stalls and goes on" "mlaunch --stall"
said '^mlaunch: warning: rank 3 on host [^ ]+ has not come to barrier' "the stall is reported at once"
said '^    0-2 wait in barrier #2 (\([a-z]+\) )?at train.py:11 for 3$' \
    "those in a call are one line: which call, its number, where, for whom"
said '^    3 is in train.py:5 read$' "… and who is missing is on a line of Python"
said "^    stack of rank 3 on host $H2 \\(pid [0-9]+\\):" "… with its stack"
check_output 1 "one report" grep -c '^mlaunch: where the ranks are' "$T/err"
check "--events has the same" python3 -c '
import json, sys
events = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "stalled"]
assert len(events) == 1 and events[0]["cause"] == "call" and events[0]["deadlock"] == [], events
waiting, missing = events[0]["groups"]
assert waiting["ranks"] == [0, 1, 2] and waiting["waits_for"] == [3] and waiting["number"] == 2
assert waiting["call"] == "barrier" and waiting["at"].endswith("train.py:11"), waiting
assert missing["ranks"] == [3] and missing["place"] == "in train.py:5 read", missing
assert missing["host"] == sys.argv[2] and missing["stack"][0].endswith(":5 in read"), missing
' "$EVENTS" "$H2"
check_match '^0-2 wait in barrier #2 .*for 3$' "$T/ps" "ps --stacks says the same"
check_match '^3 is in train.py:5 read$' "$T/ps" "… of all ranks"
check_match "^rank 3 on host $H2, pid [0-9]+" "$T/ps" "… and all of each stack below"

# Programs that never call the library: silence, then the time is over.
keep "${JOB[@]}" --stall 1 --timeout 3 -n 3 -- sh -c 'sleep 300; true'
job_judge 124 "a silent job" "mlaunch --stall --timeout"
said '^mlaunch: warning: no rank has written anything or begun a call for 1 s \(--stall\)$' \
    "that it is silent is said"
where="… and where it is: ranks in the same place together"
NUMBERS="the numbers of system calls are this machine's, not qemu-user's"
skip_emulated "$NUMBERS" "$where" || said '^    (0-2 are|0,1 are|0 is) in .*nanosleep' "$where"

# A rank that goes on writing does not hang.
keep "${JOB[@]}" --stall 1 -n 2 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done'
job_judge 0 "a job that goes on writing" "mlaunch --stall"
check_no_match 'where the ranks are' "$T/err" "… is not reported"

# A debugger that never ends; what the kernel knows is said instead.
mkdir "$T/bin"
printf '#!/bin/sh\n: > "%s"\nexec sleep 400\n' "$T/debugged" > "$T/bin/gdb"
chmod +x "$T/bin/gdb"
keep env PATH="$T/bin:$PATH" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300
job_judge 124 "a debugger that hangs" "mlaunch --timeout"
skip_emulated "$NUMBERS" "… is given up" ||
    said '^    0 is in the system call (clock_)?nanosleep$' "… is given up"

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
keep env PATH="$T/only" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300
job_judge 124 "a host with eu-stack" "mlaunch --timeout"
skip_emulated "qemu-user hides that posix_spawn finds no gdb" "… says what it prints" ||
    said '^    0 is in data\.c:88:3 load$' "… says what it prints"

# Ctrl-C while the report is awaited.
rm "$T/debugged"
set -m
env PATH="$T/bin:$PATH" "${JOB[@]}" --timeout 1 -n 1 -- sleep 300 2> "$T/err" &
mlaunch=$!
set +m
wait_for '[ -e "$T/debugged" ]'
must kill -INT "$mlaunch"
wait "$mlaunch"
status=$?
job_judge 130 "Ctrl-C ends the job meanwhile" "mlaunch --timeout"
done_testing
