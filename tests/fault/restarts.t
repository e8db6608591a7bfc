#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --restarts when a host is lost and is not back at once: each look for it is a try, the pauses
# grow, the job keeps its id, and the ranks know which try it is. A signal ends a pause. A spare
# host takes the place of a lost one. All hosts are this machine, but their agents are started by a
# script, which refuses that for host b while $T/down exists.
TEST_TIER=full
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
job_judge 0 "a host that comes back at the third try ends the job well" "mlaunch"
check_match '^mlaunch: starting the job again in 1 s \(restart 1 of 3\)$' "$T/err" \
    "the first pause is told"
check_match '^mlaunch: host b: .*b has no power' "$T/err" "a host that is still away is named"
check_match '^mlaunch: starting the job again in 2 s \(restart 2 of 3\)$' "$T/err" \
    "the second pause is longer"
check_match '^mlaunch: starting the job again in 4 s \(restart 3 of 3\)$' "$T/err" \
    "the third pause is longer"
check_match '^\[0\] run 0 0 of ' "$T/out" "the ranks of the first run know that they are the first"
check_match '^\[1\] run 3 3 of ' "$T/out" "the ranks of the last run know that they are the last"
check_output 1 "the job has kept its id" sh -c \
    'sed -n "s/.*\"job\":\"\([^\"]*\)\".*/\1/p" "$1" | sort -u | wc -l' - "$EVENTS"
check_match "^\[0\] run 3 3 of $(job_id)\$" "$T/out" \
    "the ranks of the last run have the first run's id"

# A host that stays away: a try each, and then an end.
rm "$T/tries"
: > "$T/stays-down"
run job "${hosts[@]}" --restarts 2 -- sh "$T/rank"
job_judge 125 "a host that stays away fails the job" "mlaunch"
check_match 'restart 2 of 2' "$ERR" "a host that stays away is given all tries"
check_output 2 "a host that stays away is given no more tries" wc -l < "$T/tries"

# One that was never there is an error at once.
run job "${hosts[@]}" --restarts 2 -- sh "$T/rank"
job_judge 125 "a host that was never there fails the job" "mlaunch"
check_no_match 'starting the job again' "$ERR" "a host that was never there is not waited for"

# The pause before a try ends with a signal, before it would be over. A busy machine may take as
# long, and gets longer pauses; a pause that a signal does not end is as long each time.
is_early=no
for pause in 8 16 30; do
    rm -f "$T/down" "$T/tries" "$T/said"
    : > "$EVENTS"
    "${JOB[@]}" "${hosts[@]}" --restarts 100 -- sh "$T/rank" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    wait_for 'grep -q "in $pause s" "$T/err"' 90
    nap $(((pause - 1) * 1000)) &
    over=$!
    must kill -TERM "$mlaunch"
    run eval 'wait "$mlaunch"'
    kill "$over" 2> /dev/null && is_early=yes && break
done
job_judge 143 "a signal in a pause ends the job" "mlaunch"
check "a signal ends the pause at once" [ $is_early = yes ]
check_match "^mlaunch: ended by SIGTERM \\(from pid $$, " "$T/err" \
    "a line says that a signal has ended the pause"

# --spare-hosts. A host is refused while $T/down.HOST exists. In the first run rank 1, on b, takes b
# and the hosts that $DOWN names from the net and kills its agent.
cat > "$T/connect" << EOF
host=\$1
shift
if [ -e "$T/down.\$host" ]; then
    echo "\$host" >> "$T/tries"
    [ ! -e "$T/back.\$host" ] || [ "\$(grep -cx "\$host" "$T/tries")" -lt 2 ] || rm "$T/down.\$host"
    echo "\$host has no power" >&2
    exit 1
fi
exec "\$@"
EOF
cat > "$T/rank" << EOF
echo "run \$MLAUNCH_RESTART"
[ "\$MLAUNCH_RESTART" = 0 ] || exit 0
[ "\$MLAUNCH_RANK" != 0 ] || { : > "$T/said"; exec sleep 60; }
[ "\$MLAUNCH_RANK" = 1 ] || exec sleep 60
until [ -e "$T/said" ]; do sleep 0.02; done
for host in b \$DOWN; do : > "$T/down.\$host"; done
kill -KILL "\$PPID"
exec sleep 60
EOF
hosts=(--agent-command "sh $T/connect {host}" -H "a:1,b:2" -n 3 --grace 1)
# spares_run DOWN OPTION…
spares_run() {
    rm -f "$T"/down* "$T/tries" "$T/said"
    : > "$EVENTS"
    keep job "${hosts[@]}" -x "DOWN=$1" "${@:2}" -- sh "$T/rank"
}
# started_on RANK: the host on which it was started last.
started_on() {
    sed -n "s/.*\"event\":\"started\".*\"rank\":$1,\"host\":\"\([a-z]*\)\".*/\1/p" "$EVENTS" |
        tail -n 1
}
taken() { echo "^mlaunch: host $1 was lost; spare host $2 takes its place \\(ranks 1,2\\)\$"; }

