#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A real Slurm warns jobs before their time limit, as the scripts of mlaunch batch ask it to: the
# ranks write a checkpoint together, in the same step, while their workers live. 3 jobs at once; in
# check-long 20, on one node; in a part of it 10.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 1
cd "$T" || exit 1

jobs=3
if is_long; then jobs=20; fi
[ -z "${MLAUNCH_TEST_PART:-}" ] || jobs=10
fresh_mark
for ((i = 0; i < jobs; i++)); do
    # Slurm's limits are whole minutes. It warns up to a minute early, hence all begin at once; a
    # node has 4 processors, which they share.
    batch --ntasks 2 --time 1 --stop-before 20 --extra --oversubscribe --extra --mem=1 -x "$mark" \
        run --output raw --stop-signal USR1 -- \
        "$SOURCE/tests/batch/save_together.py" "$T/saved.$i"
    numbers[i]=$job
done
for ((i = 0; i < jobs; i++)); do
    job=${numbers[i]} out=$T/job.${numbers[i]}
    wait_for '[[ " COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL " = *" $(job_field "$job" JobState) "* ]]' 600
    ends COMPLETED 0:0 "job $i ends by itself before its limit"
    check_output "4 of 4 workers
4 of 4 workers" \
    "job $i saves with its workers alive" sh -c 'sed "s/^[0-9]* //" "$1".*' sh "$T/saved.$i"
    check_output 1 "both ranks of job $i have saved the same step" \
        sh -c 'cut -d" " -f1 "$1".* | sort -u | wc -l' sh "$T/saved.$i"
    check_match '^mlaunch: asked to stop by SIGUSR1' "$out" "job $i says who asked for the stop"
done
no_survivors "nothing is left" "$mark"
done_testing
