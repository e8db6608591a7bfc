#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --restarts when a host is lost and is not back at once: each look for it is a try, the pauses
# grow, the job keeps its id, and the ranks know which try it is. A signal ends a pause. Host b is
# the same machine, but its agent is started by a script, which refuses that while $T/down exists.
TEST_LIMIT=120
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../cli/job.sh"

cat > "$T/connect" << EOF
host=\$1
shift
if [ "\$host" = b ] && [ -e "$T/down" ]; then
    echo refused >> "$T/tries"
    [ "\$(wc -l < "$T/tries")" -lt 2 ] || [ -e "$T/stays-down" ] || rm "$T/down"
    echo "b has no power" >&2
    exit 1
fi
exec "\$@"
EOF
# Rank 1, on b, kills its agent in the first run.
cat > "$T/rank" << EOF
echo "run \$MLAUNCH_RESTART \$TORCHELASTIC_RESTART_COUNT of \$MLAUNCH_JOB"
[ "\$MLAUNCH_RESTART" = 0 ] || exit 0
[ "\$MLAUNCH_RANK" != 0 ] || { : > "$T/said"; exec sleep 60; }
until [ -e "$T/said" ]; do sleep 0.02; done
: > "$T/down"
kill -KILL "\$PPID"
exec sleep 60
EOF
hosts=(--agent-command "sh $T/connect {host}" -H "a,b" -n 2 --grace 1)
run job "${hosts[@]}" --restarts 3 -- sh "$T/rank"
cp "$OUT" "$T/out"
cp "$ERR" "$T/err"
job_judge 0 "a host that comes back at the third try" "mlaunch"
check_match '^mlaunch: starting the job again in 1 s \(restart 1 of 3\)$' "$T/err" "the first pause"
check_match '^mlaunch: host b: .*b has no power' "$T/err" "… the host is still away, which is said"
check_match '^mlaunch: starting the job again in 2 s \(restart 2 of 3\)$' "$T/err" "… a longer one"
check_match '^mlaunch: starting the job again in 4 s \(restart 3 of 3\)$' "$T/err" "… and again"
check_match '^\[0\] run 0 0 of ' "$T/out" "the ranks of the first run know that"
check_match '^\[1\] run 3 3 of ' "$T/out" "… and those of the last"
check_output 1 "the job has kept its id" sh -c \
    'sed -n "s/.*\"job\":\"\([^\"]*\)\".*/\1/p" "$1" | sort -u | wc -l' - "$EVENTS"
check_match "^\[0\] run 3 3 of $(job_id)\$" "$T/out" "… for the ranks, too"

# A host that stays away: a try each, and then an end.
rm "$T/tries"
: > "$T/stays-down"
run job "${hosts[@]}" --restarts 2 -- sh "$T/rank"
job_judge 125 "a host that stays away" "mlaunch"
check_match 'restart 2 of 2' "$ERR" "… after all tries"
check_output 2 "… and no more" wc -l < "$T/tries"

# One that was never there is an error at once.
run job "${hosts[@]}" --restarts 2 -- sh "$T/rank"
job_judge 125 "a host that was never there" "mlaunch"
check_no_match 'starting the job again' "$ERR" "… is not waited for"

# The pause before a try ends with a signal.
rm "$T/down" "$T/tries"
: > "$EVENTS"
"${JOB[@]}" "${hosts[@]}" --restarts 100 -- sh "$T/rank" > "$T/out" 2> "$T/err" &
mlaunch=$!
wait_for 'grep -q "in 16 s" "$T/err"' 60
kill -TERM "$mlaunch"
start=${EPOCHREALTIME/./}
run eval 'wait "$mlaunch"'
job_judge 143 "a signal in a pause" "mlaunch"
if [ $((${EPOCHREALTIME/./} - start)) -lt 10000000 ]; then pass "… ends it at once"; else \
    fail "… ends it at once"; fi
check_match "^mlaunch: ended by SIGTERM \\(from pid $$, " "$T/err" "… and a line says so"

done_testing
