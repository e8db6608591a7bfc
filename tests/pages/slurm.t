#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What README.md and mlaunch-batch(1) tell a user of Slurm to type works on the login host of a real
# Slurm with three nodes: scripts are written and accepted, and each job completes on all its nodes.
# shellcheck disable=SC2154 # variables of hosts.sh and slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
. "${0%/*}/page.sh"
[ "$SANITIZE" = no ] || skip_all "strangers' programs cannot open a sanitized library by themselves"
slurm_up 3
mkdir "$T/work" && cd "$T/work" || exit 1
ln -s "$BUILD" build
printf '#!/bin/sh\necho "$MLAUNCH_RANK of $MLAUNCH_SIZE"\n' > prog
chmod +x prog
ln -s prog heat

# job_completes NAME NUMBER: the job that sbatch has just accepted.
job_completes() {
    wait_for '[ -z "$(on_login squeue -h 2> "$T/squeue.err")" ]'
    on_login scontrol show job "$2" > "$T/job"
    check_match 'JobState=COMPLETED .*' "$T/job" "completes as a job: $1"
}
while IFS=$'\t' read -r page command; do
    check_typed "$page" "$command" on_login env -C "$PWD"
    cp "$OUT" "$T/seen"
    number=$(grep -oE '[0-9]+$' "$T/seen")
    case $command in
    *"> job.sh" | *"-o job.sh "* | "cat "*)
        check_match '^#SBATCH --nodes=3' job.sh "writes a script: $command" ;;
    salloc*) check_output 8 "eight ranks run: $command" grep -c 'of 8$' "$T/seen" ;;
    sbatch* | *--submit*) job_completes "$command" "$number" ;;
    *" run --output logs "*) check_match '^exec mlaunch run .*--output logs' "$T/seen" \
        "writes run's options: $command" ;;
    esac
done < <(page_commands)
done_testing
