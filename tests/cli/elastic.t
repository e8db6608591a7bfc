#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --elastic MIN: ranks die, or a host with its ranks, and those that live go on, in the same
# processes. Which jobs end all the same, and which status and sentence they have then.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../fault/fault.sh"
RANK=$BUILD/tests/cli/elastic_rank

# elastic MIN OPTION… -- WORD…: a job of four ranks.
elastic() { job -n 4 --oversubscribe --output raw --elastic "$@"; }
# one_process NAME RANK…: these live, in the processes in which they began, and no others.
one_process() {
    sed -n 's/^lives \([0-9]*\) \([0-9]*\) .*/began \1 \2/p' "$T/said" | sort > "$T/lived"
    grep -Fxf "$T/lived" "$T/said" | sort | cut -d ' ' -f 2 | xargs > "$T/same"
    check_output "${*:2}" "$1" cat "$T/same"
}
# outlives NAME MIN DEAD LIVES OPTION…: ranks DEAD are killed, and those of LIVES go on.
outlives() {
    local name=$1 min=$2 dead=$3 lives=$4 least
    least=$(wc -w <<< "$lives")
    : > "$EVENTS"
    # shellcheck disable=SC2086 # ranks
    run elastic "$min" "${@:5}" -- "$RANK" "$least" kill $dead
    cp "$OUT" "$T/said"
    cp "$ERR" "$T/sentences"
    job_judge 0 "$name" mlaunch
    # shellcheck disable=SC2086
    one_process "$name: the living ranks are the same processes" $lives
    check_match "^mlaunch: rank [$dead] on host [^ ]+ \(pid [0-9]+\) was killed by signal 9 \(Killed\); [0-9] ranks? may go on \(--elastic $min\)$" \
        "$T/sentences" "$name: the death is a sentence"
    check_match "^mlaunch: the job has ended well with $least of 4 ranks, without ranks? [0-9,-]+$" \
        "$T/sentences" "$name: the job's end is a sentence"
    # shellcheck disable=SC2086
    check "$name: the events show who lives" \
        python3 "$SOURCE/tests/cli/elastic_events.py" "$EVENTS" $dead / $lives
}
outlives "three ranks go on after one's death" 3 "2" "0 1 3"
outlives "three ranks go on after rank 0's death" 1 "0" "1 2 3"
outlives "one rank goes on after three deaths" 1 "0 1 3" "2"
outlives "two ranks go on over TCP after two deaths" 2 "1 3" "0 2" --backend tcp --local net

# ends STATUS REGEX NAME MIN WORD…
ends() {
    local expected=$1 regex=$2 name=$3
    run elastic "$4" --grace 1 -- "$RANK" "${@:5}"
    cp "$ERR" "$T/sentences"
    cp "$OUT" "$T/said"
    job_judge "$expected" "$name" mlaunch
    check_match "$regex" "$T/sentences" "$name: the sentence says so"
}
ends 137 '^mlaunch: rank [12] on host .* was killed by signal 9 \(Killed\)$' \
    "the first death is the job's failure if fewer than MIN live" 3 1 kill 1 2
check_no_match 'lives' "$T/said" "the others are ended if fewer than MIN live"
ends 7 '^mlaunch: rank 3 on host .* exited with status 7$' \
    "the first failure is the job's if the program repairs nothing" 2 0 exit 3
ends 9 '^mlaunch: rank 1 on host .* aborted the job: it is enough$' "ml_abort ends all ranks" \
    1 2 abort 1
run elastic 2 -- "$RANK" 2 exit 1 2
cp "$OUT" "$T/said"
job_judge 0 "ranks that end with another status than 0 are outlived" mlaunch
one_process "the others outlive ranks that end with another status than 0" 0 3
run elastic 2 -- "$RANK" 3 quiet 0
cp "$OUT" "$T/said"
job_judge 0 "a rank may end with 0 and without ml_finalize" mlaunch
one_process "the others outlive a rank that ends without ml_finalize" 1 2 3
ends 125 '^mlaunch: 1 of 4 ranks has left the others, and 3 are not enough \(--elastic 4\)$' \
    "the job ends if a rank without ml_finalize leaves too few" 4 3 quiet 0
job_says 137 '^mlaunch: rank 2 on host .* was killed by signal 9 \(Killed\)$' \
    "a death ends the job without --elastic" -n 4 --oversubscribe -- "$RANK" 3 kill 2
check_no_match 'may go on' "$ERR" "no sentence tells of ranks that go on without --elastic"

# While it runs, those who tell of jobs tell of the ranks that are left.
job_start -n 4 --oversubscribe --output raw --elastic 2 -- "$RANK" 2 kill 3
world() {
    "$MLAUNCH" ps --json "$1" | python3 "$SOURCE/tests/lib/json_show.py" \
        'tuple((k.get("membership"), k.get("members")) for k in j["hosts"][0]["jobs"])'
}
has_said began 4 || fail "the four ranks of a job to look at begin"
id=
wait_for 'id=$(sed -n "s/.*\"event\":\"repaired\",.*\"job\":\"\([^\"]*\)\".*/\1/p" "$EVENTS"); [ "$id" ]'
wait_for '[ "$(world "$id")" = "(1, 3)" ]' # the members say it after they have said REPAIRED
check_output "(1, 3)" "ps --json says that the first change has left three members" world "$id"
run "$MLAUNCH" ps
check_match "$id .* 3/4 +live, 3 members \(membership 1\) " "$OUT" \
    "ps says that three members are left"
run "$MLAUNCH" status
check_match "$id .* 3/4 +live, 3 members \(membership 1\) " "$OUT" \
    "status says that three members are left"
run "$MLAUNCH" top --batch 1
check_match "$id 3/4 .* live, 3 members \(membership 1\) " "$OUT" \
    "top says that three members are left"
run "$MLAUNCH" metrics
check_match "^mlaunch_job_members\{.*job_id=\"$id\".*\} 3$" "$OUT" \
    "metrics have the number of members"
check_match "^mlaunch_job_membership\{.*job_id=\"$id\".*\} 1$" "$OUT" \
    "metrics have the number of the change"
kill -KILL "$(sed -n 's/^began 0 //p' "$T/out")"
# shellcheck disable=SC2154 # mlaunch: job_start's
run wait "$mlaunch"
job_judge 0 "the job goes on after a second death and ends well" mlaunch
check_match '^mlaunch: the job has ended well with 2 of 4 ranks, without ranks 0,3$' "$T/err" \
    "the job's end says which ranks are missing"

hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
for process in worker guard; do
    job_start -H "$H1:2,$H2:2" --elastic 2 --output raw -- "$RANK" 2 live
    has_said began 4 || fail "the ranks on two hosts begin before the $process is killed"
    agent_kill "$H2" $process || fail "the $process of the second host's agent is there"
    run wait "$mlaunch"
    cp "$T/out" "$T/said"
    job_judge 0 "the job ends well if the $process of a host's agent is killed" mlaunch
    one_process "the first host's ranks go on if the $process of the other is killed" 0 1
    check_match "^mlaunch: host $H2 was lost: .*; 2 ranks (may go|went) on.* \(--elastic 2\)$" "$T/err" \
        "the loss of a host by its $process is a sentence"
done
done_testing
