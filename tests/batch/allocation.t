#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The environments that batch systems give their jobs, in data/*.env. The first line of each says
# what mlaunch makes of it, or how it refuses. @DIR@ is the folder of the node files.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
here=$SOURCE/tests/batch/data

# planned ENV: hosts and slots of the plan in this environment, in one line; or what is refused.
planned() {
    local -a set
    mapfile -t set < <(grep -v '^#' "$1" | sed "s|@DIR@|$here|")
    if env "${set[@]}" "$MLAUNCH" --dry-run --agent-launcher ssh -- true > "$T/plan" \
        2> "$T/errors"; then
        sed -n 's/^host [0-9]*: \([^ ]*\) (.*, \([0-9]*\) slots*).*/\1:\2/p' "$T/plan" |
            paste -sd' ' -
    else
        echo "$? $(sed "s|$here|@DIR@|" "$T/errors")"
    fi
}

for file in "$here"/*.env; do
    check_output "$(sed -n '1s/^# //p' "$file")" \
        "the environment $(basename "$file" .env) gives its hosts" planned "$file"
done

# An explicit list wins; a host outside the allocation is used, with a warning.
export SLURM_JOB_NODELIST='n[1-2]' SLURM_TASKS_PER_NODE='2(x2)' SLURM_JOB_ID=7
check_error 0 '^mlaunch: warning: --hosts: host x is outside the allocation \(Slurm job 7\); using it anyway' \
    "a host outside the allocation is warned of" "$MLAUNCH" --dry-run -H n1,x -- true
check_match '^host 1: x ' "$OUT" "a host outside the allocation is used"
check_no_match 'n2' "$OUT" "hosts that are not named are not used"
echo y slots=2 > "$T/hostfile"
check_error 0 '^mlaunch: warning: .*hostfile: host y is outside the allocation \(Slurm job 7\); using it anyway' \
    "a hostfile's host outside the allocation is warned of" "$MLAUNCH" --dry-run \
    --hostfile "$T/hostfile" -- true
check_match '^host 0: y ' "$OUT" "a hostfile's host outside the allocation is used"
check "hosts inside the allocation can be named" "$MLAUNCH" --dry-run -H n2 -- true
check_output "" "hosts inside the allocation need no warning" cat "$ERR"
check_error 0 "srun in PATH|^$" "without srun there is SSH, and a warning" env PATH=/nonexistent \
    "$MLAUNCH" --dry-run -- true
check_match '^host 0: n1 \(SSH, 2 slots\)' "$OUT" "the plan says that SSH starts the agents"
check_error 125 'SLURM_JOB_NODELIST: cannot parse .n\[1-.' \
    "a list of hosts that makes no sense is refused" env \
    SLURM_JOB_NODELIST='n[1-' "$MLAUNCH" -- true
check_error 0 'SLURM_JOB_NODELIST: cannot parse .n\[1-.; using the hosts of --hosts' \
    "a list that makes no sense does not stop named hosts" \
    env SLURM_JOB_NODELIST='n[1-' "$MLAUNCH" --dry-run -H a -- true
done_testing