spares_run "" --restarts 1 --spare-hosts c:2,d:2
job_judge 0 "a spare host takes the place of a lost one" "mlaunch"
check_match '^mlaunch: host b: .*b has no power' "$T/err" "the lost host was looked for first"
check_match "$(taken b c)" "$T/err" "a sentence says which spare host takes the place"
check_output 1 \
    "the spare host takes the place in the same try" grep -c 'starting the job again' "$T/err"
check_output c "the spare host gets rank 1" started_on 1
check_output c "the spare host gets rank 2" started_on 2
check_output a "the other host keeps its rank" started_on 0
check_match '^\[1\] run 1$' "$T/out" "a look that found no host is no run"
check_match '"event":"replaced".*"host":"b","spare":"c","moved":\[1,2\]' "$EVENTS" \
    "the events have the spare host and its ranks"

spares_run c --restarts 1 --spare-hosts c:2 --spare-hosts d:2
job_judge 0 "a spare host that cannot be reached is passed over" "mlaunch"
check_match '^mlaunch: host c: .*c has no power' "$T/err" \
    "a spare host that cannot be reached is named"
check_match "$(taken c d)" "$T/err" "the next spare host takes the place"
check_output d "the next spare host gets rank 1" started_on 1

spares_run "" --restarts 1 --spare-hosts c,d:1,e:2
job_judge 0 "a spare host without stated slots takes any ranks" "mlaunch"
check_output c "a spare host without stated slots gets rank 1" started_on 1
spares_run "" --restarts 1 --spare-hosts d:1,e:2
job_judge 0 "a spare host with too few slots does not fail the job" "mlaunch"
check_match '^mlaunch: warning: --spare-hosts: host d has 1 slot, .*such as b with 2$' "$T/err" \
    "a spare host with too few slots is warned of"
check_output e "a spare host with too few slots is passed over" started_on 1

# No spare host is left: as without any. The lost host is then as good as a spare one.
: > "$T/back.b"
spares_run c --restarts 3 --spare-hosts c:2
job_judge 0 "a lost host that comes back without a spare one is used" "mlaunch"
check_match '^mlaunch: no other spare host can take the place of host c \(ranks 1,2\)$' "$T/err" \
    "the lack of another spare host is said"
check_match 'starting the job again in 2 s \(restart 2 of 3\)' "$T/err" \
    "a lost host comes back after a pause"
check_output b "a lost host that comes back gets rank 1 again" started_on 1
rm "$T/back.b"
spares_run c --restarts 2 --spare-hosts c:2
job_judge 125 "the job fails if no host comes back" "mlaunch"
check_output 2 "all tries are made if no host comes back" grep -c 'starting the job again' "$T/err"

job_says 125 'spare-hosts: host e has 1 slot, but each of the job.s hosts has 2 ranks or more' \
    "a spare host without room for any host's ranks is refused" -H a:2,b:2 --restarts 1 \
    --spare-hosts e:1 -- true
job_says 125 '--spare-hosts is for jobs that start again .*: add --restarts N or --check quick$' \
    "spare hosts without restarts are refused" -H a,b --spare-hosts c -- true
job_says 125 'spare-hosts: host b is also one of the job.s hosts' \
    "a spare host that is in use is refused" -H a,b --restarts 1 --spare-hosts c,b -- true
export MLAUNCH_OPT_SPARE_HOSTS=c MLAUNCH_OPT_AGENT_COMMAND="sh $T/connect {host}"
rm -f "$T"/down*
check_output "a c" "ps asks the spare hosts of a configuration" sh -c \
    'MLAUNCH_OPT_HOSTS=a "$0" ps --json | sed -n "s/.*\"host\": \"\([a-z]*\)\".*/\1/p" | xargs' "$MLAUNCH"
check "ps asks only the hosts that the command line names" "$MLAUNCH" ps -H c
unset MLAUNCH_OPT_SPARE_HOSTS MLAUNCH_OPT_AGENT_COMMAND
keep "$MLAUNCH" --dry-run -H a,b --restarts 1 --spare-hosts 'u@c:2,d[1-2]' -- true
check_match '^spare host: c \(SSH, user u, 2 slots\)$' "$T/out" "--dry-run lists spare hosts"
check_match '^spare host: d2 \(SSH\)$' "$T/out" "--dry-run lists spare hosts with brackets"

done_testing
