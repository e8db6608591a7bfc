#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory that outlives the runs of a job (--restarts without --elastic): the agents stay from one
# run to the next, and what ranks have kept stays with them, but not beyond the job, whoever is
# killed. Hosts that are lost take their parts with them, unless those are on the next host, too
# (--keep 2), from which examples/heat recovers. All hosts are this machine.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../cli/job.sh"

needs python3
PYTHON=$(command -v python3)
export PYTHONDONTWRITEBYTECODE=1
PROGRAM=$SOURCE/tests/runtime/python_keep_restarts.py

kept_files() { find /dev/shm -name "mlaunch-*-$(job_id).*.keep.*" | wc -l; }
agents_of() { sed -n 's/.*"event":"connected".*"host":"'"$1"'","pid":\([0-9]*\).*/\1/p' "$EVENTS"; }
# kept_run NAME OPTION…: to the job's end.
kept_run() {
    : > "$EVENTS"
    keep job --oversubscribe "${STRANGER[@]}" "$@" -- "$PYTHON" "$PROGRAM" 12 5 ""
}

cat > "$T/connect" << EOF
host=\$1
shift
[ ! -e "$T/down.\$host" ] || { echo "no power" >&2; exit 1; }
# The second agent of the host can make no directory, once.
if [ -e "$T/full.\$host" ] && ! mkdir "$T/first.\$host" 2> /dev/null; then
    rm "$T/full.\$host"
    export TMPDIR=/proc
fi
exec "\$@"
EOF
HOSTS=(--agent-command "sh $T/connect {host}" -H "a:2,b:2")

kept_run "${HOSTS[@]}" -n 4 --restarts 2
job_judge 0 "a job that is started again twice ends well" mlaunch
check_output "4 [.] began at 0
4 [.] began at 5
4 [.] ended well" "the job goes on where all parts were, and not with one of another run" \
    sh -c 'sed "s/^\[.\]/[.]/" "$1" | sort | uniq -c | sed "s/^ *//"' - "$T/out"
check_output "3 1" "the job's agents stay, and no process is started for them" \
    sh -c 'echo $(printf "%s\n" "$1" | wc -l) $(printf "%s\n" "$1" | sort -u | wc -l)' - \
    "$(agents_of a)"
check_output 0 "nothing of what was kept is left" kept_files

# job_begin OPTION…: a job whose rank 1 waits, before it dies, for the end of $T/hold.
job_begin() {
    : > "$EVENTS"
    : > "$T/hold"
    : > "$T/out"
    "${JOB[@]}" "${HOSTS[@]}" -n 4 --grace 1 --restarts 2 --oversubscribe "$@" \
        "${STRANGER[@]}" -- \
        "$PYTHON" "$PROGRAM" 12 5 "$T/hold" > "$T/out" 2> "$T/err" < /dev/null &
    PID=$!
    wait_for 'grep -q "^\[1\] waits" "$T/out" || ! kill -0 "$PID" 2> /dev/null'
}

# Host b is lost and comes back: its ranks' parts are gone.
job_begin
must kill -KILL "$(agents_of b)"
must rm "$T/hold"
run wait "$PID"
cp "$T/err" "$ERR"
job_judge 0 "an agent is killed, and the job ends well" mlaunch
check_output "8 0" "the parts that were on the killed agent's host are gone" sh -c \
    'echo $(grep -c "began at 0" "$1") $(grep -c "began at 5" "$1")' - "$T/out"
check_output "2 3" "another agent is started on that host alone" sh -c \
    'echo $(printf "%s\n" "$1" | sort -u | wc -l) $(printf "%s\n" "$2" | wc -l)' - \
    "$(agents_of b)" "$(agents_of a)"

# --keep 2: what was on host b is on host a, too.
for secure in "" --secure; do
    # shellcheck disable=SC2086 # an option or none
    job_begin --keep 2 $secure
    must kill -KILL "$(agents_of b)"
    must rm "$T/hold"
    run wait "$PID"
    cp "$T/err" "$ERR"
    job_judge 0 "an agent is killed with --keep 2 $secure, and the job ends well" mlaunch
    check_output "4 4" "all goes on where it was, with --keep 2 $secure" sh -c \
        'echo $(grep -c "began at 0" "$1") $(grep -c "began at 5" "$1")' - "$T/out"
    check_output 2 "the host has another agent, with --keep 2 $secure" sh -c \
        'printf "%s\n" "$1" | sort -u | wc -l' - "$(agents_of b)"
    check_output 0 "nothing of what was kept is left, with --keep 2 $secure" kept_files
done

