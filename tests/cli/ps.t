#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch ps, kill and clean on this machine: running jobs are shown, a job is ended from another
# terminal, dead jobs' leftovers are removed, and live jobs and look-alikes are not touched.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

# job_begin ARGUMENT…: a job in the background whose ranks have started; its id is in $ID, mlaunch
# in $PID.
job_begin() {
    : > "$EVENTS"
    "${JOB[@]}" "$@" > "$T/job.out" 2> "$T/job.err" < /dev/null &
    PID=$!
    wait_for 'grep -q "\"started\"" "$EVENTS"'
    ID=$(sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" | head -n 1)
    wait_for '[ "$(ps_json "len(job[\"ranks\"])")" -ge 1 ]'
}
# ps_json EXPRESSION: Python's, over `job`, what ps says of $ID.
ps_json() {
    "$MLAUNCH" ps --json "$ID" | json_show "str((lambda job: ($1))(j[\"hosts\"][0][\"jobs\"][0]))"
}
agent_pid() { ps_json 'job["agent_pid"]'; }
guard_pid() { ps_json 'job["guard_pid"]'; }
# Both processes are stopped first and then killed, so that neither can clean up after the other.
agent_kill() {
    local agent guard
    agent=$(agent_pid)
    guard=$(guard_pid)
    must kill -STOP "$agent" "$guard"
    must kill -KILL "$agent" "$guard"
}

# Prints a frame as gdb does, in a function named after the process that it is asked about.
mkdir "$T/bin"
cat > "$T/bin/gdb" << 'SH'
#!/bin/sh
while [ "$1" != -p ]; do shift; done
echo "#0  0x1 in process_$2 () at stand-in.c:7"
SH
chmod +x "$T/bin/gdb"

# ps.
job_begin -n 3 -- sh -c 'sleep 300 & exec sleep 301'
wait_for '[ "$(ps_json "len(job[\"ranks\"])")" = 3 ]'
wait_for '[ "$(ps_json "job[\"processes\"]")" = 6 ]'
# All have gone through exec.
wait_for '[ "$(ps_json "\"\".join({r[\"name\"] for r in job[\"ranks\"]})")" = sleep ]'
check "ps lists the jobs" "$MLAUNCH" ps
# With a column of names, if any job on this machine has one.
head="JOB +USER +AGE +HOST +RANKS +STATE +%CPU +MEM +COMMAND"
check_match "^(NAME +)?$head" "$OUT" "ps has a head"
check_match "^ *$ID +$(id -un) .* 3/3 +live .* sh -c 'sleep 300 & exec sleep 301'" "$OUT" \
    "ps has a line of the job"
check "ps knows one job by its id" "$MLAUNCH" ps "$ID"
check_match "^$head" "$OUT" "ps of a job without a name has no column of names"
check_match "^RANK +HOST +PID +STATE" "$OUT" "ps of one job has a table of ranks"
check_match "^ +2 +[^ ]+ +[0-9]+ +[SR] .* 2 +sleep" "$OUT" "ps of one job has each rank's process"
check_output "[0, 1, 2]" "ps --json has the ranks" ps_json '[r["rank"] for r in job["ranks"]]'
check_output True "the pids of ps are the ranks'" ps_json \
    'all(open("/proc/%d/comm" % r["pid"]).read() == "sleep\n" for r in job["ranks"])'
check_error 1 "no job 0nosuch-job" "ps of a job that isn't there is refused" \
    "$MLAUNCH" ps 0nosuch-job
check_error 125 "mlaunch ps: unknown option -z; mlaunch ps --help lists all" \
    "an option that is like no other gets no advice" "$MLAUNCH" ps -z
for word in -a --all -u; do
    check_error 125 "mlaunch ps has no $word: it lists all your jobs" \
        "ps $word is refused with what it lists" "$MLAUNCH" ps $word
done
for word in -9 -TERM --signal; do
    check_error 125 "mlaunch kill has no $word: the ranks get SIGTERM" \
        "kill $word is refused with what the ranks get" "$MLAUNCH" kill $word "$ID"
done
check_error 125 "mlaunch clean has no --force: nothing is asked" \
    "clean --force is refused with the reason" "$MLAUNCH" clean --force
check_error 125 "mlaunch hosts: unknown option --nodelist; here it is called --hosts" \
    "srun's word for hosts is refused with ours" "$MLAUNCH" hosts --nodelist a
check_error 125 "mlaunch ps: -n is an option of a job, and has no meaning here" \
    "an option of a job is refused by ps" "$MLAUNCH" ps -n 4
check "clean -n is a dry run" "$MLAUNCH" clean -n
check_error 125 "unknown option --stakcs; did you mean --stacks\?" \
    "a slip in ps is refused with the right word" "$MLAUNCH" ps --stakcs "$ID"
check_error 125 "mlaunch ps takes one word, so not .* as well" "ps of two jobs is refused" \
    "$MLAUNCH" ps "$ID" "$ID"
check "ps --stacks takes a job" "$MLAUNCH" ps "$ID" --stacks
check_match "^rank 1 on host .*, pid [0-9]+ \(sleep\):" "$OUT" "ps --stacks names each process"
check_match "nanosleep" "$OUT" "ps --stacks says where each process waits"
check_output 6 "ps --stacks has more with a debugger" \
    sh -c 'PATH=$1:$PATH "$MLAUNCH" ps "$2" --stacks |
    grep -c " in process_[0-9]* () at stand-in.c:7$"' sh "$T/bin" "$ID"
# shellcheck disable=SC2046
must kill -STOP $(ps_json '" ".join(str(r["pid"]) for r in job["ranks"])')
# A signal takes effect when its process runs.
wait_for '[ "$(ps_json "job[\"state\"]")" = stopped ]'
check_output stopped "a job is stopped if all its ranks are" ps_json 'job["state"]'
check_output "['T', 'T', 'T']" "each rank of a stopped job is stopped" \
    ps_json '[r["state"] for r in job["ranks"]]'
# shellcheck disable=SC2046
must kill -CONT $(ps_json '" ".join(str(r["pid"]) for r in job["ranks"])')

# clean does not touch live jobs; kill ends them.
run "$MLAUNCH" clean "$ID"
check_output live "clean does nothing to a live job" ps_json 'job["state"]'
check_error 1 "no job 0nosuch-job on this host; your live jobs there: .*$ID" \
    "kill of a job that isn't there names those that are" \
    "$MLAUNCH" kill 0nosuch-job
check_error 125 "which job" "kill without a job is refused" "$MLAUNCH" kill
check "kill takes the job's id" "$MLAUNCH" kill "$ID"
check_match "^job $ID on host .* has been ended" "$OUT" "kill says that the job has been ended"
wait "$PID"
status=$?
job_judge 143 "a killed job ends with 143" "mlaunch"
check_match "the job was ended with mlaunch kill by $(id -un)" "$T/job.err" \
    "the killed job's mlaunch says who did it"
check_output 1 "the killed job's mlaunch says so once" grep -c "" "$T/job.err"

# Both of an agent's processes are killed at once: what its ranks had started survives, and clean
# finds it.
job_begin -n 2 -- sh -c 'setsid sleep 302 & exec sleep 303'
wait_for '[ "$(ps_json "job[\"processes\"]")" = 4 ]'
dir=$(ps_json 'job["directory"]')
dead=$ID
agent_kill
wait "$PID"
: > "/dev/shm/mlaunch-$(id -u)-$dead.0.test"
# A process of the same name is a stranger. So is a segment whose job's name only begins alike.
bash -c "exec sleep 302" &
same=$!
: > "/dev/shm/mlaunch-$(id -u)-${dead}x.0.test"
at_exit rm -f "/dev/shm/mlaunch-$(id -u)-${dead}x.0.test"
check_output stale "a job whose agent was killed is stale" ps_json 'job["state"]'
check_error 1 "job $dead on host .*: it has already ended; mlaunch clean" \
    "kill of a stale job says what to do" "$MLAUNCH" kill "$dead"
job_begin -n 1 -- sleep 304
check "clean --dry-run takes a stale job" "$MLAUNCH" clean --dry-run "$dead"
check_match "job $dead: process [0-9]+ \(sleep\) would be ended" "$OUT" \
    "clean --dry-run tells of processes"
check_match "job $dead: segment /dev/shm/mlaunch-.* would be removed" "$OUT" \
    "clean --dry-run tells of segments"
check_match "job $dead: directory $dir would be removed" "$OUT" \
    "clean --dry-run tells of the directory"
check "clean --dry-run does nothing" test -d "$dir" -a -e "/dev/shm/mlaunch-$(id -u)-$dead.0.test"
check "clean takes a stale job" "$MLAUNCH" clean "$dead"
check_match "job $dead: process [0-9]+ \(sleep\) has been ended" "$OUT" "clean tells what it does"
check_error 1 "no job $dead" "a cleaned job is gone" "$MLAUNCH" ps "$dead"
check_status 1 "a cleaned job's directory is gone" test -e "$dir"
check_status 1 "a cleaned job's segment is gone" test -e "/dev/shm/mlaunch-$(id -u)-$dead.0.test"
check_output 0 "a cleaned job's processes are gone" sh -c \
    "grep -lsaF 'MLAUNCH_JOB_DIR=$dir' /proc/[0-9]*/environ | wc -l"
check "a stranger's process of the same name lives" kill -0 "$same"
check "a segment of a job with a longer name is there" \
    test -e "/dev/shm/mlaunch-$(id -u)-${dead}x.0.test"
check_output live "a live job lives beside a cleaned one" ps_json 'job["state"]'
check_output "nothing to remove of job $dead: it is alive, or has left nothing" \
    "clean finds nothing of a cleaned job" "$MLAUNCH" clean "$dead"
check_output "nothing to remove of job $ID: it is alive, or has left nothing" \
    "clean finds nothing of a live job" "$MLAUNCH" clean "$ID"
check_output live "a live job lives after clean" ps_json 'job["state"]'
must kill "$same"
run "$MLAUNCH" kill "$ID"
wait "$PID"
status=$?
job_judge 143 "a live job ends by kill" "mlaunch"

# A rank that doesn't come is named, once, with what the others wait for.
cat > "$T/stall.py" << 'PY'
import mlaunch, os, time
world = mlaunch.init()
if os.environ["MLAUNCH_RANK"] == "2":
    time.sleep(4)
world.barrier()
PY
cat > "$T/wait.py" << 'PY'
import mlaunch, os, time
world = mlaunch.init()
if world.rank == 2:
    time.sleep(300)
world.barrier()
PY
# Not python3 itself, which may be a shell script: a shell dies of a preloaded thread sanitizer.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
job_begin -n 3 "${STRANGER[@]}" -- "$PYTHON" "$T/wait.py"
says_who_waits() { "$MLAUNCH" ps "$ID" --stacks > "$T/waits" &&
    [ "$(grep -c '^rank .* waits in barrier' "$T/waits")" = 2 ]; }
wait_for says_who_waits
check_match "^rank 0 on host .* waits in barrier, call 1, for ranks? .*2, called at $T/wait.py:5$" \
    "$T/waits" "ps --stacks says which call a rank waits in, for whom, and on which line"
check_no_match "^rank 2 on host .* waits in" "$T/waits" "a rank that waits in no call is in none"
check_no_match "^deadlock" "$T/waits" "a rank that comes late is no deadlock"
must kill -TERM "$PID"
wait "$PID"

# A script that does not import the package: the preloaded library shows its lines.
cat > "$T/plain.py" << 'PY'
import time
def inner():
    time.sleep(300)
inner()
PY
job_begin -n 2 "${STRANGER[@]}" -- "$PYTHON" "$T/plain.py"
says_lines() {
    "$MLAUNCH" ps "$ID" --stacks > "$T/lines" && grep -q "^0,1 are in plain.py:3 inner$" "$T/lines"
}
exports() { "$PYTHON" -c 'import ctypes; ctypes.pythonapi._Py_DumpTraceback' 2> /dev/null; }
if exports; then
    check "ps --stacks has the lines of any Python script" wait_for says_lines
    must says_lines
    check_output 1 "ps --stacks has the lines of a Python script a second time" \
        grep -c 'plain.py", line 4 in <module>$' "$T/lines"
else
    why="this Python does not export _Py_DumpTraceback"
    skip "ps --stacks has the lines of any Python script" "$why"
    skip "ps --stacks has the lines of a Python script a second time" "$why"
fi
must kill -TERM "$PID"
wait "$PID"

# A library that takes an interrupted call for a failure is not interrupted: here rank 0's program
# itself calls poll, in which Python does not expect a signal.
cat > "$T/impatient.py" << 'PY'
import ctypes, os, time
def inner():
    time.sleep(300)
if os.environ["MLAUNCH_RANK"] == "1":
    inner()
poll = ctypes.CDLL(None, use_errno=True).poll
print("is about to wait", flush=True)
poll(None, 0, -1)
print("poll has ended:", os.strerror(ctypes.get_errno()), flush=True)
PY
job_begin -n 2 "${STRANGER[@]}" -- "$PYTHON" "$T/impatient.py"
must wait_for "grep -q 'is about to wait' '$T/job.out'" # while it runs it may be interrupted
says_inner() {
    "$MLAUNCH" ps "$ID" --stacks > "$T/lines" && grep -q "^1 is in impatient.py:3 inner$" "$T/lines"
}
if exports; then
    check "ps --stacks has a rank beside one that must not be interrupted" wait_for says_inner
    must says_inner
    check_no_match 'impatient.py", line 8' "$T/lines" \
        "a rank that must not be interrupted is not asked for its lines"
else
    skip "ps --stacks has a rank beside one that must not be interrupted" "$why"
    skip "a rank that must not be interrupted is not asked for its lines" "$why"
fi
check_match '^ +0 .* S ' "$T/lines" "a rank that must not be interrupted goes on waiting"
must kill -TERM "$PID"
wait "$PID"
check_no_match 'poll has ended' "$T/job.out" \
    "a rank that must not be interrupted waits until the job ends"

# All wait for ever, each for the next rank's message.
cat > "$T/wait.py" << 'PY'
import mlaunch

world = mlaunch.init()
world.recv(bytearray(12345 + world.rank), (world.rank + 1) % 3)
PY
job_begin -n 3 "${STRANGER[@]}" -- "$PYTHON" "$T/wait.py"
says_all_wait() { "$MLAUNCH" ps "$ID" --stacks > "$T/waits" &&
    [ "$(grep -c '^rank . on host .* waits in' "$T/waits")" = 3 ]; }
wait_for says_all_wait
check_match "^rank 0 on host .* waits in recv of 12345 bytes from rank 1, called at $T/wait.py:4$" "$T/waits" \
    "ps --stacks has a message's size and direction"
check_match "^rank 1 on host .* waits in recv of 12346 bytes from rank 2, called at " "$T/waits" \
    "ps --stacks has each rank's message"
check_output "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0" \
    "a deadlock is named once" grep '^deadlock' "$T/waits"
check_output "[12345] [1] []" "ps --stacks --json has the same message" \
    sh -c '"$MLAUNCH" ps "$1" --stacks --json |
    python3 "$SOURCE/tests/lib/json_show.py" "(lambda wait: (
        [int(w) for w in wait[\"text\"].split() if len(w) > 3 and w.isdigit()],
        wait[\"receives_from\"], wait[\"sends_to\"]))(
        j[\"hosts\"][0][\"jobs\"][0][\"ranks\"][0][\"waits\"][0])"' sh "$ID"
check_output "job job_name user name host_rank host_count size command directory state started_at \
age_s agent_pid guard_pid ranks_alive processes cpu_percent memory_bytes kept_bytes ranks" \
    "the members of a job are in the documented order" ps_json '" ".join(job)'
must kill -TERM "$PID"
wait "$PID"

# The time in which the others wait is the subject.
keep env MLAUNCH_STALL=2 "${JOB[@]}" -n 3 "${STRANGER[@]}" -- "$PYTHON" "$T/stall.py"
job_judge 0 "a job that stalls for a while ends well" "mlaunch"
check_match "^mlaunch: warning: rank 2 on host [^ ]+ has not come to barrier" "$T/err" \
    "a stall is reported while the job runs"
check_output 1 "a stall is reported once, by name" grep -c \
    'rank 2 on host .* has not come to barrier at .*/stall.py:5 (call 1 of .*); ranks 0,1 have waited' "$T/err"

# A job below $TMPDIR has a link in /tmp, too.
mkdir "$T/below"
TMPDIR=$T/below job_begin -n 1 -- sleep 300
one_job() { TMPDIR=$T/below "$MLAUNCH" ps --json "$ID" | json_show 'len(j["hosts"][0]["jobs"])'; }
check_output 1 "a job below TMPDIR is listed once" one_job
must kill -TERM "$PID"
wait "$PID"
done_testing