# Its next agent cannot make the job's directory, so that run is not started; the agent on host a,
# which was ready, waits for the run after it.
: > "$T/full.b"
job_begin --keep 2
must kill -KILL "$(agents_of b)"
must rm "$T/hold"
wait_for '[ ! -e "$T/full.b" ] || ! kill -0 "$PID" 2> /dev/null'
run wait "$PID"
cp "$T/err" "$ERR"
job_judge 0 "the next agent refuses its part, and the job ends well" mlaunch
check_match "^mlaunch: host b: .*\(--tmpdir names another place" "$ERR" \
    "the reason why the agent refuses its part is said"
check_output "4 4" "all goes on where it was after the refusal" sh -c \
    'echo $(grep -c "began at 0" "$1") $(grep -c "began at 5" "$1")' - "$T/out"
check_output 1 "the other host keeps its agent in spite of the refusal" sh -c \
    'printf "%s\n" "$1" | sort -u | wc -l' - "$(agents_of a)"

# A spare host takes the place of host b: its rank fetches its part from host a, whose rank keeps
# its own there from now on.
: > "$EVENTS"
"${JOB[@]}" --agent-command "sh $T/connect {host}" -H a,b --spare-hosts c -n 2 --elastic 1 \
    --restarts 1 --keep 2 --oversubscribe "${STRANGER[@]}" -- "$PYTHON" \
    "$SOURCE/tests/runtime/python_keep_spare.py" "$T/end" > "$T/out" 2> "$T/err" < /dev/null &
PID=$!
copies_of_0() { find /dev/shm -name "mlaunch-*-$(job_id).1.*.keep.0.*.part" | sort; }
copies_there() { comm -13 <(echo "$1") <(copies_of_0) | grep -c .; }
wait_for '[ "$(copies_there "")" = 2 ] || ! kill -0 "$PID" 2> /dev/null'
before=$(copies_of_0)
must kill -KILL "$(agents_of b)"
wait_for '[ "$(copies_there "$before")" = 2 ] || ! kill -0 "$PID" 2> /dev/null'
: > "$T/end"
run wait "$PID"
cp "$T/err" "$ERR"
job_judge 0 "a spare host takes the place of one that is lost, and the job ends well" mlaunch
check_output "[0] restored
[1] restored" "all ranks with a spare host have what they had kept" sort "$T/out"

# A host is killed, and what its ranks have kept is on the next one.
: > "$EVENTS"
"${JOB[@]}" "${HOSTS[@]}" -n 4 --oversubscribe --elastic 2 --keep 2 -- "$BUILD/examples/heat" 63 30000 > "$T/heat.out" 2> "$T/heat.err" < /dev/null &
PID=$!
kept_of_b() { find /dev/shm -name "mlaunch-*-$(job_id).0.*.keep.[23].*.band" | wc -l; }
wait_for '[ "$(kept_of_b)" -ge 4 ] || ! kill -0 "$PID" 2> /dev/null'
must kill -KILL "$(agents_of b)"
run wait "$PID"
cp "$T/heat.err" "$ERR"
job_judge 0 "heat outlives a host" heat
check_match '"event":"repaired"' "$EVENTS" "a host was lost in the middle of heat"
check_output "$(sed 's/^\[0\] //' "$T/heat.out")" "the plate of heat is the same, bit for bit" \
    "$BUILD/examples/heat" 63 30000

# mlaunch is killed between two runs, while agents wait for the next.
job_begin
must rm "$T/hold"
wait_for 'grep -q "\"restart\":2" "$EVENTS"'
check "what is kept is there between two runs" test "$(kept_files)" -ge 8
must kill -KILL "$PID"
run wait "$PID"
check "mlaunch is killed between two runs: all ends" left_nothing
check_output 0 "mlaunch is killed between two runs: what was kept goes with the agents" kept_files
"$MLAUNCH" clean "$(job_id)" > /dev/null

# The agents are killed between two runs, so only clean is left to remove it.
job_begin
must rm "$T/hold"
wait_for 'grep -q "\"restart\":2" "$EVENTS"'
must kill -STOP "$PID"
for agent in $( (agents_of a; agents_of b) | sort -u); do
    guard=$(ps -o ppid= -p "$agent")
    must kill -STOP "$agent" "$guard"
    must kill -KILL "$agent" "$guard"
done
must kill -KILL "$PID"
run wait "$PID"
check "agents are killed between two runs: what was kept is still there" test "$(kept_files)" -ge 8
keep "$MLAUNCH" clean "$(job_id)"
check_match "job $(job_id): segment .*\.keep\.1\.[01]\.part has been removed" "$T/out" \
    "agents are killed between two runs: clean tells of what was kept"
check_output 0 "agents are killed between two runs: clean leaves nothing of it" kept_files

done_testing
